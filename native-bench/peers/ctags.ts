import { randomBytes } from "node:crypto";
import { ended, start } from "../system/processes.js";
import { ctagsParser } from "../../src/indexer/symbols/ctags-languages.js";
import { shownSymbolKind } from "../../src/model/symbol-kind.js";
import { nameBytesMax } from "../../src/shard/symbols/content-symbols.js";
import { TrawlError } from "../../src/base/errors.js";

const timeoutMs = 1_800_000;

/** The symbols of one file. The sums of two hashes do not depend on their order. */
interface FileSymbols {
  count: number;
  sumA: number;
  sumB: number;
}

/** Collects symbols in any order, and keeps only sums of hashes for each file, as corpora have millions. */
export class SymbolSet {
  readonly #files = new Map<string, FileSymbols>();
  #count = 0;

  add(path: string, line: number, kind: string, name: string): void {
    let file = this.#files.get(path);
    if (file === undefined) this.#files.set(path, (file = { count: 0, sumA: 0, sumB: 0 }));
    const text = `${line}\t${kind}\t${name}`;
    file.count++;
    file.sumA += hashText(text, 0x811c9dc5);
    file.sumB += hashText(text, 0x9747b28c);
    this.#count++;
  }

  get count(): number {
    return this.#count;
  }

  get fileCount(): number {
    return this.#files.size;
  }

  /** The files whose symbols are not the same in both. */
  differing(other: SymbolSet): string[] {
    const paths = new Set([...this.#files.keys(), ...other.#files.keys()]);
    return [...paths].filter((path) => {
      const [own, theirs] = [this.#files.get(path), other.#files.get(path)];
      return own?.count !== theirs?.count || own?.sumA !== theirs?.sumA || own?.sumB !== theirs?.sumB;
    });
  }
}

/** FNV-1a of UTF-16 units. */
function hashText(text: string, start: number): number {
  let hash = start;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

export interface CtagsRun {
  readonly symbols: SymbolSet;
  /** Of its processes, user and system. */
  readonly cpuSeconds: number;
}

/**
 * Runs `ctags` over files of a work tree, with the options that decide which symbols a file has. Each file is given the
 * parser of its language; `languages` is by path. `onName` is called with the name of each symbol.
 */
export async function runCtags(
  folder: string,
  languages: ReadonlyMap<string, string>,
  onName: (name: string) => void,
): Promise<CtagsRun> {
  const files = new Map<string, string[]>();
  for (const [path, language] of languages) {
    const parser = ctagsParser(language);
    if (parser === undefined) continue;
    const list = files.get(parser) ?? [];
    list.push(path);
    files.set(parser, list);
  }
  const symbols = new SymbolSet();
  let cpuSeconds = 0;
  for (const [parser, paths] of files) cpuSeconds += await runParser(folder, parser, paths, symbols, onName);
  return { symbols, cpuSeconds };
}

/** Returns its CPU seconds. */
async function runParser(
  folder: string,
  parser: string,
  paths: readonly string[],
  symbols: SymbolSet,
  onName: (name: string) => void,
): Promise<number> {
  // Files cannot know it, so names may have any character.
  const mark = `@${randomBytes(6).toString("hex")}@`;
  const args = [
    ...["ctags", "--options=NONE", "--extras=-{anonymous}", `--language-force=${parser}`, "--sort=no"],
    ...["--output-format=xref", `--_xformat=${mark}%F\t%n\t%K\t%N`, "-o", "-", "-L", "-"],
  ];
  const script = 'TIMEFORMAT="%U %S"; time "$@" 2>/dev/null';
  const child = start("bash", ["-c", script, "bash", ...args], { cwd: folder, stdio: ["pipe", "pipe", "pipe"] });
  const code = ended(child, timeoutMs);
  let times = "";
  child.stderr?.on("data", (part: Buffer) => {
    times += part.toString();
  });
  child.stdin?.on("error", () => {});
  child.stdin?.end(`${paths.join("\n")}\n`);
  const reader = new RecordReader(mark, (record) => {
    const [path = "", line = "", kind = "", ...name] = record.split("\t");
    const shown = unescapeName(name.join("\t")).replaceAll("\n", " ");
    if (shown === "" || Buffer.byteLength(shown) > nameBytesMax) return;
    symbols.add(path, Number(line), shownSymbolKind(kind), shown);
    onName(shown);
  });
  for await (const part of child.stdout as AsyncIterable<Buffer>) reader.push(part);
  reader.end();
  if ((await code) !== 0) throw new TrawlError("internal", `ctags for ${parser} ended with ${await code}: ${times}`);
  return times
    .trim()
    .split(/\s+/)
    .reduce((sum, seconds) => sum + Number(seconds), 0);
}

/** ctags writes a backslash twice, and a space or `!` at the beginning as its number. */
function unescapeName(name: string): string {
  return name.replace(/\\(?:x([0-9A-Fa-f]{2})|\\)/g, (_, code?: string) =>
    code === undefined ? "\\" : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Splits output into records, which begin with a mark and end with a newline. */
class RecordReader {
  readonly #mark: Buffer;
  readonly #take: (record: string) => void;
  #rest: Buffer = Buffer.alloc(0);

  constructor(mark: string, take: (record: string) => void) {
    this.#mark = Buffer.from(mark);
    this.#take = take;
  }

  push(part: Buffer): void {
    const bytes = this.#rest.length === 0 ? part : Buffer.concat([this.#rest, part]);
    const last = bytes.lastIndexOf(this.#mark);
    if (last > 0) this.#split(bytes.subarray(0, last));
    this.#rest = bytes.subarray(Math.max(0, last));
  }

  end(): void {
    this.#split(this.#rest);
  }

  /** Bytes that are not UTF-8 are replaced as in results. */
  #split(bytes: Buffer): void {
    for (const record of bytes.toString().split(this.#mark.toString()))
      if (record !== "") this.#take(record.slice(0, -1));
  }
}
