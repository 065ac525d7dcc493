import { TrawlError } from "../../base/errors.js";
import { collectLeaves } from "../syntax/ast.js";
import { parseRaw } from "../syntax/parse.js";
import { QueryError } from "../syntax/query-error.js";
import type { QueryType } from "../syntax/query-type.js";

/** The names that a request may specify, including those of older servers. */
const typesOfRequest: ReadonlyMap<string, QueryType> = new Map([
  ["keyword", "keyword"],
  ["standard", "standard"],
  ["lucky", "standard"],
  ["literal", "literal"],
  ["regexp", "regexp"],
  ["structural", "structural"],
  ["newStandardRC1", "keyword"],
  ["codycontext", "keyword"],
]);

const typesOfQuery: ReadonlyMap<string, QueryType> = new Map([...typesOfRequest, ["regex", "regexp"]]);

const typesOfVersion: ReadonlyMap<string, QueryType> = new Map([
  ["V1", "regexp"],
  ["V2", "literal"],
  ["V3", "standard"],
  ["V4-rc1", "keyword"],
]);

/**
 * Determines how to parse the query: its own `patternType:`, else the request's pattern type, else its version, else
 * `standard`. An empty version or pattern type counts as absent. Throws `bad-request` if the request specifies an
 * unknown one, even if the query overrides it; an unknown one in the query is ignored.
 */
export function choosePatternType(query: string, version: string, patternType: string): QueryType {
  const requested = patternType === "" ? typeOfVersion(version) : typeOfName(patternType);
  return typeInQuery(query) ?? requested;
}

function typeOfName(name: string): QueryType {
  const type = typesOfRequest.get(name);
  if (type === undefined) throw new TrawlError("bad-request", `unrecognized patternType ${JSON.stringify(name)}`);
  return type;
}

function typeOfVersion(version: string): QueryType {
  const type = typesOfVersion.get(version === "" ? "V3" : version);
  if (type !== undefined) return type;
  throw new TrawlError("bad-request", `unrecognized version: want "V1", "V2", or "V3", got ${JSON.stringify(version)}`);
}

/**
 * Parses the query once as literal, which accepts most texts; the last `patternType:` counts. Most queries have none.
 */
function typeInQuery(query: string): QueryType | undefined {
  if (!/patterntype/i.test(query)) return undefined;
  try {
    const root = parseRaw(query, "literal");
    const leaves = root === undefined ? [] : collectLeaves(root);
    const types = leaves.map((leaf) => (leaf.kind === "field" && leaf.name === "patterntype" ? leaf.value : ""));
    return types.map((name) => typesOfQuery.get(name)).findLast((type) => type !== undefined);
  } catch (error) {
    if (error instanceof QueryError) return undefined;
    throw error;
  }
}
