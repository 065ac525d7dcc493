import { trimEndChars } from "../../base/text.js";

/** The owner of a file: an account or team without its `@`, or an address. */
export type Owner = { readonly kind: "handle" | "email"; readonly text: string };

interface Rule {
  readonly pattern: OwnerPattern;
  /** Empty for a rule that removes the owners. */
  readonly owners: readonly Owner[];
  /** The pattern as written. */
  readonly text: string;
  /** Lines from its own to the last one of the file. */
  readonly linesToEnd: number;
}

/** A rule that matches a file. */
export interface FoundRule {
  readonly owners: readonly Owner[];
  readonly pattern: string;
  /** 1-based. */
  readonly line: number;
}

/**
 * Limit on the rules read, which are the last ones because they take precedence, and on the lines: legitimate files
 * have fewer.
 */
const ruleCountMax = 50_000;
const lineCountMax = 100_000;
/** In UTF-16 code units; a longer line is skipped. */
const lineLengthMax = 16_384;

const nobody: readonly Owner[] = [];

/**
 * The rules of a CODEOWNERS file. A line consists of a pattern and its owners; the last line that matches a file
 * applies. As on GitHub, invalid lines are skipped; this includes section headings as used by GitLab.
 */
export class CodeOwners {
  /** In file order. */
  readonly #rules: readonly Rule[];
  /** Indexes of the rules that can only match paths with this first name, ascending. */
  readonly #placesOf = new Map<string, number[]>();
  /** Indexes of the other rules. */
  readonly #placesOfAny: number[] = [];
  readonly #lineCount: number;

  constructor(text: string) {
    this.#lineCount = countLines(text);
    this.#rules = lastLines(text)
      .flatMap(({ line, linesToEnd }) => parseRule(line, linesToEnd) ?? [])
      .slice(-ruleCountMax);
    this.#rules.forEach(({ pattern }, position) => {
      const first = pattern.firstName;
      if (first === undefined) this.#placesOfAny.push(position);
      else if (this.#placesOf.get(first)?.push(position) === undefined) this.#placesOf.set(first, [position]);
    });
  }

  /** The owners of the file; none if no rule matches it, or if its rule names none. */
  match(path: string): readonly Owner[] {
    return this.#find(path)?.owners ?? nobody;
  }

  /** The rule that applies to the file; undefined if none matches it. */
  findRule(path: string): FoundRule | undefined {
    const rule = this.#find(path);
    if (rule === undefined) return undefined;
    return { owners: rule.owners, pattern: rule.text, line: this.#lineCount - rule.linesToEnd + 1 };
  }

  #find(path: string): Rule | undefined {
    const names = path.split("/");
    const own = this.#placesOf.get(names[0]) ?? [];
    let i = own.length - 1;
    let k = this.#placesOfAny.length - 1;
    while (i >= 0 || k >= 0) {
      const isOwn = k < 0 || (i >= 0 && own[i] > this.#placesOfAny[k]);
      const rule = this.#rules[isOwn ? own[i--] : this.#placesOfAny[k--]];
      if (rule.pattern.matches(names)) return rule;
    }
    return undefined;
  }
}

/** Parses the owner in `file:has.owner(text)`. */
export function readOwner(text: string): Owner {
  const trimmed = text.trim();
  if (!trimmed.startsWith("@") && trimmed.includes("@")) return { kind: "email", text: trimmed };
  return { kind: "handle", text: trimmed.replace(/^@/, "") };
}

/** Names of accounts and addresses are compared ignoring case. */
export function isSameOwner(a: Owner, b: Owner): boolean {
  return a.kind === b.kind && a.text.toLowerCase() === b.text.toLowerCase();
}

function countLines(text: string): number {
  let count = 1;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) count++;
  return count;
}

/** The last lines of a text, without line ends. */
function lastLines(text: string): { readonly line: string; readonly linesToEnd: number }[] {
  const lines: { readonly line: string; readonly linesToEnd: number }[] = [];
  let looked = 0;
  for (let end = text.length; end >= 0 && looked < lineCountMax; looked++) {
    const from = end === 0 ? 0 : text.lastIndexOf("\n", end - 1) + 1;
    if (end - from <= lineLengthMax)
      lines.push({ line: trimEndChars(text.slice(from, end), "\r"), linesToEnd: looked + 1 });
    end = from - 1;
  }
  return lines.reverse();
}

/** Undefined for a line without a rule. */
function parseRule(line: string, linesToEnd: number): Rule | undefined {
  const words = splitWords(line);
  const [first, ...rest] = words;
  const pattern = first === undefined ? undefined : OwnerPattern.parse(first);
  if (pattern === undefined || !rest.every((word) => word.length > 1 && word.includes("@"))) return undefined;
  return { pattern, owners: rest.map(readOwner), text: first, linesToEnd };
}

/** The words of a line up to a `#`; a backslash escapes a space within a word. */
function splitWords(line: string): string[] {
  const words: string[] = [];
  for (const [word] of line.matchAll(/(?:\\.|[^\s\\])+/g)) {
    if (word.startsWith("#")) break;
    words.push(word);
  }
  return words;
}

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
