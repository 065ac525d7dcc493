import { TrawlError } from "../../base/errors.js";
import { compileRegexp } from "../../regexp/match/compile.js";

/**
 * Up to `apartCountMax` regexps remain separate; more are combined into unions of at most `unionCountMax` sources or
 * `unionLengthMax` characters.
 */
const apartCountMax = 32;
const unionCountMax = 64;
const unionLengthMax = 4096;

/** Regexps that together match whatever any of the sources matches: about a hundred for thousands of sources. */
export function* buildUnions(sources: readonly string[], foldCase: boolean): Generator<undefined, readonly string[]> {
  if (sources.length <= apartCountMax) return sources;
  const unions: string[][] = [];
  let length = unionLengthMax;
  for (const source of sources) {
    length += source.length;
    const last = unions.at(-1);
    if (last === undefined || last.length >= unionCountMax || length >= unionLengthMax) {
      unions.push([source]);
      length = source.length;
    } else {
      last.push(source);
    }
  }
  const usable: string[] = [];
  for (const union of unions) {
    const joined = union.map((source) => `(?:${source})`).join("|");
    usable.push(...(union.length > 1 && isCompilable(joined, foldCase) ? [joined] : union));
    yield;
  }
  return usable;
}

/** Regexps that compile individually may be too large together. */
function isCompilable(source: string, foldCase: boolean): boolean {
  try {
    compileRegexp(source, foldCase);
    return true;
  } catch (error) {
    if (error instanceof TrawlError) return false;
    throw error;
  }
}
