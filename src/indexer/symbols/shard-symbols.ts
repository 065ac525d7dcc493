import type { Kernel } from "../../native/kernel/kernel.js";
import { type BuiltSymbols, SymbolBuilder } from "../../shard/symbols/symbol-builder.js";
import { findParts } from "../../shard/symbols/parts.js";
import { symbolFormatVersion } from "../../shard/symbols/symbol-format.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { CtagsProgram } from "./ctags-program.js";
import type { Extraction, SymbolExtractor, SymbolText } from "./symbol-extractor.js";

/** Texts are extracted in groups of about this size, so that few extracted symbols are in memory. */
const groupBytes = 1024 * 1024;
const groupTextsMax = 512;

/**
 * Incremented when the same ctags would find other symbols: another option, another language, another symbol that is left out.
 */
const optionsVersion = 4;

/** Identifies what found the symbols of a shard, and the format in which they are. */
export function nameProducer({ version }: CtagsProgram): string {
  return `${version}, options ${optionsVersion}, format ${symbolFormatVersion}`;
}

/**
 * Extracts the symbols of all texts of a shard. Without a kernel they have no posting lists. Caller
 * guarantees: the shard was verified and its bytes stay valid.
 * Throws like `SymbolExtractor.extract`.
 */
export async function extractShardSymbols(
  reader: ShardReader,
  extractor: SymbolExtractor,
  producer: string,
  kernel: Kernel | undefined,
): Promise<BuiltSymbols> {
  const parts = findParts(reader);
  const languages = reader.languages();
  const builder = new SymbolBuilder(kernel);
  let group: SymbolText[] = [];
  let bytes = 0;
  const extractGroup = async (): Promise<void> => {
    for (const extraction of await extractor.extract(group)) addTo(builder, extraction);
    group = [];
    bytes = 0;
  };
  for (let part = 0; part < parts.count; part++) {
    const content = parts.contents[part];
    const text = reader.content.subarray(reader.contentStart[content], reader.contentStart[content + 1]);
    group.push({ language: languages[parts.languages[part]], text });
    bytes += text.length;
    if (bytes >= groupBytes || group.length >= groupTextsMax) await extractGroup();
  }
  await extractGroup();
  return builder.build(reader, producer);
}

function addTo(builder: SymbolBuilder, extraction: Extraction): void {
  switch (extraction.kind) {
    case "symbols":
      return builder.add("extracted", extraction.symbols);
    case "unsupported":
      return builder.add("unsupported", undefined);
    case "failed":
      return builder.add(extraction.fault, undefined);
  }
}
