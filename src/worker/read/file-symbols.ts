import { BoundedMap } from "../../base/bounded-map.js";
import { describeSymbol } from "../../eval/results/describe-symbol.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import { textOfBlob } from "../../indexer/encoding/blob-text.js";
import { detectLanguageName } from "../../indexer/classify.js";
import type { SymbolMatch } from "../../model/stream-events.js";
import { type ContentSymbols, noSymbols } from "../../shard/symbols/content-symbols.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { blobOptions } from "./files.js";
import { useCtags } from "./shared-ctags.js";

/** The symbols of recently requested files that one thread keeps, by blob and language. */
const keptBytesMax = 16 << 20;

/** Estimated memory of a symbol. */
const symbolBytes = 100;

const kept = new BoundedMap<string, ContentSymbols>(keptBytesMax, ({ names }) => symbolBytes * (1 + names.length));

/** A file with its symbols. */
export interface FileWithSymbols {
  readonly text: Buffer;
  readonly language: string;
  readonly symbols: ContentSymbols;
  /** Why symbols cannot be extracted, as a sentence; "" if they can. */
  readonly lack: string;
}

/** Reads a file of a mirror, and extracts its symbols if they are not known. A file that has no text is empty. */
export async function readFileSymbols(
  { repositoryId, oid, path }: { readonly repositoryId: number; readonly oid: string; readonly path: string },
  context: ReadContext,
): Promise<FileWithSymbols> {
  let text = Buffer.alloc(0);
  await readBlobs(blobOptions(mirrorPath(context, repositoryId), context), [oid], (_, outcome) => {
    if (outcome.kind === "content") text = Buffer.from(textOfBlob(outcome.content).text);
  });
  const language = detectLanguageName(Buffer.from(path), text);
  const key = `${oid} ${language}`;
  const known = text.length === 0 ? noSymbols : kept.get(key);
  if (known !== undefined) return { text, language, symbols: known, lack: "" };
  const extracted = await useCtags(context, async (extractor) => {
    const [extraction] = await extractor.extract([{ language, text }]);
    return extraction;
  });
  if (extracted.kind === "lack") return { text, language, symbols: noSymbols, lack: extracted.reason };
  const symbols = extracted.kind === "symbols" ? extracted.symbols : noSymbols;
  kept.set(key, symbols);
  return { text, language, symbols, lack: extracted.kind === "failed" ? `ctags failed (${extracted.fault})` : "" };
}

/** A symbol of a file; its URL consists of its place alone. */
export function toSymbolMatch({ symbols, text }: FileWithSymbols, i: number): SymbolMatch {
  const { place, ...symbol } = describeSymbol(symbols, i, text);
  return { ...symbol, url: `?${place}` };
}
