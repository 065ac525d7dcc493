import { callAfter, type PendingCall } from "../../base/deadline.js";
import { neverStop, type StopSignal } from "../../base/stop-signal.js";
import { type CtagsProgram, findCtagsOnce } from "../../indexer/symbols/ctags-program.js";
import { extractShardSymbols, nameProducer } from "../../indexer/symbols/shard-symbols.js";
import { SymbolExtractor, textMs } from "../../indexer/symbols/symbol-extractor.js";
import type { ExtractedSymbols, ExtractSymbols } from "../../protocol/read-messages.js";
import { ShardReader } from "../../shard/shard-reader.js";
import type { ReadContext } from "./context.js";

/** ctags is kept this long for the next request, because starting one takes 20 ms. */
const idleMs = 30_000;

/** A ctags, which requests use one after another. */
class SharedExtractor {
  readonly command: string;
  readonly extractor: SymbolExtractor;
  /** Of the request that uses it. */
  stop: StopSignal = neverStop;
  #end: PendingCall | undefined;

  constructor(program: CtagsProgram) {
    this.command = program.command;
    this.extractor = new SymbolExtractor({ program, textMs, stop: () => this.stop() });
  }

  take(stop: StopSignal): this {
    this.#end?.cancel();
    this.stop = stop;
    return this;
  }

  keep(): void {
    this.#end = callAfter(idleMs, () => this.extractor.close());
  }
}

/** What the last request of this thread has left. */
let idle: SharedExtractor | undefined;

/** Extracts the symbols of a shard of the revision cache: the value is the one that a live shard would have. */
export async function answerExtractSymbols(
  { command, shard, value }: ExtractSymbols,
  { arena, stop }: ReadContext,
): Promise<ExtractedSymbols> {
  const program = await findCtagsOnce(command);
  if ("reason" in program) return { kind: "lack", reason: program.reason };
  const reader = new ShardReader(shard.id, new Uint8Array(arena, shard.from, shard.to - shard.from));
  const shared = (idle?.command === command ? idle : new SharedExtractor(program)).take(stop);
  idle = undefined;
  try {
    const { bytes } = await extractShardSymbols(reader, shared.extractor, nameProducer(program));
    if (bytes.length > value.to - value.from) return { kind: "larger", byteCount: bytes.length };
    bytes.copy(new Uint8Array(arena, value.from, bytes.length));
    return { kind: "stored", byteCount: bytes.length };
  } finally {
    keepIdle(shared);
  }
}

function keepIdle(shared: SharedExtractor): void {
  idle?.extractor.close();
  idle = shared;
  shared.keep();
}
