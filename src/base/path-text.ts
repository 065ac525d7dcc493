/**
 * Paths in git are bytes, usually of UTF-8 text. In a string, each byte that is not part of a UTF-8 character is an
 * unpaired surrogate, U+DC00 plus the byte, so that every path has one string and every such string is one path. Such
 * strings are for programs: answers contain `shownPath`, and addresses `escapeUrlPath`.
 *
 * Also runs in browsers.
 */

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
const replacement = "\ufffd";

/** Matches unpaired surrogates only: with the flag `u`, those of a pair are one character. */
const foreignByte = /[\ud800-\udfff]/u;

const firstForeign = 0xdc80;
const lastForeign = 0xdcff;

/** The string of a path. */
export function decodePath(bytes: Uint8Array): string {
  const text = decoder.decode(bytes);
  return text.includes(replacement) ? decodeForeign(bytes) : text;
}

/** The bytes of a path. A surrogate that stands for no byte becomes U+FFFD, which few paths contain. */
export function encodePath(path: string): Uint8Array<ArrayBuffer> {
  if (!foreignByte.test(path)) return encoder.encode(path);
  const bytes: number[] = [];
  for (const character of path) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= firstForeign && code <= lastForeign) bytes.push(code & 0xff);
    else bytes.push(...encoder.encode(character));
  }
  return Uint8Array.from(bytes);
}

/** The path for people, and for clients that accept characters only: what is not UTF-8 is U+FFFD, as in the stream. */
export function shownPath(path: string): string {
  return foreignByte.test(path) ? decoder.decode(encodePath(path)) : path;
}

/** Whether the path is not UTF-8, so that `shownPath` does not determine it. */
export function isForeignPath(path: string): boolean {
  return foreignByte.test(path);
}

function decodeForeign(bytes: Uint8Array): string {
  let text = "";
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = characterLength(bytes, at);
    if (length === 0) {
      text += decoder.decode(bytes.subarray(from, at)) + String.fromCharCode(0xdc00 + bytes[at]);
      from = at + 1;
    }
    at += Math.max(1, length);
  }
  return text + decoder.decode(bytes.subarray(from));
}

/** The length of the UTF-8 character at `at`; 0 if there is none. */
function characterLength(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first < 0x80) return 1;
  const length = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (length === 0 || at + length > bytes.length) return 0;
  for (let i = 1; i < length; i++) if ((bytes[at + i] & 0xc0) !== 0x80) return 0;
  // Too long a form, a surrogate, or beyond U+10FFFF.
  const second = bytes[at + 1];
  if ((first === 0xe0 && second < 0xa0) || (first === 0xed && second >= 0xa0)) return 0;
  if ((first === 0xf0 && second < 0x90) || (first === 0xf4 && second >= 0x90)) return 0;
  return length;
}

/** Escapes what is not allowed in the path of a URL, except slashes; a path that is not UTF-8 byte by byte. */
export function escapeUrlPath(path: string): string {
  // The common case.
  if (/^[\w./@:+-]*$/.test(path)) return path;
  return escapeUrlPart(path).replace(/%(2F|40|3A|2B|24|26|3D|2C|3B)/g, (escaped) => decodeURIComponent(escaped));
}

/** As `encodeURIComponent` does, of any path. */
export function escapeUrlPart(path: string): string {
  if (!foreignByte.test(path)) return encodeURIComponent(path);
  let escaped = "";
  for (const character of path) {
    const code = character.codePointAt(0) ?? 0;
    if (code >= firstForeign && code <= lastForeign) escaped += `%${(code & 0xff).toString(16).toUpperCase()}`;
    else escaped += encodeURIComponent(foreignByte.test(character) ? replacement : character);
  }
  return escaped;
}

/** The text that is escaped in a part of a URL; as it is, if that is not percent-encoded UTF-8. */
export function unescapeUrlPart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The text that is escaped in a part of a URL. Throws what `refuse` makes if that is not percent-encoded UTF-8. */
export function requireUrlPart(text: string, refuse: () => Error): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw refuse();
  }
}

/** The path that is escaped in a URL; undefined if a percent sign is not followed by two hexadecimal digits. */
export function unescapeUrlPath(text: string): string | undefined {
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return decodePath(unescapedBytes(text));
  }
}

function unescapedBytes(text: string): Uint8Array {
  const bytes: number[] = [];
  text.split("%").forEach((part, at) => {
    if (at > 0) bytes.push(Number.parseInt(part.slice(0, 2), 16));
    for (const byte of encoder.encode(at > 0 ? part.slice(2) : part)) bytes.push(byte);
  });
  return Uint8Array.from(bytes);
}
