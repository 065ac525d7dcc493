import { type BuiltSymbols, SymbolBuilder } from "../../shard/symbols/symbol-builder.js";
import { findParts } from "../../shard/symbols/parts.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { CtagsProgram } from "./ctags-program.js";
import type { Extraction, SymbolExtractor, SymbolText } from "./symbol-extractor.js";

/** Texts are extracted in groups of about this size, so that few extracted symbols are in memory. */
const groupBytes = 1024 * 1024;
const groupTextsMax = 512;

/**
 * Incremented when the same ctags would find other symbols: another option, another language.
 */
const optionsVersion = 1;

/** Identifies what found the symbols of a shard. */
export function nameProducer({ version }: CtagsProgram): string {
  return `${version}, options ${optionsVersion}`;
}

/**
 * Extracts the symbols of all texts of a shard. Caller guarantees: the shard was verified and its bytes stay valid.
 * Throws like `SymbolExtractor.extract`.
 */
export async function extractShardSymbols(
  reader: ShardReader,
  extractor: SymbolExtractor,
  producer: string,
): Promise<BuiltSymbols> {
  const parts = findParts(reader);
  const languages = reader.languages();
  const builder = new SymbolBuilder();
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
  return builder.build(reader.checksum, producer);
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
