import { toJson } from "../base/text.js";
import { BoundedMap } from "../base/bounded-map.js";
import { defaultBranchBit, type IndexedBranch, type Repository } from "../model/repository.js";

/**
 * What a match reports about its repository, for each repository of one shard, in shared memory: workers read it
 * without a message, and a search keeps the summaries of the generation that it began with.
 *
 * Layout in words: count n, then n + 1 byte offsets from the start, then the summaries as JSON. A hidden repository has
 * an empty summary: its documents in this shard are not searched.
 */
export interface RepositorySummary {
  readonly id: number;
  readonly name: string;
  readonly stars: number;
  readonly lastFetched: string;
  /** Bit of the default branch; -1 if it is not indexed. */
  readonly defaultBit: number;
  readonly branches: readonly IndexedBranch[];
}

/** Summaries are kept up to this many characters in total, in each thread: about a thousand. */
const parsedLengthMax = 256 * 1024;

/** The commit that is searched for this branch; "" if none. */
export function commitAtBit(summary: RepositorySummary, bit: number): string {
  return summary.branches.find((branch) => branch.bit === bit)?.commit ?? "";
}

/** When the indexed commit of the default branch was committed, in seconds since 1970; 0 if that is not known. */
export function defaultCommitSeconds({ branches, defaultBit }: RepositorySummary): number {
  return branches.find(({ bit }) => bit === defaultBit)?.committedSeconds ?? 0;
}

export function summarize(repository: Repository): RepositorySummary {
  return {
    id: repository.id,
    name: repository.name,
    stars: repository.stars,
    lastFetched: repository.lastFetched,
    defaultBit: defaultBranchBit(repository),
    branches: repository.indexedBranches,
  };
}

/** `repositories[i]` has number i in the shard; undefined if it is hidden. */
export function encodeSummaries(repositories: readonly (Repository | undefined)[]): Uint8Array {
  const summaries = repositories.map((repository) =>
    repository === undefined ? Buffer.alloc(0) : Buffer.from(toJson(summarize(repository))),
  );
  const headBytes = (summaries.length + 2) * 4;
  const byteCount = summaries.reduce((sum, summary) => sum + summary.length, headBytes);
  const shared = new Uint8Array(new SharedArrayBuffer(Math.ceil(byteCount / 4) * 4));
  const words = new Uint32Array(shared.buffer);
  words[0] = summaries.length;
  let at = headBytes;
  summaries.forEach((summary, i) => {
    words[i + 1] = at;
    shared.set(summary, at);
    at += summary.length;
  });
  words[summaries.length + 1] = at;
  return shared;
}

/** The summary of repository number `number`; undefined if it is hidden. */
export function decodeSummary(summaries: Uint8Array, number: number): RepositorySummary | undefined {
  const words = new Uint32Array(summaries.buffer, summaries.byteOffset, number + 3);
  const from = words[number + 1];
  const to = words[number + 2];
  if (from === to) return undefined;
  return parseSummary(Buffer.from(summaries.buffer, summaries.byteOffset + from, to - from));
}

/**
 * Parsed summaries by their JSON: a search reads the summary of a repository once for each of its shards, and the next
 * search reads them again.
 */
const parsed = new BoundedMap<string, { readonly json: string; readonly summary: RepositorySummary }>(
  parsedLengthMax,
  ({ json }) => json.length,
);

function parseSummary(bytes: Buffer): RepositorySummary {
  const json = bytes.toString();
  const known = parsed.get(json);
  if (known !== undefined) return known.summary;
  const summary = JSON.parse(json) as RepositorySummary;
  parsed.set(json, { json, summary });
  return summary;
}
