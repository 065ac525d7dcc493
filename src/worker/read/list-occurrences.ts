import { decodeByteString } from "../../base/bytes.js";
import type { ListedOccurrences, ListOccurrences, Occurrence } from "../../protocol/symbol-messages.js";
import type { ReadContext } from "./context.js";
import { readFileSymbols, toSymbolMatch, type FileWithSymbols } from "./file-symbols.js";

/** Limit on the occurrences of all names, and on the definitions of one. */
const occurrencesMax = 20_000;
const definitionsMax = 100;

const lineFeed = 10;

/** Names, definitions and uses in one file. A use is the name as a whole word, whatever it means there. */
export async function answerListOccurrences(
  request: ListOccurrences,
  context: ReadContext,
): Promise<ListedOccurrences> {
  const file = await readFileSymbols(request, context);
  const { language } = file;
  const word = wordAt(file, request.line, request.character);
  const symbolsOf = new Map<string, number[]>();
  file.symbols.names.forEach((name, i) => {
    if (!request.all && name !== word?.bytes) return;
    const known = symbolsOf.get(name);
    if (known === undefined) symbolsOf.set(name, [i]);
    else if (known.length < definitionsMax) known.push(i);
  });
  if (word !== undefined && !symbolsOf.has(word.bytes)) symbolsOf.set(word.bytes, []);
  const references = findWords(file.text, new Set(symbolsOf.keys()));
  return {
    language,
    word: word?.occurrence,
    names: [...symbolsOf].map(([name, indexes]) => ({
      name: decodeByteString(name),
      definitions: indexes.map((i) => toSymbolMatch(file, i)),
      references: references.get(name) ?? [],
    })),
  };
}

/** The word at a position: a symbol's name if one is there, which may have other characters than words. */
function wordAt({ text, symbols }: FileWithSymbols, line: number, character: number) {
  const lineStart = startOfLine(text, line);
  if (lineStart < 0) return undefined;
  const at = skipCharacters(text, lineStart, character);
  const make = (from: number, to: number) => {
    const bytes = text.toString("latin1", from, to);
    const name = decodeByteString(bytes);
    const start = countCharacters(text, lineStart, from);
    return { bytes, occurrence: { name, line, character: start, length: [...name].length } };
  };
  for (let i = 0; i < symbols.names.length; i++) {
    const from = symbols.offsets[i];
    if (symbols.lines[i] === line + 1 && from >= 0 && from <= at && at < from + symbols.names[i].length)
      return make(from, from + symbols.names[i].length);
  }
  let from = at;
  let to = at;
  while (from > 0 && isWordByte(text[from - 1])) from--;
  while (to < text.length && isWordByte(text[to])) to++;
  return from === to ? undefined : make(from, to);
}

/** Where the words occur, in file order; one pass over the text. */
function findWords(text: Buffer, wanted: ReadonlySet<string>): Map<string, Occurrence[]> {
  const found = new Map<string, Occurrence[]>();
  const lengths = new Set([...wanted].map(({ length }) => length));
  let count = 0;
  let line = 0;
  let counted = 0;
  let character = 0;
  for (let at = 0; at < text.length && count < occurrencesMax; at++) {
    if (text[at] === lineFeed) {
      line++;
      counted = at + 1;
      character = 0;
    }
    if (!isWordByte(text[at])) continue;
    const from = at;
    while (at + 1 < text.length && isWordByte(text[at + 1])) at++;
    if (!lengths.has(at + 1 - from)) continue;
    const bytes = text.toString("latin1", from, at + 1);
    if (!wanted.has(bytes)) continue;
    count++;
    character += countCharacters(text, counted, from);
    counted = from;
    const place = { line, character, length: [...decodeByteString(bytes)].length };
    const known = found.get(bytes);
    if (known === undefined) found.set(bytes, [place]);
    else known.push(place);
  }
  return found;
}

/** Letters, digits, `_`, `$` and everything that is not ASCII. */
function isWordByte(byte: number): boolean {
  return (
    (byte >= 0x61 && byte <= 0x7a) ||
    (byte >= 0x41 && byte <= 0x5a) ||
    (byte >= 0x30 && byte <= 0x39) ||
    byte === 0x5f ||
    byte === 0x24 ||
    byte >= 0x80
  );
}

function startOfLine(text: Buffer, line: number): number {
  let start = 0;
  for (let i = 0; i < line; i++) {
    start = text.indexOf(lineFeed, start) + 1;
    if (start === 0) return -1;
  }
  return start;
}

/** The offset of a character of a line, or of the end of the line. */
function skipCharacters(text: Buffer, lineStart: number, count: number): number {
  let at = lineStart;
  for (let i = 0; i < count && at < text.length && text[at] !== lineFeed; i++) {
    do at++;
    while ((text[at] & 0xc0) === 0x80);
  }
  return at;
}

function countCharacters(text: Buffer, from: number, to: number): number {
  let count = 0;
  for (let at = from; at < to; at++) if ((text[at] & 0xc0) !== 0x80) count++;
  return count;
}
