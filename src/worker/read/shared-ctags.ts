import { callAfter, type PendingCall } from "../../base/deadline.js";
import { neverStop, type StopSignal } from "../../base/stop-signal.js";
import { type CtagsProgram, findCtagsOnce } from "../../indexer/symbols/ctags-program.js";
import { SymbolExtractor, textMs } from "../../indexer/symbols/symbol-extractor.js";
import type { ReadContext } from "./context.js";

/** ctags is kept this long for the next request, because starting one takes 20 ms. */
const idleMs = 30_000;

/** A ctags, which requests use one after another. */
class SharedCtags {
  readonly program: CtagsProgram;
  readonly extractor: SymbolExtractor;
  #stop: StopSignal = neverStop;
  #end: PendingCall | undefined;

  constructor(program: CtagsProgram) {
    this.program = program;
    this.extractor = new SymbolExtractor({ program, textMs, stop: () => this.#stop() });
  }

  /** `stop` is of the request that uses it. */
  take(stop: StopSignal): this {
    this.#end?.cancel();
    this.#stop = stop;
    return this;
  }

  keep(): void {
    this.#end = callAfter(idleMs, () => this.extractor.close());
  }
}

/** What the last request of this thread has left. */
let idle: SharedCtags | undefined;

/** Works with the ctags of this thread. Resolves with why symbols cannot be extracted, as a sentence, if they cannot. */
export async function useCtags<T>(
  { ctagsCommand, stop }: ReadContext,
  work: (extractor: SymbolExtractor, program: CtagsProgram) => Promise<T>,
): Promise<T | { readonly kind: "lack"; readonly reason: string }> {
  if (ctagsCommand === undefined) return { kind: "lack", reason: "`index.symbols` is false" };
  const program = await findCtagsOnce(ctagsCommand);
  if ("reason" in program) return { kind: "lack", reason: program.reason };
  const shared = (idle ?? new SharedCtags(program)).take(stop);
  idle = undefined;
  try {
    return await work(shared.extractor, program);
  } finally {
    keepIdle(shared);
  }
}

function keepIdle(shared: SharedCtags): void {
  idle?.extractor.close();
  idle = shared;
  shared.keep();
}
