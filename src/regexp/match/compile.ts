import { BoundedMap } from "../../base/bounded-map.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { recordDropped } from "../syntax/collect.js";
import { Matcher, usualWindows } from "./matcher.js";
import { parseRegexp } from "../syntax/parse.js";

/**
 * Memory of all compiled regexps that one thread caches, as `Matcher.memoryBytes` estimates it: that of RE2's automata,
 * which grow while a text is searched. Each of 256 regexps has its share, so those of one query fit unless they are
 * unusual.
 *
 * Measured on random text: 15 KiB for a usual regexp such as `word_[a-z]+`, 1.2 MiB for 2,000 alternatives, 2.8 MiB for
 * `(?:a.*b.*c.*d){30}`. 256 regexps of that kind took 720 MB where only their number was bounded.
 */
const cacheBytesMax = 64 * 1024 * 1024;
const cacheSizeMax = 256;

/** A usual regexp takes so much once it is used, with what the binding keeps beside it. */
const usualBytes = 32 * 1024;

const cache = new BoundedMap<string, Matcher>(cacheBytesMax, ({ memoryBytes }) =>
  Math.max(memoryBytes, cacheBytesMax / cacheSizeMax),
);

/**
 * Compiles a regexp in RE2 syntax, with `^` and `$` at line boundaries and, with `foldCase`, in either case. It goes
 * through our own parser first, because the binding reads the source as JavaScript and changes it (`(?<`, `\c`, `\u`).
 * The last ones compiled are cached. Caller guarantees: a `Matcher` is used up before the same one is asked for again.
 */
export function compileRegexp(source: string, foldCase: boolean): Matcher {
  const key = (foldCase ? "i" : "c") + source;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const matcher = compile(source, foldCase);
  const before = cache.weight;
  cache.set(key, matcher);
  // What is let go is what came before, so in the long run it is as much as comes.
  if (cache.weight < before + cacheBytesMax / cacheSizeMax) recordDropped(Math.max(matcher.memoryBytes, usualBytes));
  return matcher;
}

function compile(source: string, foldCase: boolean): Matcher {
  const tree = parseRegexp(source, foldCase);
  try {
    return new Matcher(tree, foldCase, usualWindows);
  } catch (error) {
    throw new TrawlError("bad-query", `error parsing regexp: ${errorMessage(error)}`, { cause: error });
  }
}
