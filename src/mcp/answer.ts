/** Something that an answer does not contain, although it belongs to what was asked for. */
export interface Exclusion {
  /** For programs: `max_bytes`, `limit`, or the reason of a search. */
  readonly reason: string;
  /** What is left out, and how to get it. */
  readonly message: string;
}

/** What a tool found. */
export interface Answer {
  /** Members of the answer before the list. */
  readonly head: Readonly<Record<string, unknown>>;
  /** Name of the list, such as `results`; undefined if the answer has none. */
  readonly listName?: string;
  readonly items?: readonly unknown[];
  readonly excluded: readonly Exclusion[];
  /** Whether the same call has the same answer as long as the catalog does not change. */
  readonly isRepeatable?: boolean;
}

/** Bounds of `max_bytes`: the text is written on the main thread, and once more as a part of the response. */
export const bytesMin = 1_000;
export const bytesMax = 256 << 10;
export const bytesDefault = 64 << 10;

/** Kept for what is left out, and for punctuation. */
const restBytes = 300;

/** Items written in one step. */
const itemsOfStep = 50;

/**
 * The answer as JSON of at most `maxBytes`, except for a long head or list of what is left out: the first items that fit,
 * and in `completeness` everything that is missing.
 */
export function* writeAnswerInSteps(
  { head, listName, items = [], excluded }: Answer,
  maxBytes: number,
): Generator<void, string> {
  const headText = JSON.stringify(head).slice(1, -1);
  const left = [...excluded];
  let room = maxBytes - Buffer.byteLength(headText) - Buffer.byteLength(JSON.stringify(left)) - restBytes;
  const texts: string[] = [];
  for (const item of items) {
    const text = JSON.stringify(item);
    room -= Buffer.byteLength(text) + 1;
    if (room < 0) break;
    texts.push(text);
    if (texts.length % itemsOfStep === 0) yield;
  }
  if (texts.length < items.length)
    left.push({
      reason: "max_bytes",
      message: `${items.length - texts.length} of ${items.length} ${listName} are left out, because the answer would have more than ${maxBytes} bytes: ask for less, or raise max_bytes`,
    });
  const completeness = JSON.stringify({ complete: left.length === 0, excluded: left });
  const list = listName === undefined ? [] : [`"${listName}":[${texts.join(",")}]`];
  return `{${[...(headText === "" ? [] : [headText]), ...list, `"completeness":${completeness}`].join(",")}}`;
}
