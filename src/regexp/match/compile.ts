import { BoundedMap } from "../../base/bounded-map.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { withCrlfEnds } from "../analysis/line-ends.js";
import { recordDropped } from "../syntax/collect.js";
import { Matcher, usualWindows } from "./matcher.js";
import { parseRegexp } from "../syntax/parse.js";

/**
 * Limit on the compiled regexps that one thread caches, as estimated by `Matcher.memoryBytes`: the memory of RE2's
 * automata, which grow while a text is searched. Each of 256 regexps has its share, so those of one query fit unless
 * they are unusual.
 *
 * Measured on random text: 15 KiB for a typical regexp such as `word_[a-z]+`, 1.2 MiB for 2,000 alternatives, 2.8 MiB
 * for `(?:a.*b.*c.*d){30}`. 256 regexps of the latter kind took 720 MB when only their number was limited.
 */
const cacheBytesMax = 64 * 1024 * 1024;
const cacheSizeMax = 256;

/** Memory of a typical regexp once it is in use, including the binding's own objects. */
const usualBytes = 32 * 1024;

const cache = new BoundedMap<string, Matcher>(cacheBytesMax, ({ memoryBytes }) =>
  Math.max(memoryBytes, cacheBytesMax / cacheSizeMax),
);

/**
 * Compiles a regexp in RE2 syntax, with `^` and `$` at line boundaries and, with `foldCase`, ignoring case. It is
 * parsed by our own parser first, because the binding interprets the source as JavaScript and changes it (`(?<`, `\c`,
 * `\u`). Recently compiled regexps are cached. Caller guarantees: a `Matcher` is no longer used when the same one is
 * requested again.
 */
export function compileRegexp(source: string, foldCase: boolean): Matcher {
  return cached(foldCase ? "i" : "c", source, foldCase, false);
}

/** The same for the text of files and commits, whose lines may end with CRLF: `$` also matches before that. */
export function compileTextRegexp(source: string, foldCase: boolean): Matcher {
  return cached(foldCase ? "I" : "C", source, foldCase, true);
}

function cached(prefix: string, source: string, foldCase: boolean, hasCrlf: boolean): Matcher {
  const key = prefix + source;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const matcher = compile(source, foldCase, hasCrlf);
  const before = cache.weight;
  cache.set(key, matcher);
  // Evicted regexps are older ones, so in the long run as much is evicted as is added.
  if (cache.weight < before + cacheBytesMax / cacheSizeMax) recordDropped(Math.max(matcher.memoryBytes, usualBytes));
  return matcher;
}

function compile(source: string, foldCase: boolean, hasCrlf: boolean): Matcher {
  const typed = parseRegexp(source, foldCase);
  const withCrlf = hasCrlf ? withCrlfEnds(typed) : undefined;
  try {
    return new Matcher(typed, foldCase, usualWindows, withCrlf);
  } catch (error) {
    throw new TrawlError("bad-query", `error parsing regexp: ${errorMessage(error)}`, { cause: error });
  }
}
