/** A function, a class or the like: the line that begins it, and its last one; both from 1. */
export interface Scope {
  readonly from: number;
  readonly to: number;
}

/** A symbol that may be a scope; lines count from 0. */
export interface ScopeSymbol {
  readonly kind: string;
  readonly line: number;
}

/** Kinds whose symbols have a body, and those that have one if a function is assigned to them. */
const kindsWithBody = [
  "CLASS",
  "INTERFACE",
  "STRUCT",
  "ENUM",
  "FUNCTION",
  "METHOD",
  "CONSTRUCTOR",
  "MODULE",
  "NAMESPACE",
  "OBJECT",
] as const;
const kindsOfValues = ["CONSTANT", "VARIABLE", "PROPERTY", "FIELD"] as const;

/** The kinds of symbols that are asked for. */
export const scopeKinds = [...kindsWithBody, ...kindsOfValues];

const bodies: ReadonlySet<string> = new Set(kindsWithBody);
const values: ReadonlySet<string> = new Set(kindsOfValues);

/** In longer files no scopes are looked for. */
const linesMax = 200_000;

/** All scopes together look at so many times the lines of the file: of more, the rest is left out. */
const looksPerLine = 30;

/** Lines from the name of a function to the brace that opens its body. */
const headLinesMax = 15;

/** Longer lines are looked at in part. */
const lineLengthMax = 2_000;

const blank = -1;

/**
 * The scopes of a file, by where they begin. The daemon knows where a symbol begins, not where it ends: that is told by how lines are
 * indented and by what closes. A scope that is told too short or too long shows a line too few or too many, and nothing else depends on it.
 */
export function findScopes(symbols: readonly ScopeSymbol[], lines: readonly string[]): readonly Scope[] {
  if (lines.length > linesMax) return [];
  const indents = lines.map(indentation);
  const starts = new Set<number>();
  const wanted = symbols.filter(({ kind, line }) => {
    const text = lines[line]?.slice(0, lineLengthMax) ?? "";
    const isOne = bodies.has(kind) || (values.has(kind) && /=>|\bfunction\b/.test(text));
    // A macro of C has no body to read.
    if (!isOne || starts.has(line) || text.startsWith("#")) return false;
    starts.add(line);
    return true;
  });
  const scopes: Scope[] = [];
  let looks = looksPerLine * lines.length;
  for (const { line } of wanted) {
    const end = lastLine(line, lines, indents, starts);
    looks -= end - line + headLinesMax;
    if (looks < 0) break;
    if (end > line) scopes.push({ from: line + 1, to: end + 1 });
  }
  return scopes.sort((a, b) => a.from - b.from);
}

function lastLine(
  first: number,
  lines: readonly string[],
  indents: readonly number[],
  starts: ReadonlySet<number>,
): number {
  const head = headKind(first, lines, indents);
  if (head === "none") return first;
  const indent = indents[first] ?? 0;
  let last = first;
  for (let at = first + 1; at < lines.length; at++) {
    const own = indents[at] ?? blank;
    if (own === blank) continue;
    if (own > indent) {
      last = at;
      continue;
    }
    const text = (lines[at] ?? "").trim();
    // The brace that opens the body, and the end of the parameters, in lines of their own.
    if (/^[{)]/.test(text) && own === indent) {
      last = at;
      continue;
    }
    if (/^(?:[}\]]|end\b|done\b|fi\b|esac\b)/.test(text)) {
      if (own < indent) return last;
      if (!/[{[(]$/.test(text)) return at;
      last = at;
      continue;
    }
    // Labels, lines for the preprocessor and the text of a string may stand further left, but no other symbol.
    if (head === "braces" && !starts.has(at)) continue;
    return last;
  }
  return last;
}

/** Whether what begins here has a body in braces, one that is indented, or none. */
function headKind(first: number, lines: readonly string[], indents: readonly number[]): "braces" | "indent" | "none" {
  for (let at = first; at < Math.min(lines.length, first + headLinesMax); at++) {
    const text =
      (lines[at] ?? "")
        .slice(0, lineLengthMax)
        .split(/\s(?:\/\/|#)/, 1)[0]
        ?.trimEnd() ?? "";
    if (text.endsWith("{")) return "braces";
    if (text.endsWith(":")) return "indent";
    if (text.endsWith(";") || (text.endsWith("}") && at === first)) return "none";
    // The body of a language without braces has begun, or there is none.
    if (at > first && (indents[at] ?? blank) === blank) return "indent";
  }
  return "indent";
}

/** Columns before the text of a line; `blank` for one without. */
function indentation(line: string): number {
  let columns = 0;
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at);
    if (character === " ") columns++;
    else if (character === "\t") columns += 8 - (columns % 8);
    else return character === "\r" ? blank : columns;
  }
  return blank;
}

/** Lines that are shown at most. */
const shownMax = 4;

/**
 * The first lines of the scopes around the first line that can be seen: `top` is the first one below the bars, and what is shown
 * covers as many lines from there as it has.
 */
export function scopesAbove(scopes: readonly Scope[], top: number): readonly number[] {
  let shown: readonly number[] = [];
  for (;;) {
    const around = scopesAround(scopes, top + shown.length);
    if (Math.min(around.length, shownMax) <= shown.length) return shown;
    shown = around.slice(-(shown.length + 1));
    if (shown.length === shownMax) return shown;
  }
}

/** The first lines of the scopes that have begun above a line and have it, the outermost first. */
function scopesAround(scopes: readonly Scope[], line: number): readonly number[] {
  const found: number[] = [];
  for (const { from, to } of scopes) {
    if (from >= line) break;
    if (to >= line) found.push(from);
  }
  return found;
}
