import type { BaseRevisions } from "../../model/match-change.js";
import type { Omission, ReceiptPage, ReceiptRepository } from "../../model/stream-events.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { ResultDigest } from "../../native/kernel/result-digest.js";

/** What was left out for one reason. Items are made when they are asked for, because there may be a million. */
export interface OmissionGroup {
  readonly count: number;
  /** Whether it may have contained a result that the query asks for. */
  readonly isGap: boolean;
  readonly reason: string;
  /** The item with this index, of `count`; undefined if only its number is known. */
  item(index: number): Omission | undefined;
}

/** What one source covers in a search: its part of the receipt. Its lists stay at the source, which is asked for pages. */
export interface ReceiptPart {
  /** The sum of hashes of what it searched; those of several sources are added. */
  readonly generation: ResultDigest;
  readonly documentCount: number;
  /** What it left out; no reason twice. */
  readonly groups: readonly OmissionGroup[];
  repositories(from: number, count: number): ReceiptPage<ReceiptRepository>;
  /** All revisions, as the base of a search for changes. */
  revisions(): BaseRevisions;
  /** Whether all repositories that it names are in the table of a viewer. */
  isVisibleIn(table: Pick<RepositoryTable, "id" | "byId" | "byName">): boolean;
}

export function listOmissions<T>(
  reason: string,
  all: readonly T[],
  describe: (one: T) => Omit<Omission, "reason">,
): OmissionGroup {
  return { reason, count: all.length, isGap: true, item: (i) => ({ reason, ...describe(all[i]) }) };
}

/** The reasons in their fixed order; those of files without a searchable text follow, by name. */
const reasons = [
  "match-limit",
  "display-limit",
  "timeout",
  "repository-missing",
  "repository-cloning",
  "repository-excluded",
  "revision-missing",
  "budget",
  "failure",
  "costly",
  "symbols-failed",
  "history",
  "history-cut",
  "repository-quarantined",
  "objects-missing",
  "symbols",
  "fork",
  "archived",
];

/** The groups of all lists that are not empty, each reason once and in order; the items of the first list come first. */
export function mergeOmissions(lists: readonly (readonly OmissionGroup[])[]): OmissionGroup[] {
  const byReason = new Map<string, OmissionGroup>();
  for (const group of lists.flat()) {
    if (group.count === 0) continue;
    const known = byReason.get(group.reason);
    byReason.set(group.reason, known === undefined ? group : joinGroups(known, group));
  }
  return [...byReason.values()].sort((a, b) => rank(a) - rank(b) || (a.reason < b.reason ? -1 : 1));
}

function rank({ reason }: OmissionGroup): number {
  const index = reasons.indexOf(reason);
  return index < 0 ? reasons.length : index;
}

function joinGroups(a: OmissionGroup, b: OmissionGroup): OmissionGroup {
  return {
    reason: a.reason,
    count: a.count + b.count,
    isGap: a.isGap || b.isGap,
    item: (i) => (i < a.count ? a.item(i) : b.item(i - a.count)),
  };
}

/** A page of a list that consists of those of several sources. */
export function joinPages<Item>(
  pages: readonly ((from: number, count: number) => ReceiptPage<Item>)[],
  from: number,
  count: number,
): ReceiptPage<Item> {
  const items: Item[] = [];
  let first = 0;
  for (const page of pages) {
    const part = page(Math.max(0, from - first), count - items.length);
    items.push(...part.items);
    first += part.count;
  }
  return { count: first, items };
}
