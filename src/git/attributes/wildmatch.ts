/**
 * A pattern as git's `wildmatch` understands it, as a regular expression for a path; undefined if nothing matches. Patterns
 * and texts have one character per byte. In a path, `*`, `?` and brackets do not match a slash, and `**` between slashes or
 * at an end matches any number of directories; in a name it is the same as `*`. A bracket that is not closed, and a
 * backslash at the end, match nothing.
 *
 * RE2 takes time linear in the text, where git's own implementation tries alternatives.
 */
export function translateWildmatch(pattern: string, kind: "path" | "name"): string | undefined {
  let source = "";
  for (let at = 0; at < pattern.length; ) {
    switch (pattern[at]) {
      case "?":
        source += segment;
        at++;
        break;
      case "*": {
        const stars = countStars(pattern, at);
        const end = at + stars;
        const crosses = kind === "path" && stars > 1 && isBounded(pattern, at, end);
        if (!crosses) source += `${segment}*`;
        else if (pattern[end] === "/") source += "(?:.*/)?";
        else source += ".*";
        at = crosses && pattern[end] === "/" ? end + 1 : end;
        break;
      }
      case "[": {
        const bracket = readBracket(pattern, at);
        if (bracket === undefined) return undefined;
        bracket.bytes.delete(slash);
        if (bracket.bytes.size === 0) return undefined;
        source += byteClass(bracket.bytes);
        at = bracket.end;
        break;
      }
      case "\\":
        if (at + 1 === pattern.length) return undefined;
        source += literal(pattern.charCodeAt(at + 1));
        at += 2;
        break;
      default:
        source += literal(pattern.charCodeAt(at++));
    }
  }
  return source;
}

function countStars(pattern: string, from: number): number {
  let end = from;
  while (pattern[end] === "*") end++;
  return end - from;
}

/** Whether what is between two positions is a whole part of a path. */
function isBounded(pattern: string, from: number, to: number): boolean {
  const isStart = from === 0 || pattern[from - 1] === "/";
  return isStart && (to === pattern.length || pattern[to] === "/" || pattern.startsWith("\\/", to));
}

/** A regular expression for these bytes. */
export function literalBytes(text: string): string {
  let source = "";
  for (let at = 0; at < text.length; at++) source += literal(text.charCodeAt(at));
  return source;
}

function literal(byte: number): string {
  return isAlnum(byte) ? String.fromCharCode(byte) : `\\x{${byte.toString(16)}}`;
}

/** Of ranges: `[^a]` has 254 bytes. */
function byteClass(bytes: ReadonlySet<number>): string {
  let source = "";
  for (let byte = 1; byte < 256; byte++) {
    if (!bytes.has(byte)) continue;
    const from = byte;
    while (bytes.has(byte + 1)) byte++;
    source += from === byte ? literal(from) : `${literal(from)}-${literal(byte)}`;
  }
  return `[${source}]`;
}

/** The bytes that a bracket matches, and the position behind it; undefined if it is not closed, or names an unknown class. */
function readBracket(pattern: string, from: number): { bytes: Set<number>; end: number } | undefined {
  let at = from + 1;
  const isNegated = pattern[at] === "!" || pattern[at] === "^";
  if (isNegated) at++;
  const bytes = new Set<number>();
  // The byte with which a range may begin; 0 after a range or a class.
  let previous = 0;
  for (let isFirst = true; isFirst || pattern[at] !== "]"; isFirst = false) {
    if (at >= pattern.length) return undefined;
    if (pattern[at] === "-" && previous !== 0 && at + 1 < pattern.length && pattern[at + 1] !== "]") {
      at += pattern[at + 1] === "\\" ? 2 : 1;
      if (at >= pattern.length) return undefined;
      for (let byte = previous; byte <= pattern.charCodeAt(at); byte++) bytes.add(byte);
      previous = 0;
    } else if (pattern.startsWith("[:", at)) {
      const end = pattern.indexOf("]", at + 2);
      if (end < 0) return undefined;
      if (end > at + 2 && pattern[end - 1] === ":") {
        const members = classes[pattern.slice(at + 2, end - 1)] as ReadonlySet<number> | undefined;
        if (members === undefined) return undefined;
        for (const byte of members) bytes.add(byte);
        at = end;
        previous = 0;
      } else {
        previous = pattern.charCodeAt(at);
        bytes.add(previous);
      }
    } else {
      if (pattern[at] === "\\") at++;
      if (at >= pattern.length) return undefined;
      previous = pattern.charCodeAt(at);
      bytes.add(previous);
    }
    at++;
  }
  return { bytes: isNegated ? complement(bytes) : bytes, end: at + 1 };
}

function complement(bytes: ReadonlySet<number>): Set<number> {
  return bytesWhere((byte) => !bytes.has(byte));
}

function bytesWhere(test: (byte: number) => boolean): Set<number> {
  const found = new Set<number>();
  for (let byte = 1; byte < 256; byte++) if (test(byte)) found.add(byte);
  return found;
}

const isBetween = (byte: number, from: string, to: string): boolean =>
  byte >= from.charCodeAt(0) && byte <= to.charCodeAt(0);
const isDigit = (byte: number): boolean => isBetween(byte, "0", "9");
const isLower = (byte: number): boolean => isBetween(byte, "a", "z");
const isUpper = (byte: number): boolean => isBetween(byte, "A", "Z");
const isAlnum = (byte: number): boolean => isDigit(byte) || isLower(byte) || isUpper(byte);
const isGraph = (byte: number): boolean => isBetween(byte, "!", "~");

/** Of ASCII only; `space` has what git takes for it. */
const classes: Readonly<Record<string, ReadonlySet<number>>> = {
  __proto__: null as never,
  alnum: bytesWhere(isAlnum),
  alpha: bytesWhere((byte) => isLower(byte) || isUpper(byte)),
  blank: bytesWhere((byte) => byte === 32 || byte === 9),
  cntrl: bytesWhere((byte) => byte < 32 || byte === 127),
  digit: bytesWhere(isDigit),
  graph: bytesWhere(isGraph),
  lower: bytesWhere(isLower),
  print: bytesWhere((byte) => isBetween(byte, " ", "~")),
  punct: bytesWhere((byte) => isGraph(byte) && !isAlnum(byte)),
  space: bytesWhere((byte) => byte === 32 || byte === 9 || byte === 10 || byte === 13),
  upper: bytesWhere(isUpper),
  xdigit: bytesWhere((byte) => isDigit(byte) || isBetween(byte, "a", "f") || isBetween(byte, "A", "F")),
};

const slash = 47;

/** Any byte other than a slash. Bytes from 128 on are two bytes for RE2, others would be more. */
const segment = "[\\x{1}-.0-\\x{ff}]";
