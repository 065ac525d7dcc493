/** A highlighted part of one line of a text: line from 0, start and length in code points. */
export type HighlightRange = readonly [line: number, character: number, length: number];

/** The text of a result, without the fence that clients expect around it, and the matches in it. */
export interface HistoryText {
  /** Empty for a message, of which the shard has the bytes. */
  readonly text: string;
  readonly ranges: readonly HighlightRange[];
  /** The ranges, including those of lines that are not in the text because it would be too long. */
  readonly matchCount: number;
  /** Whether a part of the text or some ranges were left out. */
  readonly isCut: boolean;
}

/** Number of code points in UTF-8 text; each byte that is not part of valid UTF-8 counts as one. */
export function codePoints(bytes: Buffer): number {
  const text = bytes.toString("utf8");
  let count = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit >= 0xd800 && unit < 0xdc00) count--;
  }
  return count;
}
