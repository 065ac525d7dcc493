import { readSource, smallFiles, type Source } from "./repositories.js";
import type { Random } from "../system/random.js";

const fileBytesMax = 1_000_000;

/** Longer files are bundles: only their beginning is read. */
const textBytesMax = 100_000;

/** A file that has words, and every word as often as it stands there. */
interface FileWords {
  readonly path: string;
  readonly words: readonly string[];
}

/** Files drawn at random, without end, with their identifiers of `lettersMin` to 40 letters. */
export async function* drawFiles(source: Source, random: Random, lettersMin: number): AsyncGenerator<FileWords> {
  const paths = await smallFiles(source, fileBytesMax);
  const pattern = new RegExp(`\\b[A-Za-z_][A-Za-z0-9_]{${lettersMin - 1},39}\\b`, "g");
  for (;;) {
    const path = paths[random(paths.length)] ?? "";
    const words = readSource(source, path).text.subarray(0, textBytesMax).toString("latin1").match(pattern) ?? [];
    if (words.length > 0) yield { path, words };
  }
}

/** Different words of the source, the more likely the more often they occur: one of a file that is drawn at random. */
export async function drawWords(source: Source, count: number, random: Random, lettersMin = 4): Promise<string[]> {
  const drawn = new Set<string>();
  for await (const { words } of drawFiles(source, random, lettersMin)) {
    drawn.add(words[random(words.length)] ?? "");
    if (drawn.size === count) break;
  }
  return [...drawn];
}
