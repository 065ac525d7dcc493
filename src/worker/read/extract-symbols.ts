import { extractShardSymbols, nameProducer } from "../../indexer/symbols/shard-symbols.js";
import type { ExtractedSymbols, ExtractSymbols } from "../../protocol/read-messages.js";
import { ShardReader } from "../../shard/shard-reader.js";
import type { ReadContext } from "./context.js";
import { useCtags } from "./shared-ctags.js";

/** Extracts the symbols of a shard of the revision cache: the value is the one that a live shard would have. */
export function answerExtractSymbols(
  { shard, value }: ExtractSymbols,
  context: ReadContext,
): Promise<ExtractedSymbols> {
  const { arena } = context;
  const reader = new ShardReader(shard.id, new Uint8Array(arena, shard.from, shard.to - shard.from));
  return useCtags(context, async (extractor, program): Promise<ExtractedSymbols> => {
    const { bytes } = await extractShardSymbols(reader, extractor, nameProducer(program), undefined);
    if (bytes.length > value.to - value.from) return { kind: "larger", byteCount: bytes.length };
    bytes.copy(new Uint8Array(arena, value.from, bytes.length));
    return { kind: "stored", byteCount: bytes.length };
  });
}
