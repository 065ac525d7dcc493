import { TrawlError } from "../base/errors.js";
import { escapeRegexp } from "../regexp/escape.js";
import { compileRegexp } from "../regexp/compile.js";

/** Whether a full ref name is matched. */
export type RefTest = (ref: string) => boolean;

/**
 * A glob over refs, by the rules of `git log --glob`: `refs/` is put before it where it is missing, `*` crosses slashes,
 * and a glob without `?`, `*` and `[` stands for all refs below it, and for the ref of that name.
 */
export function includeGlob(glob: string): RefTest {
  const full = glob.startsWith("refs/") ? glob : `refs/${glob}`;
  if (/[?*[]/.test(full)) return compileGlob(full);
  const below = full.endsWith("/") ? full : `${full}/`;
  return (ref) => ref === full || ref.startsWith(below);
}

/** A glob by the rules of `git log --exclude`: taken as it is. */
export function excludeGlob(glob: string): RefTest {
  return compileGlob(glob);
}

function compileGlob(glob: string): RefTest {
  try {
    const matcher = compileRegexp(`^(?s:${globSource(glob)})$`, false);
    return (ref) => matcher.test(Buffer.from(ref));
  } catch (error) {
    // A class that is not closed, or a range that runs backwards: as in git, nothing matches.
    if (error instanceof TrawlError && error.code === "bad-query") return () => false;
    throw error;
  }
}

function globSource(glob: string): string {
  return glob.replace(/\\(.)|\[([!^]?)(\]?[^\]]*)\]|[^]/gu, (part, escaped?: string, negation?: string, members?: string) => {
    if (escaped !== undefined) return escapeRegexp(escaped);
    if (members !== undefined) return `[${negation === "" ? "" : "^"}${classSource(members)}]`;
    switch (part) {
      case "*": return ".*";
      case "?": return ".";
      case "[": return "[";
      default: return escapeRegexp(part);
    }
  });
}

/** Members of a class; ranges stay, all else stands for itself. */
function classSource(members: string): string {
  return members.replace(/\\([^])|[\\[\]^&~]/g, (part, escaped?: string) => {
    const character = escaped ?? part;
    return /\w/.test(character) ? character : `\\${character}`;
  });
}
