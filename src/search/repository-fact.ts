import { unreachable } from "../base/assert.js";
import type { Repository } from "../model/repository.js";
import type { FactText, MetadataTest, RepositoryFact } from "../query/plan.js";
import { compileRegexp } from "../regexp/compile.js";

/** Compiles a predicate on facts. */
export function compileFact({ negated, test }: RepositoryFact): (repository: Repository) => boolean {
  const holds = compileTest(test);
  return (repository) => holds(repository) !== negated;
}

function compileTest(test: RepositoryFact["test"]): (repository: Repository) => boolean {
  switch (test.kind) {
    case "description": {
      const matcher = compileRegexp(test.source, true);
      return ({ description }) => description !== "" && matcher.test(Buffer.from(description));
    }
    case "topic":
      return ({ topics }) => topics.includes(test.topic);
    case "metadata":
      return compileMetadata(test);
    default:
      return unreachable(test);
  }
}

function compileMetadata({ key, value }: MetadataTest): (repository: Repository) => boolean {
  const valueHolds = compileValue(value);
  if (!key.isRegexp) return ({ metadata }) => Object.hasOwn(metadata, key.text) && valueHolds(metadata[key.text]);
  const keyHolds = compileText(key);
  return ({ metadata }) => Object.entries(metadata).some(([name, content]) => keyHolds(name) && valueHolds(content));
}

function compileValue(value: MetadataTest["value"]): (content: string | null) => boolean {
  if (value === "any") return () => true;
  if (value === "none") return (content) => content === null;
  const holds = compileText(value);
  return (content) => content !== null && holds(content);
}

function compileText({ text, isRegexp }: FactText): (content: string) => boolean {
  if (!isRegexp) return (content) => content === text;
  const matcher = compileRegexp(text, false);
  return (content) => matcher.test(Buffer.from(content));
}
