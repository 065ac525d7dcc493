import type { HistoryKind } from "../query/plan/plan.js";
import { toJson } from "../base/text.js";
import type { StreamMatch } from "../model/stream-events.js";

/** One result, encoded for the client. */
export interface FoundCommit {
  readonly kind: HistoryKind;
  readonly oid: string;
  /** Unix seconds. */
  readonly committed: number;
  /** Number of matches, at least 1. */
  readonly matchCount: number;
  /** The same by result options: several of them may have found some of the matches. */
  readonly matches: readonly OptionMatches[];
  readonly authorName: string;
  readonly authorEmail: string;
  /** Ranges of the match object. */
  readonly rangeCount: number;
  /** The match object in JSON: `[from, to)` of the bytes of the page. */
  readonly json: Uint8Array;
  readonly from: number;
  readonly to: number;
}

export interface OptionMatches {
  readonly optionsIndex: number;
  readonly count: number;
}

/**
 * Results as one message of a worker: columns, because an object for each result takes several times as long to send and
 * to collect as the result takes to be found.
 */
export interface CommitPage {
  /** One after another; all have the same length. */
  readonly oids: string;
  readonly areDiffs: Uint8Array;
  readonly committed: Float64Array;
  readonly rangeCounts: Uint32Array;
  readonly matchCounts: Uint32Array;
  /** Indexes of `authors`. */
  readonly authorNumbers: Uint32Array;
  readonly authors: readonly Author[];
  /** The result options of all results; undefined if they differ: then `matches` has an element for each result. */
  readonly optionsIndex: number | undefined;
  readonly matches: readonly (readonly OptionMatches[])[];
  /** Match objects in JSON, each followed by a comma; those before object i end at `ends[i - 1]`. */
  readonly json: Uint8Array;
  readonly ends: Uint32Array;
}

export interface Author {
  readonly name: string;
  readonly email: string;
}

/** Collects the results of a page. */
export class CommitPageWriter {
  #oids = "";
  readonly #areDiffs: number[] = [];
  readonly #committed: number[] = [];
  readonly #rangeCounts: number[] = [];
  readonly #matchCounts: number[] = [];
  readonly #authorNumbers: number[] = [];
  readonly #authors: Author[] = [];
  readonly #numberOf = new Map<string, number>();
  #optionsIndex: number | undefined;
  readonly #matches: (readonly OptionMatches[])[] = [];
  readonly #ends: number[] = [];

  /** Adds a result whose match object, with a comma after it, ends at `end`. */
  add(found: Omit<FoundCommit, "json" | "from" | "to">, end: number): void {
    this.#oids += found.oid;
    this.#areDiffs.push(found.kind === "diff" ? 1 : 0);
    this.#committed.push(found.committed);
    this.#rangeCounts.push(found.rangeCount);
    this.#matchCounts.push(found.matchCount);
    this.#authorNumbers.push(this.#numberAuthor(found.authorName, found.authorEmail));
    this.#addMatches(found.matches);
    this.#ends.push(end);
  }

  page(json: Uint8Array): CommitPage {
    return {
      oids: this.#oids,
      areDiffs: Uint8Array.from(this.#areDiffs),
      committed: Float64Array.from(this.#committed),
      rangeCounts: Uint32Array.from(this.#rangeCounts),
      matchCounts: Uint32Array.from(this.#matchCounts),
      authorNumbers: Uint32Array.from(this.#authorNumbers),
      authors: this.#authors,
      optionsIndex: this.#matches.length === 0 ? this.#optionsIndex : undefined,
      matches: this.#matches,
      json,
      ends: Uint32Array.from(this.#ends),
    };
  }

  #numberAuthor(name: string, email: string): number {
    const key = `${email}\0${name}`;
    let number = this.#numberOf.get(key);
    if (number === undefined) {
      this.#numberOf.set(key, (number = this.#authors.length));
      this.#authors.push({ name, email });
    }
    return number;
  }

  /** Most results have all their matches by the same options. */
  #addMatches(matches: readonly OptionMatches[]): void {
    const known = this.#matchCounts.length - 1;
    if (known === 0) this.#optionsIndex = matches[0].optionsIndex;
    const isUsual =
      matches.length === 1 &&
      matches[0].optionsIndex === this.#optionsIndex &&
      matches[0].count === this.#matchCounts[known];
    if (isUsual && this.#matches.length === 0) return;
    while (this.#matches.length < known)
      this.#matches.push([{ optionsIndex: this.#optionsIndex ?? 0, count: this.#matchCounts[this.#matches.length] }]);
    this.#matches.push(matches);
  }
}

/** The results of a page. */
export function readPage({ oids, authors, optionsIndex, matches, json, ends, ...columns }: CommitPage): FoundCommit[] {
  const results: FoundCommit[] = [];
  const oidLength = oids.length / ends.length;
  for (let i = 0; i < ends.length; i++) {
    const { name, email } = authors[columns.authorNumbers[i]];
    const matchCount = columns.matchCounts[i];
    results.push({
      kind: columns.areDiffs[i] === 1 ? "diff" : "commit",
      oid: oids.slice(i * oidLength, (i + 1) * oidLength),
      committed: columns.committed[i],
      matchCount,
      matches: optionsIndex === undefined ? matches[i] : [{ optionsIndex, count: matchCount }],
      authorName: name,
      authorEmail: email,
      rangeCount: columns.rangeCounts[i],
      json,
      from: i === 0 ? 0 : ends[i - 1],
      to: ends[i] - 1,
    });
  }
  return results;
}

/** The match object with at most this many ranges. */
export function cutCommitMatch({ json, from, to, rangeCount }: FoundCommit, rangeCountMax: number): Uint8Array {
  const whole = json.subarray(from, to);
  if (rangeCount <= rangeCountMax) return whole;
  const match = JSON.parse(Buffer.from(whole).toString("utf8")) as StreamMatch;
  return Buffer.from(toJson({ ...match, ranges: match.ranges?.slice(0, rangeCountMax) }));
}
