import type { ResultGroups } from "../../../model/result-groups.js";
import { quoteValue } from "../../../query/syntax/quote.js";
import { readEvents } from "../../api/event-stream.js";

type Example = readonly [query: string, what: string];

/** What one looks for in a language, by its name. */
const ofLanguage: Readonly<Record<string, Example>> = {
  C: ["/static int \\w+_init\\(/", "Functions that set something up"],
  "C++": ["/class \\w+ final/", "Classes that nothing derives from"],
  "C#": ["/public async Task \\w+/", "Methods that are awaited"],
  Go: ["/func \\(\\w+ \\*?\\w+\\) Close\\(/", "Methods that close something"],
  Java: ["/public interface \\w+/", "Interfaces"],
  JavaScript: ["/module\\.exports|export default/", "What modules export"],
  Kotlin: ["/data class \\w+/", "Classes of data"],
  PHP: ["/abstract class \\w+/", "Abstract classes"],
  Python: ["/def test_\\w+/", "Tests"],
  Ruby: ["/attr_accessor :\\w+/", "Attributes"],
  Rust: ["/impl .* for \\w+/", "Implementations of traits"],
  Shell: ["/^set -[a-z]*e/", "Scripts that end at the first error"],
  Swift: ["/protocol \\w+/", "Protocols"],
  TypeScript: ["/export (interface|type) \\w+/", "Types that others use"],
};

const languagesMax = 3;

/** Examples in these languages, in their order. */
export function languageExamples(languages: readonly string[]): readonly Example[] {
  return languages.flatMap((language) => {
    const example = ofLanguage[language];
    return example === undefined
      ? []
      : [[`${example[0]} lang:${quoteValue(language.toLowerCase())}`, `${example[1]}, in ${language}`] as const];
  });
}

/** Which of the languages with examples are indexed, those with most files first. Asked once while the pages are open. */
export function readLanguages(): Promise<readonly string[]> {
  known ??= countLanguages().catch(() => {
    known = undefined;
    return [];
  });
  return known;
}

let known: Promise<readonly string[]> | undefined;

/** A sample: to count all files takes a second in a large index. */
const sampleQuery = "type:path file:\\.(c|cc|cpp|cs|go|java|js|kt|php|py|rb|rs|sh|swift|ts)$ count:3000";

async function countLanguages(): Promise<readonly string[]> {
  const parameters = new URLSearchParams({ q: sampleQuery, t: "literal", near: "0", group: "language", groups: "20" });
  const found: string[] = [];
  await readEvents(`/search/stream?${parameters}`, new AbortController().signal, (name, data) => {
    if (name === "groups") found.push(...(JSON.parse(data) as ResultGroups).groups.map(({ value }) => value));
    return undefined;
  });
  return found.filter((language) => ofLanguage[language] !== undefined).slice(0, languagesMax);
}

/** Examples for every server. `repository` is the name of one that it has. */
export function generalExamples(repository: string | undefined): readonly Example[] {
  const place = repository === undefined ? "" : `repo:${quoteValue(repository)} `;
  return [
    ["parse error", "Words, each somewhere in the file"],
    ['"not found"', "A text as it is"],
    [`${place}type:symbol parse`, "Names of functions, types and so on"],
    ["file:README install -file:test", "In files with this path, without those with another"],
    [`${place}type:diff after:"1 month ago" fix`, "Lines that changed lately"],
    ["repo:has.path(Dockerfile) select:repo", "Repositories that have a file"],
  ];
}
