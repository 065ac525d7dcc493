import { BoundedMap } from "../base/bounded-map.js";
import { messageOf, TrawlError } from "../base/errors.js";
import { noteDropped } from "./collect.js";
import { Matcher, usualWindows } from "./matcher.js";
import { parseRegexp } from "./parse.js";

/**
 * Of each thread. A search binds its regexps to each shard anew, so those of one query should all fit.
 *
 * The memory is that of RE2's automata. They grow while a text is searched, up to a bound of 8 MiB for each regexp, and
 * then start afresh. Measured: 15 KiB for a usual one such as `word_[a-z]+`, 1.2 MiB for 2,000 alternatives, and 2.8 MiB
 * for the worst we made, `(?:a.*b.*c.*d){30}` on random text. So 256 hostile ones take 720 MB of a thread, after 40 s of
 * searching for nothing else.
 */
const cacheSizeMax = 256;

const cache = new BoundedMap<string, Matcher>(cacheSizeMax, () => 1);

/**
 * Compiles a regexp in RE2 syntax, with `^` and `$` at line boundaries and, with `foldCase`, in either case. It goes
 * through our own parser first, because the binding reads the source as JavaScript and changes it (`(?<`, `\c`, `\u`).
 * The last ones compiled are kept. Caller guarantees: a `Matcher` is used up before the same one is asked for again.
 */
export function compileRegexp(source: string, foldCase: boolean): Matcher {
  const key = (foldCase ? "i" : "c") + source;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const matcher = compile(source, foldCase);
  if (cache.size === cacheSizeMax) noteDropped();
  cache.set(key, matcher);
  return matcher;
}

function compile(source: string, foldCase: boolean): Matcher {
  const tree = parseRegexp(source, foldCase);
  try {
    return new Matcher(tree, foldCase, usualWindows);
  } catch (error) {
    throw new TrawlError("bad-query", `error parsing regexp: ${messageOf(error)}`, { cause: error });
  }
}
