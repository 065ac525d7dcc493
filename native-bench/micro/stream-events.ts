import { uninitializedBytes } from "../../src/base/bytes.js";
import type { Kernel } from "../../src/kernel/kernel.js";
import type { ShardReader } from "../../src/shard/shard-reader.js";
import {
  bufferBytes,
  chunkMatches,
  exhaustiveBatchBytes,
  findMatches,
  lineMatches,
  writtenBatches,
  type FoundMatches,
  type MatchForm,
} from "./matches.js";

/**
 * What the servers of event streams send. Server and client make the same of the same text.
 *
 * `ready`: events of one size that are finished before the first request, sixteen of them again and again.
 * `found`: all matches of a word, which are not written as JSON before they are asked for.
 */
export interface StreamEvents {
  readonly ready: readonly ReadyEvents[];
  readonly found: Readonly<Record<FoundName, FoundEvents>>;
}

export type FoundName = "lines" | "chunks";

export interface ReadyEvents {
  /** Of the `matches` array, JSON, comma-separated: those of one event. */
  readonly elements: readonly Buffer[];
  readonly matchCount: number;
}

export interface FoundEvents {
  readonly matches: FoundMatches;
  readonly form: MatchForm;
  readonly matchCount: number;
}

/** Bytes of an event: the first of a search, and the batches of interactive and of exhaustive ones. */
export const readySizes = [1024, 32 * 1024, exhaustiveBatchBytes];
const readyCount = 16;

const needle = "return";

export function makeEvents(kernel: Kernel, reader: ShardReader): StreamEvents {
  const matches = findMatches(kernel, reader, needle);
  const matchCount = matches.rows.length / 2;
  return {
    ready: readySizes.map((bytes) => readyEvents(kernel, matches, bytes)),
    found: { lines: { matches, form: lineMatches, matchCount }, chunks: { matches, form: chunkMatches, matchCount } },
  };
}

function readyEvents(kernel: Kernel, matches: FoundMatches, bytes: number): ReadyEvents {
  const elements: Buffer[] = [];
  let matchCount = 0;
  for (const batch of writtenBatches(kernel, matches, lineMatches, Math.floor(0.9 * bytes), () =>
    uninitializedBytes(bytes),
  )) {
    if (elements.push(batch.bytes) > readyCount) break;
    matchCount += batch.matchCount;
  }
  return { elements: elements.slice(0, readyCount), matchCount };
}

/** The matches as an exhaustive search batches them. */
export function foundBatches(kernel: Kernel, { matches, form }: FoundEvents, bufferOf: () => Buffer) {
  return writtenBatches(kernel, matches, form, exhaustiveBatchBytes, bufferOf);
}

export function newBuffer(): Buffer {
  return uninitializedBytes(bufferBytes);
}
