import { mixBits } from "../../base/text.js";
import { ContentClaims, claimKeyWords } from "../../protocol/content-claims.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { ShardReader } from "../../shard/shard-reader.js";
import type { Rows } from "../match/rows.js";
import type { ResultSource } from "../match/blocks.js";

/** What a result has in common with those of the same blob and matches. */
export interface ContentGroup {
  /** The oid of the blob and a hash of the matches in it, as the member `contentKey` of match objects. */
  readonly key: string;
  /** Whether this result has the matches, which the others refer to. */
  readonly isFirst: boolean;
}

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
  readonly #key = new Int32Array(claimKeyWords);

  constructor(memory: SharedArrayBuffer, control: ControlBlock) {
    this.#claims = new ContentClaims(memory);
    this.#control = control;
  }

  /** The group of a result with the rows `[rowFrom, rowTo)`. */
  find(reader: ShardReader, source: ResultSource, rows: Rows, rowFrom: number, rowTo: number): ContentGroup {
    const { document, content } = source;
    const oid = reader.oid(document);
    const start = content < reader.contentCount && rowTo > rowFrom ? reader.contentStart[content] : 0;
    const matches = hashRows(rows.words, rowFrom, rowTo, start);
    const key = this.#key;
    for (let i = 0; i < 4; i++) key[i] = Number.parseInt(oid.slice(8 * i, 8 * i + 8), 16);
    // A symbol's name and a range of the text may have the same offsets, but a search has only one kind of them.
    key[4] = hashText(oid.slice(32), matches);
    const isFirst = this.#claims.claim(key, findOwner(reader, source));
    return { key: `${oid}.${matches.toString(16).padStart(8, "0")}`, isFirst };
  }

  /** Counts a result that refers to another one, with the matches that it has. */
  count(matchCount: number): void {
    this.#control.addDuplicate(matchCount);
  }
}

function findOwner(reader: ShardReader, { document, summary, revision }: ResultSource): readonly [number, number] {
  const text = `${summary.id}@${revision.typed}:${reader.path(document).toString("latin1")}`;
  return [hashText(text, 1), hashText(text, 2)];
}

function hashRows(words: Uint32Array, rowFrom: number, rowTo: number, start: number): number {
  let hash = rowTo - rowFrom;
  for (let i = 2 * rowFrom; i < 2 * rowTo; i++) hash = mixBits(hash + (words[i] - start));
  return hash >>> 0;
}

function hashText(text: string, seed: number): number {
  let hash = mixBits(seed);
  for (let i = 0; i < text.length; i++) hash = mixBits(Math.imul(hash, 31) + text.charCodeAt(i));
  return hash | 0;
}
