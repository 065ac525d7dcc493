/** Text between delimiters, or why there is none. `end` is the index after the closing delimiter. */
export type Delimited =
  | { readonly kind: "text"; readonly value: string; readonly end: number }
  | { readonly kind: "broken"; readonly message: string; readonly end: number };

const controls: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };

/** Escapes that have a meaning in regexps and not here: both characters are kept. */
const regexpEscapes = "abfv";

/**
 * Parses from the delimiter at `from` to the first unescaped closing one. Between quotes, `\n`, `\r`, `\t`, a doubled
 * backslash and an escaped delimiter are resolved; any other escape keeps both characters, or is an error if `strict`.
 * Between slashes is a regexp, which has escapes of its own, so only the escaped slash is resolved.
 */
export function scanDelimited(text: string, from: number, strict: boolean): Delimited {
  const delimiter = text.charAt(from);
  const pieces: string[] = [];
  let at = from + 1;
  let pieceFrom = at;
  while (at < text.length && text[at] !== delimiter) {
    if (text[at] !== "\\") {
      at++;
      continue;
    }
    const [escaped] = text.slice(at + 1, at + 3);
    if (escaped === undefined) return { kind: "broken", message: "unterminated escape sequence", end: text.length };
    const resolved = resolveEscape(escaped, delimiter, strict);
    if (resolved === undefined)
      return { kind: "broken", message: "unrecognized escape sequence", end: at + 1 + escaped.length };
    pieces.push(text.slice(pieceFrom, at), resolved);
    at += 1 + escaped.length;
    pieceFrom = at;
  }
  if (at >= text.length) {
    return { kind: "broken", message: `unterminated literal: expected ${delimiter}`, end: text.length };
  }
  pieces.push(text.slice(pieceFrom, at));
  return { kind: "text", value: pieces.join(""), end: at + 1 };
}

function resolveEscape(escaped: string, delimiter: string, strict: boolean): string | undefined {
  if (escaped === delimiter) return escaped;
  if (delimiter === "/") return `\\${escaped}`;
  if (escaped === "\\") return escaped;
  const control = controls[escaped];
  if (control !== undefined) return control;
  return strict && !regexpEscapes.includes(escaped) ? undefined : `\\${escaped}`;
}
