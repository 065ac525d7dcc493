import { errorMessage, TrawlError } from "../../base/errors.js";
import { escapeRegexp } from "../../base/escape-regexp.js";
import { makePatternTable } from "../../native/kernel/pattern-table.js";
import { analyseLiteral, analyseRegexp } from "../../regexp/analysis/analyse.js";
import type { RegexpAnalysis } from "../../regexp/analysis/analysis.js";
import type { QueryType } from "../syntax/query-type.js";
import type { PatternSet, SetRegexp } from "./pattern-plan.js";
import { requiredLiterals, trigramBytes } from "./leaf-literals.js";

/** Limits on the patterns of one search. */
export const patternSetLimits = {
  countMax: 50_000,
  /** UTF-8 bytes of one pattern. */
  bytesMax: 4_096,
  /** Regexps that no literal of three bytes locates: each of them is tried on every file. */
  unlocatedMax: 100,
} as const;

/** The texts of a request as literals or regexps. */
export interface RequestedPatterns {
  readonly texts: readonly string[];
  readonly areRegexps: boolean;
}

/** The patterns as the pattern type of the search says. Throws `bad-request` for a type that sets do not have. */
export function toRequestedPatterns(texts: readonly string[], type: QueryType): RequestedPatterns {
  if (type === "keyword" || type === "structural")
    throw new TrawlError(
      "bad-request",
      `the pattern type ${type} cannot be used with patterns: use literal or regexp (the parameter t, or patternType: in the query)`,
    );
  return { texts, areRegexps: type === "regexp" };
}

/** Patterns that are analysed between two steps: about a millisecond. */
const patternsOfStep = 64;

/** Yields after each step. Throws `bad-query` that names the pattern. */
export function* makePatternSet(
  { texts, areRegexps }: RequestedPatterns,
  foldCase: boolean,
): Generator<undefined, PatternSet> {
  const targetsOf = new Map<string, number[]>();
  const regexps: SetRegexp[] = [];
  const locate = (literal: Buffer, target: number): void => {
    const key = literal.toString("latin1");
    const known = targetsOf.get(key);
    if (known === undefined) targetsOf.set(key, [target]);
    else if (known[known.length - 1] !== target) known.push(target);
  };
  for (const [pattern, text] of texts.entries()) {
    if (pattern % patternsOfStep === 0) yield;
    const analysis = analyse(text, pattern, areRegexps, foldCase);
    const { exact, clauses } = requiredLiterals({ analysis, foldCase });
    if (exact?.length === 1) {
      locate(exact[0], pattern);
      continue;
    }
    const clause = clauses.find((literals) => literals.every(({ length }) => length >= trigramBytes));
    for (const literal of clause ?? []) locate(literal, texts.length + regexps.length);
    const source = areRegexps ? text : escapeRegexp(text);
    regexps.push({ pattern, source, isLocated: clause !== undefined });
    if (clause === undefined) requireFewUnlocated(regexps, pattern);
  }
  const literals = [...targetsOf.keys()].map((key) => Buffer.from(key, "latin1"));
  const table = yield* makePatternTable(literals, foldCase);
  const targetStarts = new Uint32Array(literals.length + 1);
  [...targetsOf.values()].forEach((targets, i) => {
    targetStarts[i + 1] = targetStarts[i] + targets.length;
  });
  return {
    count: texts.length,
    table,
    targetStarts,
    targets: Uint32Array.from([...targetsOf.values()].flat()),
    regexps,
  };
}

function analyse(text: string, pattern: number, isRegexp: boolean, foldCase: boolean): RegexpAnalysis {
  if (!isRegexp) return analyseLiteral(text, foldCase);
  try {
    return analyseRegexp(text, foldCase);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "bad-query") throw error;
    throw new TrawlError("bad-query", `patterns[${pattern}] ${shown(text)}: ${errorMessage(error)}`, { cause: error });
  }
}

function requireFewUnlocated(regexps: readonly SetRegexp[], pattern: number): void {
  const unlocated = regexps.filter(({ isLocated }) => !isLocated);
  if (unlocated.length <= patternSetLimits.unlocatedMax) return;
  throw new TrawlError(
    "bad-query",
    `patterns[${pattern}] ${shown(unlocated[unlocated.length - 1].source)}: more than ${patternSetLimits.unlocatedMax} ` +
      "patterns have no literal of three bytes or more that every match contains, so each is tried on every file; search for them separately",
  );
}

const shownLength = 60;

/** A pattern as shown in messages. */
export function shown(text: string): string {
  return JSON.stringify(text.length > shownLength ? `${text.slice(0, shownLength)}…` : text);
}
