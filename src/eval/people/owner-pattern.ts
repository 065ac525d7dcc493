import { trimEndChars } from "../../base/text.js";

/** In UTF-16 code units; a longer pattern is skipped. Few legitimate paths have 300. */
const patternLengthMax = 1024;

/**
 * The pattern of one line of a CODEOWNERS file, by GitHub's rules, which are those of `.gitignore` with some
 * differences:
 *
 * - `*` and `?` match characters of one name, `**` any number of directories.
 * - If it has a slash at its start or within it, the pattern is anchored at the root, otherwise it matches at any
 *   depth.
 * - It matches a file, or everything below a directory. With a slash at its end it matches only a directory, and with
 *   `*` as its last name only files: `docs/*` does not match files in `docs/api/`.
 *
 * Matching is implemented by hand, not with a regexp, and without backtracking over more than one star, because the
 * files are untrusted.
 */
export class OwnerPattern {
  /** Names and `**` from the root, for the whole path. */
  readonly #names: readonly string[];

  /** What the last name may match in a path: only the path's own name, only a directory above it, or either. */
  private constructor(names: readonly string[], reach: "file" | "below" | "either") {
    this.#names = reach === "file" ? names : [...names, ...(reach === "below" ? ["*"] : []), "**"];
  }

  /** Undefined for patterns that GitHub does not accept: negation, character classes, empty patterns. */
  static parse(text: string): OwnerPattern | undefined {
    if (text.length > patternLengthMax || text.startsWith("!") || /[[\]]/.test(text)) return undefined;
    const endsInSlash = text.endsWith("/");
    const inner = trimEndChars(text.replace(/^\/+/, ""), "/");
    if (inner === "") return undefined;
    const names = inner.split(/\/+/);
    const isAnywhere = names.length === 1 && !text.startsWith("/");
    const last = names[names.length - 1];
    if (last === "**")
      return new OwnerPattern(isAnywhere ? names : names.slice(0, -1), isAnywhere ? "either" : "below");
    const reach = endsInSlash ? "below" : last === "*" ? "file" : "either";
    return new OwnerPattern(isAnywhere ? ["**", ...names] : names, reach);
  }

  /** The first name of every path that it matches; undefined if these differ. */
  get firstName(): string | undefined {
    const [first] = this.#names;
    return first === undefined || /[*?\\]/.test(first) ? undefined : first;
  }

  /** Whether it matches the file; `path` consists of its names. The work is bounded by the product of both lengths. */
  matches(path: readonly string[]): boolean {
    const names = this.#names;
    let at = 0;
    let i = 0;
    let starAt = -1;
    let starFrom = 0;
    while (i < path.length) {
      if (at < names.length && names[at] === "**") {
        starAt = at++;
        starFrom = i;
      } else if (at < names.length && matchesName(names[at], path[i])) {
        at++;
        i++;
      } else if (starAt >= 0) {
        at = starAt + 1;
        i = ++starFrom;
      } else {
        return false;
      }
    }
    while (at < names.length && names[at] === "**") at++;
    return at === names.length;
  }
}

/** Matches one name against a pattern of `*`, `?` and literal characters; a backslash escapes the next character. */
function matchesName(pattern: string, name: string): boolean {
  let at = 0;
  let i = 0;
  let starAt = -1;
  let starFrom = 0;
  while (i < name.length) {
    const isPlain = pattern[at] === "\\";
    const wanted = isPlain ? pattern[at + 1] : pattern[at];
    if (!isPlain && wanted === "*") {
      starAt = at++;
      starFrom = i;
    } else if (at < pattern.length && (wanted === name[i] || (!isPlain && wanted === "?"))) {
      at += isPlain ? 2 : 1;
      i++;
    } else if (starAt >= 0) {
      at = starAt + 1;
      i = ++starFrom;
    } else {
      return false;
    }
  }
  while (pattern[at] === "*") at++;
  return at >= pattern.length;
}
