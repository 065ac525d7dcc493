/*
 * Trimming, splitting, escaping and comparing text. A regular expression such as `/\/+$/` retries every run of slashes from each of its
 * slashes, which is quadratic; these functions are linear.
 */

/** Removes those characters from the end of the text: `trimEndChars("a/b//", "/")` is `a/b`. */
export function trimEndChars(text: string, characters: string): string {
  let end = text.length;
  while (end > 0 && characters.includes(text.charAt(end - 1))) end--;
  return text.slice(0, end);
}

export function withoutSuffix(text: string, suffix: string): string {
  return text.endsWith(suffix) ? text.slice(0, text.length - suffix.length) : text;
}

/** The text before and after the first `separator`; undefined if there is none. */
export function splitOnce(text: string, separator: string): readonly [before: string, after: string] | undefined {
  const at = text.indexOf(separator);
  return at < 0 ? undefined : [text.slice(0, at), text.slice(at + separator.length)];
}

/**
 * The text on one line: each run of white space and control characters becomes one space, and text beyond `lengthMax`
 * becomes an ellipsis.
 */
export function oneLine(text: string, lengthMax: number): string {
  let line = "";
  let isGap = false;
  for (const character of text) {
    if (character <= " " || character === "\u007f") {
      isGap = line !== "";
      continue;
    }
    if (line.length >= lengthMax) return `${line}...`;
    line += isGap ? ` ${character}` : character;
    isGap = false;
  }
  return line;
}

/** The first UTF-16 units of the text, without half of a character at their end: many programs refuse JSON with one. */
export function textStart(text: string, lengthMax: number): string {
  return text.slice(0, lengthMax).replace(/[\ud800-\udbff]$/, "");
}

const encoder = new TextEncoder();

/** The number of bytes of the text in UTF-8. Unlike `Buffer.byteLength` it also runs in a browser. */
export function utf8Length(text: string): number {
  return encoder.encode(text).length;
}

/** A file with a NUL among this many bytes at its start is not text; the same as for git, so that both search the same files. */
const binaryHeadBytes = 8000;

/** Whether git takes the content of a file for binary. */
export function isBinary(content: Uint8Array): boolean {
  return content.subarray(0, binaryHeadBytes).includes(0);
}

/** Some editors begin a file in UTF-8 with a byte order mark, which is no part of its text. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\uFEFF") ? text.slice(1) : text;
}

/**
 * The value as JSON, in which U+2028 and U+2029 are escaped: JSON allows them in strings, but some readers of a stream
 * take them for line ends.
 */
export function toJson(value: unknown): string {
  return escapeSeparators(JSON.stringify(value));
}

/** JSON with U+2028 and U+2029 escaped. */
export function escapeSeparators(json: string): string {
  return /[\u2028\u2029]/.test(json) ? json.replace(/\u2028/g, "\\u2028").replace(/\u2029/g, "\\u2029") : json;
}

/** The RE2 source that matches this text and nothing else. */
export function escapeRegexp(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, "\\$&");
}

/** A regexp for the text as a whole word. `\b` stands only beside what RE2 takes for a character of a word: `$x` and operators begin with none. */
export function wholeWord(text: string): string {
  return `${/^\w/.test(text) ? "\\b" : ""}${escapeRegexp(text)}${/\w$/.test(text) ? "\\b" : ""}`;
}

/** The word that was probably meant: the one with the fewest changed letters, if they are few for its length. */
export function nearestWord(typed: string, words: readonly string[]): string | undefined {
  if (typed === "") return undefined;
  let nearest: string | undefined;
  const editsMax = typed.length < 4 ? 1 : Math.max(2, Math.floor(typed.length / 4));
  let fewest = editsMax + 1;
  for (const word of words) {
    const edits = editDistance(typed.toLowerCase(), word.toLowerCase());
    if (edits >= fewest) continue;
    fewest = edits;
    nearest = word;
  }
  return nearest;
}

/** Number of insertions, deletions and replacements that turn `a` into `b`. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let i = 0; i < a.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < b.length; j++) {
      const replaced = (row[j] ?? 0) + (a[i] === b[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

/** Replaces each character that controls the direction of text by U+FFFD, so that text is shown in its own order. Positions stay the same. */
export function withoutReordering(text: string): string {
  return text.replace(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, "\ufffd");
}

/**
 * A value as a field of CSV (RFC 4180). What a spreadsheet would take for a formula has an apostrophe before it: at the
 * start, and after a semicolon, which separates cells where the comma is the decimal sign: a quote in the middle of such a
 * cell protects nothing. Lines within a text are kept as they are, because those of a diff begin with signs. NUL, at which
 * some readers end the file, becomes U+FFFD.
 */
export function csvField(value: string): string {
  const safe = value.includes("\0") ? value.replaceAll("\0", "\ufffd") : value;
  const inner = safe.replace(/;(?=[" ]{0,8}[=+\-@\uff1d\uff0b\uff0d\uff20])/g, ";'");
  const text = /^[=+\-@\t\r\n\uff1d\uff0b\uff0d\uff20]/.test(inner) ? `'${inner}` : inner;
  return /[",;\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** 32 bits of a text, each of which depends on all of it: FNV-1a over UTF-16 units, and the finalizer of MurmurHash3. Not for secrets. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return mixBits(hash);
}

/** The finalizer of MurmurHash3: each bit of the result depends on each bit given. */
export function mixBits(value: number): number {
  let mixed = value ^ (value >>> 16);
  mixed = Math.imul(mixed, 0x85ebca6b);
  mixed ^= mixed >>> 13;
  mixed = Math.imul(mixed, 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
