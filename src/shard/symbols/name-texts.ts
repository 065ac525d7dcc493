import { TrawlError } from "../../base/errors.js";
import { unitBytes } from "../format.js";
import { type TextIndex, makeUnits } from "../text-sections.js";
import type { SymbolReader } from "./symbol-reader.js";

const known = new WeakMap<SymbolReader, TextIndex>();

/**
 * The posting lists of the names of a shard's symbols: the text of a part is its names. Only what is looked up in them can
 * be found, because the names are not copied from the text.
 */
export function nameTexts(symbols: SymbolReader): TextIndex {
  let texts = known.get(symbols);
  if (texts === undefined) known.set(symbols, (texts = makeTexts(symbols)));
  return texts;
}

function makeTexts(symbols: SymbolReader): TextIndex {
  const { parts, nameStarts, hasPostings, keys, postingStart, postings, foldExceptions } = symbols;
  const { contentFirstUnit } = makeUnits(nameStarts, unitBytes);
  return {
    contentCount: parts.count,
    contentStart: nameStarts,
    contentFirstUnit,
    foldExceptions,
    hasPostings,
    keys,
    postingStart,
    postings,
    content: Buffer.alloc(0),
    unitBytes,
    requireUnits: (units) => {
      if (units.length > 0 && units[units.length - 1] >= contentFirstUnit[parts.count])
        throw new TrawlError("corrupt-shard", "a posting list of names of symbols names a unit that does not exist");
    },
  };
}
