import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { patternSetLimits, shown } from "../../query/plan/pattern-set.js";
import { parseJsonBody } from "../server/json-body.js";

/** Limit on the body of a search with patterns. Parsing 1 MiB of JSON takes 3 to 10 ms of the main thread. */
export const patternBodyBytesMax = 1 << 20;

/** The patterns in `{"patterns": ["…"]}`. Throws `bad-request` that names the first pattern that cannot be used. */
export function parsePatternBody(body: Uint8Array): readonly string[] {
  const sent = parseJsonBody(body);
  const { patterns, ...others }: Readonly<Record<string, unknown>> = isObject(sent) ? sent : {};
  if (!Array.isArray(patterns)) throw bad('the body must be a JSON object with a list of "patterns"');
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    throw bad(`the body has an unknown member ${shown(unknown)}; options of the search are parameters of the URL`);
  if (patterns.length === 0) throw bad("patterns is empty: name at least one");
  if (patterns.length > patternSetLimits.countMax)
    throw bad(
      `there are ${patterns.length} patterns; at most ${patternSetLimits.countMax} can be searched for at once`,
    );
  return patterns.map((pattern: unknown, i) => {
    if (typeof pattern !== "string") throw bad(`patterns[${i}] is not a string`);
    requirePattern(pattern, i);
    return pattern;
  });
}

function requirePattern(pattern: string, i: number): void {
  const bytes = Buffer.byteLength(pattern);
  if (pattern === "") throw bad(`patterns[${i}] is empty: it would match everywhere`);
  if (bytes > patternSetLimits.bytesMax)
    throw bad(`patterns[${i}] ${shown(pattern)} has ${bytes} bytes; at most ${patternSetLimits.bytesMax} are allowed`);
  if (/\p{Surrogate}/u.test(pattern)) throw bad(`patterns[${i}] has half of a surrogate pair, which is no character`);
}

function bad(message: string): TrawlError {
  return new TrawlError("bad-request", message);
}
