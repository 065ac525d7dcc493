import { createHash } from "node:crypto";
import { TrawlError } from "../../src/base/errors.js";
import { readSource, smallFiles, type Source } from "./repositories.js";
import type { Random } from "../system/random.js";

const fileBytesMax = 1 << 20;

/** Longer files are bundles: only their beginning is read. */
const textBytesMax = 100_000;

/** A file that has words, and every word as often as it stands there. */
interface FileWords {
  readonly path: string;
  readonly words: readonly string[];
}

/** A source with too few words ends the suite instead of hanging it. */
const drawsMax = 1_000_000;

/** Files drawn at random, with their identifiers of `lettersMin` to 40 letters. */
export async function* drawFiles(source: Source, random: Random, lettersMin: number): AsyncGenerator<FileWords> {
  const paths = await smallFiles(source, fileBytesMax);
  const pattern = new RegExp(`\\b[A-Za-z_][A-Za-z0-9_]{${lettersMin - 1},39}\\b`, "g");
  for (let draw = 0; draw < drawsMax; draw++) {
    const path = paths[random(paths.length)] ?? "";
    const words = readSource(source, path).text.subarray(0, textBytesMax).toString("latin1").match(pattern) ?? [];
    if (words.length > 0) yield { path, words };
  }
  throw new TrawlError("internal", `the source has too few words of ${lettersMin} letters and more`);
}

/** Different words of the source, the more likely the more often they occur: one of a file that is drawn at random. */
export async function drawWords(source: Source, count: number, random: Random): Promise<string[]> {
  const drawn = new Set<string>();
  for await (const { words } of drawFiles(source, random, 4)) {
    drawn.add(words[random(words.length)] ?? "");
    if (drawn.size === count) break;
  }
  return [...drawn];
}

/** Different identifiers of eight letters or more of every seventh source file, in the order of their hashes: most are rare. */
export async function chooseIdentifiers(source: Source, count: number): Promise<readonly string[]> {
  const paths = (await smallFiles(source, fileBytesMax)).filter((path) => /\.(c|h|js|ts)$/.test(path));
  const words = new Set<string>();
  for (const path of paths.filter((_, i) => i % 7 === 0))
    for (const [word] of readSource(source, path)
      .text.toString("latin1")
      .matchAll(/[A-Za-z_][A-Za-z0-9_]{7,63}/g))
      words.add(word);
  const hash = (word: string): string => createHash("sha1").update(word).digest("hex");
  const ordered = [...words].map((word) => [hash(word), word] as const).sort(([a], [b]) => (a < b ? -1 : 1));
  return ordered.slice(0, count).map(([, word]) => word);
}
