import { readSource, type Source } from "../corpus/repositories.js";
import type { Random } from "../system/random.js";

/** Longer files are bundles: only their beginning is read. */
const textBytesMax = 100_000;

/** Queries made of the words of one file. */
const queriesOfFile = 4;

const languages: readonly (readonly [ending: string, name: string])[] = [
  [".js", "javascript"],
  [".cjs", "javascript"],
  [".mjs", "javascript"],
  [".ts", "typescript"],
  [".md", "markdown"],
  [".json", "json"],
];

/**
 * Different queries as an assistant writes them, each of words that are in a file of the corpus: of 20 queries, 9 are a word
 * alone, 5 a word with `lang:`, 2 with `repo:`, 2 with `file:`, and 2 are two words.
 */
export function makeQueries(
  source: Source,
  repository: string,
  paths: readonly string[],
  count: number,
  random: Random,
): string[] {
  const known = paths.flatMap((path) => {
    const [ending, language] = languages.find(([end]) => path.endsWith(end)) ?? [];
    return ending === undefined || language === undefined ? [] : [{ path, ending, language }];
  });
  const queries = new Set<string>();
  const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T;
  while (queries.size < count) {
    const { path, ending, language } = pick(known);
    const words = readWords(source, path);
    for (let i = 0; i < queriesOfFile && words.length > 1 && queries.size < count; i++) {
      const word = pick(words);
      const forms = [
        ...Array<string>(9).fill(word),
        ...Array<string>(5).fill(`lang:${language} ${word}`),
        ...Array<string>(2).fill(`repo:${repository} ${word}`),
        ...Array<string>(2).fill(`file:\\${ending}$ ${word}`),
        ...Array<string>(2).fill(`${word} ${pick(words)}`),
      ];
      queries.add(pick(forms));
    }
  }
  return [...queries];
}

/** The different identifiers of a file with 6 to 40 letters. */
function readWords(source: Source, path: string): string[] {
  const text = readSource(source, path).text.subarray(0, textBytesMax).toString("latin1");
  return [...new Set(text.match(/\b[A-Za-z_][A-Za-z0-9_]{5,39}\b/g))];
}
