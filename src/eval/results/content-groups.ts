import { mixBits } from "../../base/text.js";
import {
  type BatchContents,
  ContentClaims,
  claimKeyWords,
  contentRecordsMax,
  contentRecordWords,
  hashWithSeed,
  setClaimKey,
  writeContentKey,
} from "../../protocol/content-claims.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { Rows } from "../match/rows.js";
import type { ResultSource } from "../match/blocks.js";

/** What a result has in common with those of the same blob and matches. */
export interface ContentGroup {
  /** The member `contentKey` of match objects. */
  readonly key: string;
  /** Whether this result has the matches, which the others refer to. */
  readonly isFirst: boolean;
}

const noRecords = new Int32Array(0);

/**
 * Groups the results of a search by the blob and the matches in it, for `duplicates=1`: the first of each group is
 * written in full, the others as the path where the same is found.
 *
 * Sound: results of a group have the same text and the same ranges in it, relative to its start, so what is left out
 * of the others is what the first one has.
 */
export class ContentGroups {
  readonly #claims: ContentClaims;
  readonly #control: ControlBlock;
  readonly #tells: boolean;
  readonly #key = new Int32Array(claimKeyWords);
  /** Of what was counted since the last batch, if batches tell of it. */
  #records = noRecords;
  #recordWords = 0;
  #copyCount = 0;
  #copyMatches = 0;

  /** `tells` says whether batches tell of the contents. */
  constructor(memory: SharedArrayBuffer, control: ControlBlock, tells: boolean) {
    this.#claims = new ContentClaims(memory);
    this.#control = control;
    this.#tells = tells;
  }

  /** The group of a result with the rows `[rowFrom, rowTo)`. */
  find(reader: ShardReader, source: ResultSource, rows: Rows, rowFrom: number, rowTo: number): ContentGroup {
    const { document, content } = source;
    const oid = reader.oid(document);
    const start = content < reader.contentCount && rowTo > rowFrom ? reader.contentStart[content] : 0;
    const matches = hashRows(rows.words, rowFrom, rowTo, start);
    setClaimKey(this.#key, oid, matches);
    const isFirst = this.#claims.claim(this.#key, findOwner(reader, source));
    return { key: writeContentKey(oid, matches), isFirst };
  }

  /** Whether a batch has as many records as it may have. */
  get isFull(): boolean {
    return this.#recordWords === contentRecordsMax * contentRecordWords;
  }

  /** Counts the result that was found last, with the matches that it has; of the first one, with those that the limit leaves. */
  count({ isFirst }: ContentGroup, matchCount: number): void {
    if (isFirst) {
      if (this.#tells) this.#record(matchCount);
      return;
    }
    this.#copyCount++;
    this.#copyMatches += matchCount;
    this.#control.addDuplicates(1, matchCount);
  }

  #record(matchCount: number): void {
    const at = this.#recordWords;
    if (at === this.#records.length) {
      const larger = new Int32Array(Math.max(64 * contentRecordWords, 2 * at));
      larger.set(this.#records);
      this.#records = larger;
    }
    this.#records.set(this.#key, at);
    this.#records[at + claimKeyWords] = matchCount;
    this.#recordWords += contentRecordWords;
  }

  /** What a batch tells of what was counted since the last one; undefined if nobody asks. */
  take(): BatchContents | undefined {
    if (!this.#tells) return undefined;
    const records = this.#records.slice(0, this.#recordWords);
    const contents = { records, copyCount: this.#copyCount, copyMatches: this.#copyMatches };
    this.#recordWords = 0;
    this.#copyCount = 0;
    this.#copyMatches = 0;
    return contents;
  }
}

function findOwner(reader: ShardReader, { document, summary, revision }: ResultSource): readonly [number, number] {
  const text = `${summary.id}@${revision.typed}:${reader.path(document).toString("latin1")}`;
  return [hashWithSeed(text, 1), hashWithSeed(text, 2)];
}

function hashRows(words: Uint32Array, rowFrom: number, rowTo: number, start: number): number {
  let hash = rowTo - rowFrom;
  for (let i = 2 * rowFrom; i < 2 * rowTo; i++) hash = mixBits(hash + (words[i] - start));
  return hash >>> 0;
}
