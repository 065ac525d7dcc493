import { unreachable } from "../../base/assert.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { TextPredicate, MetadataTest, RepositoryPredicate } from "../../query/plan/plan.js";
import { compileRegexp } from "../../regexp/match/compile.js";

type RowTest = (row: number) => boolean;

type TextTest = (text: string) => boolean;

/** Compiles a predicate on attributes for the repositories of the table. */
export function compilePredicate(table: RepositoryTable, { test }: RepositoryPredicate): RowTest {
  switch (test.kind) {
    case "description": {
      const matcher = compileRegexp(test.source, true);
      return (row) => {
        const description = table.descriptionAt(row);
        return description.length > 0 && matcher.test(description);
      };
    }
    case "topic":
      return (row) => table.at(row).topics.includes(test.topic);
    case "metadata":
      return compileMetadata(table, test);
    default:
      return unreachable(test);
  }
}

function compileMetadata(table: RepositoryTable, { key, value }: MetadataTest): RowTest {
  const valueHolds = compileValue(value);
  if (!key.isRegexp) {
    return (row) => {
      const content = table.at(row).metadata[key.text] as string | null | undefined;
      return content !== undefined && Object.hasOwn(table.at(row).metadata, key.text) && valueHolds(content);
    };
  }
  const keyHolds = compileText(key);
  return (row) => {
    const { metadata } = table.at(row);
    return Object.keys(metadata).some((name) => keyHolds(name) && valueHolds(metadata[name]));
  };
}

function compileValue(value: MetadataTest["value"]): (content: string | null) => boolean {
  if (value === "any") return () => true;
  if (value === "none") return (content) => content === null;
  const holds = compileText(value);
  return (content) => content !== null && holds(content);
}

/** Repositories have many keys and values in common, so each text is tested once. */
function compileText({ text, isRegexp }: TextPredicate): TextTest {
  if (!isRegexp) return (content) => content === text;
  const matcher = compileRegexp(text, false);
  const verdicts = new Map<string, boolean>();
  return (content) => {
    const known = verdicts.get(content);
    if (known !== undefined) return known;
    const verdict = matcher.test(Buffer.from(content));
    verdicts.set(content, verdict);
    return verdict;
  };
}
