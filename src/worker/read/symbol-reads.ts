import { decodeByteString } from "../../base/bytes.js";
import type {
  ListedOccurrences,
  ListedSymbols,
  ListOccurrences,
  ListSymbols,
  Occurrence,
} from "../../protocol/git-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { shownSymbolKind } from "../../model/symbol-kind.js";
import { compileRegexp } from "../../regexp/match/matcher.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { describeSymbol } from "../../eval/results/describe-symbol.js";
import { readBlobs } from "../../git/objects/read-blobs.js";
import { textOfBlob } from "../../indexer/encoding/blob-text.js";
import { detectLanguageName } from "../../indexer/classify.js";
import type { SymbolMatch } from "../../model/stream-events.js";
import { type ContentSymbols, nameBytesMax, noSymbols } from "../../shard/symbols/content-symbols.js";
import { blobOptions } from "./files.js";
import { readImports } from "./imports.js";
import { readGivenLanguages } from "./path-languages.js";
import { callAfter, type PendingCall } from "../../base/deadline.js";
import { neverStop, type StopSignal } from "../../base/stop-signal.js";
import { type CtagsProgram, findCtagsOnce } from "../../indexer/symbols/ctags-program.js";
import { SymbolExtractor, textLimits } from "../../indexer/symbols/symbol-extractor.js";
import { extractShardSymbols, nameProducer } from "../../indexer/symbols/shard-symbols.js";
import type { ExtractedSymbols, ExtractSymbols } from "../../protocol/read-messages.js";
import { ShardReader } from "../../shard/shard-reader.js";

/** Limit on the occurrences of all names, and on the definitions of one. */
const occurrencesMax = 20_000;
const definitionsMax = 100;

/** What is read of a line before and after a word. */
const besideBytesMax = 80;

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
    imports: readImports(file.text, request.path),
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
    const before = text.toString("utf8", Math.max(lineStart, from - besideBytesMax), from);
    const [after = ""] = text.toString("utf8", to, Math.min(text.length, to + besideBytesMax)).split("\n");
    return { bytes, occurrence: { name, line, character: start, length: [...name].length, before, after } };
  };
  for (let i = 0; i < symbols.names.length; i++) {
    const from = symbols.offsets[i];
    if (symbols.lines[i] === line + 1 && from >= 0 && from <= at && at < from + symbols.names[i].length)
      return make(from, from + symbols.names[i].length);
  }
  let from = at;
  let to = at;
  while (from > 0 && at - from <= nameBytesMax && isWordByte(text[from - 1])) from--;
  while (to < text.length && to - at <= nameBytesMax && isWordByte(text[to])) to++;
  // No symbol has a longer name.
  return from === to || to - from > nameBytesMax ? undefined : make(from, to);
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

/** A page of the symbols of a file. Throws `bad-query` for an invalid regexp. */
export async function answerListSymbols(request: ListSymbols, context: ReadContext): Promise<ListedSymbols> {
  const matcher = request.query === "" ? undefined : compileRegexp(request.query, true);
  const file = await readFileSymbols(request, context);
  const { names, kinds } = file.symbols;
  const wanted = new Set(request.kinds);
  const found: number[] = [];
  for (let i = 0; i < names.length; i++) {
    if (wanted.size > 0 && !wanted.has(shownSymbolKind(kinds[i]))) continue;
    if (matcher !== undefined && matcher.startFrom(Buffer.from(names[i], "latin1"), 0) < 0) continue;
    found.push(i);
  }
  const page = found.slice(request.skipCount, request.skipCount + request.countMax);
  return {
    symbols: page.map((i) => toSymbolMatch(file, i)),
    totalCount: found.length,
    language: file.language,
    lack: file.lack,
  };
}

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
async function readFileSymbols(
  { repositoryId, commit, oid, path }: Pick<ListSymbols, "repositoryId" | "commit" | "oid" | "path">,
  context: ReadContext,
): Promise<FileWithSymbols> {
  let text = Buffer.alloc(0);
  const mirror = mirrorPath(context, repositoryId);
  await readBlobs(blobOptions(mirror, context), [oid], (_, outcome) => {
    if (outcome.kind === "content") text = Buffer.from(textOfBlob(outcome.content).text);
  });
  const [given] = await readGivenLanguages(mirror, commit, [path], context.stop);
  const language = given || detectLanguageName(Buffer.from(path), text);
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
function toSymbolMatch({ symbols, text }: FileWithSymbols, i: number): SymbolMatch {
  const { place, ...symbol } = describeSymbol(symbols, i, text);
  return { ...symbol, url: `?${place}` };
}

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
    this.extractor = new SymbolExtractor({ program, limits: textLimits, stop: () => this.#stop() });
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
async function useCtags<T>(
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
