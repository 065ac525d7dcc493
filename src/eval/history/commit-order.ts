import type { HistoryReader } from "../../history/history-reader.js";

/** Null if the commits are in order already. Valid as long as the readers. */
const known = new WeakMap<HistoryReader, Uint32Array | null>();

/**
 * The order of results: descending by committer date, ascending by oid where dates are equal. It does not depend on how
 * a history is divided into shards. Undefined if the commits of the shard are in this order, which is usual.
 */
export function commitOrder(reader: HistoryReader): Uint32Array | undefined {
  let order = known.get(reader);
  if (order === undefined) known.set(reader, (order = isOrdered(reader) ? null : sortCommits(reader)));
  return order ?? undefined;
}

function isOrdered(reader: HistoryReader): boolean {
  for (let commit = 1; commit < reader.commitCount; commit++)
    if (compareCommits(reader, commit - 1, reader, commit) >= 0) return false;
  return true;
}

function sortCommits(reader: HistoryReader): Uint32Array {
  return Uint32Array.from({ length: reader.commitCount }, (_, i) => i).sort((a, b) =>
    compareCommits(reader, a, reader, b),
  );
}

/** Negative if commit `a` of one shard comes before commit `b` of another. */
export function compareCommits(readerA: HistoryReader, a: number, readerB: HistoryReader, b: number): number {
  const byDate = readerB.committerDates[b] - readerA.committerDates[a];
  if (byDate !== 0) return byDate;
  const { oids, oidBytes } = readerB;
  return readerA.oids.compare(oids, b * oidBytes, (b + 1) * oidBytes, a * oidBytes, (a + 1) * oidBytes);
}
