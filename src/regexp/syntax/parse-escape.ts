import type { Parsed } from "./parsed.js";
import type { SourceText } from "./syntax-error.js";

const controlEscapes: ReadonlyMap<string, number> = new Map([
  ["a", 7],
  ["f", 12],
  ["n", 10],
  ["r", 13],
  ["t", 9],
  ["v", 11],
]);

/**
 * `\0` with up to two more octal digits; a digit from 1 on requires a second one, because alone it would be a
 * back-reference.
 */
const octal = /\\(0[0-7]{0,2}|[1-7][0-7]{1,2})/y;
const hexadecimal = /\\x(?:\{([0-9a-fA-F]+)\}|([0-9a-fA-F]{2}))/y;
const escapeExcerpt = /\\(?:x(?:\{[0-9a-fA-F]*.?|[0-9a-fA-F]?.?)|.)/suy;

/** Parses the escape sequence at `at`, which must denote a single character. */
export function parseEscapedCharacter(source: SourceText, at: number): Parsed<number> {
  const { text } = source;
  const letter = text.charAt(at + 1);
  if (letter === "") throw source.error("trailing backslash at end of expression", text.length, text.length);
  const control = controlEscapes.get(letter);
  if (control !== undefined) return { value: control, next: at + 2 };
  if (letter < "\x80" && !/[0-9A-Za-z]/.test(letter)) return { value: letter.charCodeAt(0), next: at + 2 };
  const number = parseNumber(text, at);
  if (number === undefined || number.value > 0x10ffff || isSurrogate(number.value)) throw invalidEscape(source, at);
  return number;
}

function parseNumber(text: string, at: number): Parsed<number> | undefined {
  octal.lastIndex = at;
  const eight = octal.exec(text);
  if (eight !== null) return { value: Number.parseInt(eight[1], 8), next: at + eight[0].length };
  hexadecimal.lastIndex = at;
  const sixteen = hexadecimal.exec(text);
  if (sixteen === null) return undefined;
  return { value: Number.parseInt(sixteen[1] ?? sixteen[2], 16), next: at + sixteen[0].length };
}

/** UTF-8 text contains no surrogates, so a reference to one is an error. */
function isSurrogate(codePoint: number): boolean {
  return codePoint >= 0xd800 && codePoint <= 0xdfff;
}

function invalidEscape(source: SourceText, at: number): Error {
  escapeExcerpt.lastIndex = at;
  const excerpt = escapeExcerpt.exec(source.text)?.[0] ?? "\\";
  return source.error("invalid escape sequence", at, at + excerpt.length);
}
