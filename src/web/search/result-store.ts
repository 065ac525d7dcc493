import type { StreamMatch } from "../../model/stream-events.js";

/** Results per group. A group is rendered and removed as a whole. */
const groupResultsMax = 20;

/** The text of the first results stays in the tab; what follows goes to blobs, which the browser keeps outside of it. */
const textLengthMax = 8 << 20;
const blobBytesMin = 1 << 20;

/** Consecutive results. Their JSON is text, or a part of a blob. */
interface Group {
  count: number;
  texts: string[];
  blob: Blob | undefined;
  from: number;
  to: number;
}

/** An element of an array of matches begins with this. In a text of JSON its quotation marks would be escaped. */
const nextMatch = ',{"type":"';

/**
 * The results of one search in the order of their arrival: a million of them, in bounded memory. They are kept as the
 * JSON that arrived, in groups, and parsed again when a group is shown.
 */
export class ResultStore {
  readonly #groups: Group[] = [];
  /** Groups whose text waits for the next blob. */
  #waiting: Group[] = [];
  #waitingLength = 0;
  #textLength = 0;
  #resultCount = 0;

  get groupCount(): number {
    return this.#groups.length;
  }

  get resultCount(): number {
    return this.#resultCount;
  }

  /** The number of results of a group. */
  countOf(index: number): number {
    return this.#groups[index]?.count ?? 0;
  }

  /** Adds the array of a `matches` event, as JSON. */
  add(data: string): void {
    for (let from = 1; from < data.length - 1; ) {
      const next = data.indexOf(nextMatch, from + 1);
      const to = next < 0 ? data.length - 1 : next;
      this.#addOne(data.slice(from, to));
      from = to + 1;
    }
    if (this.#waitingLength >= blobBytesMin) this.#moveToBlob();
  }

  #addOne(text: string): void {
    const isKept = this.#textLength < textLengthMax;
    let group = this.#groups.at(-1);
    if (group === undefined || group.count >= groupResultsMax || group.blob !== undefined) {
      group = { count: 0, texts: [], blob: undefined, from: 0, to: 0 };
      this.#groups.push(group);
      if (!isKept) this.#waiting.push(group);
    }
    group.texts.push(text);
    group.count++;
    this.#resultCount++;
    if (isKept) this.#textLength += text.length;
    else this.#waitingLength += text.length;
  }

  #moveToBlob(): void {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    const encoder = new TextEncoder();
    let at = 0;
    for (const group of this.#waiting) {
      const bytes = encoder.encode(group.texts.join(","));
      parts.push(bytes);
      group.from = at;
      at += bytes.length;
      group.to = at;
      group.texts = [];
    }
    const blob = new Blob(parts);
    for (const group of this.#waiting) group.blob = blob;
    this.#waiting = [];
    this.#waitingLength = 0;
  }

  /** Results of a group, at most `count` from the one with this index on; a promise of all of them if they are in a blob. */
  read(index: number, from: number, count: number): readonly StreamMatch[] | Promise<readonly StreamMatch[]> {
    const group = this.#groups[index];
    if (group === undefined) return [];
    if (group.blob === undefined) return parse(group.texts.slice(from, from + count).join(","));
    return group.blob.slice(group.from, group.to).text().then(parse);
  }
}

function parse(text: string): readonly StreamMatch[] {
  return JSON.parse(`[${text}]`) as StreamMatch[];
}
