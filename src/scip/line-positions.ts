import { isAscii } from "node:buffer";
import type { PositionEncoding } from "./scip-messages.js";

const lineFeed = 10;

/**
 * The lines of a text in UTF-8, and the characters in them. Positions of an index are converted to code points, in which all of
 * Trawl counts; in a line of ASCII they are the same in every encoding.
 */
export class LinePositions {
  readonly #text: Buffer;
  readonly #starts: readonly number[];
  /** The line that was asked for last, so that a long one is read once and not for each of its occurrences. */
  #last: LineCharacters | undefined;

  constructor(text: Buffer) {
    this.#text = text;
    const starts = [0];
    for (let at = text.indexOf(lineFeed); at >= 0; at = text.indexOf(lineFeed, at + 1)) starts.push(at + 1);
    this.#starts = starts;
  }

  /** Estimated memory. */
  get byteCount(): number {
    return this.#text.length + 8 * this.#starts.length;
  }

  get lineCount(): number {
    return this.#starts.length;
  }

  /** Without its line feed. There must be such a line. */
  line(line: number): Buffer {
    const end = line + 1 < this.#starts.length ? this.#starts[line + 1] - 1 : this.#text.length;
    return this.#text.subarray(this.#starts[line], end);
  }

  /**
   * The code points before a character that is counted in this encoding; -1 if there is no such line or character. Of a
   * character in the middle of a code point, the start of that is taken.
   */
  codePoints(line: number, character: number, encoding: PositionEncoding): number {
    if (line < 0 || line >= this.#starts.length || character < 0) return -1;
    const { byteCount, characters, units } = this.#characters(line, encoding);
    if (characters === undefined) return character <= byteCount ? character : -1;
    // The last one is the end of the line.
    if (character > units[units.length - 1]) return -1;
    let [low, high] = [0, units.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (units[middle] <= character) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** The text between two characters of a line, in code points. */
  slice(line: number, from: number, to: number): string {
    const { characters } = this.#characters(line, this.#last?.encoding ?? "utf8");
    return characters === undefined
      ? this.line(line).toString("latin1", from, to)
      : characters.slice(from, to).join("");
  }

  #characters(line: number, encoding: PositionEncoding): LineCharacters {
    if (this.#last?.line !== line || this.#last.encoding !== encoding)
      this.#last = readCharacters(line, this.line(line), encoding);
    return this.#last;
  }
}

interface LineCharacters {
  readonly line: number;
  readonly encoding: PositionEncoding;
  readonly byteCount: number;
  /** Undefined for ASCII, in which a character is a byte. */
  readonly characters: readonly string[] | undefined;
  /** Where each of them begins, and where the last one ends, counted in the encoding; empty for ASCII. */
  readonly units: readonly number[];
}

function readCharacters(line: number, bytes: Buffer, encoding: PositionEncoding): LineCharacters {
  const shared = { line, encoding, byteCount: bytes.length };
  if (isAscii(bytes)) return { ...shared, characters: undefined, units: [] };
  const characters = [...bytes.toString("utf8")];
  const units = [0];
  let at = 0;
  for (const character of characters) {
    at += encoding === "utf32" ? 1 : encoding === "utf16" ? character.length : Buffer.byteLength(character);
    units.push(at);
  }
  return { ...shared, characters, units };
}
