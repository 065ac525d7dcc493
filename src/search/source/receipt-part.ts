import type { BaseRevisions } from "../../model/match-change.js";
import type { Omission, ReceiptPage, ReceiptRepository } from "../../model/stream-events.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import { emptyDigest, type ResultDigest } from "../../native/kernel/result-digest.js";

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
  /** All revisions, as the base of a search for changes. Throws `bad-request` if the source has told only some of them. */
  revisions(): BaseRevisions;
  /** Repositories and revisions that are kept only for this receipt, as `countListed` counts them. */
  readonly listedCount: number;
  /** Whether it is of another node, which alone knows who may see its repositories. */
  readonly isOfNode: boolean;
  /** Whether all repositories that it names are in the table of a viewer. */
  isVisibleIn(table: Pick<RepositoryTable, "id" | "byId" | "byName">): boolean;
}

/** UTF-16 units that take about as much memory as a revision with a short name. */
const unitsOfListed = 128;

/** Revisions, of which a repository without any counts as one, and as many more as their names are long. */
export function countListed(revisionCount: number, units: number): number {
  return revisionCount + Math.floor(units / unitsOfListed);
}

/**
 * What an earlier search has covered, and a lost node may have: it is in the receipt so that the next search compares with it. Its
 * generation is not known.
 */
export function untoldPart(base: BaseRevisions): ReceiptPart {
  const all = [...base];
  let [count, units] = [0, 0];
  for (const [repository, revisions] of all) {
    count += Math.max(1, revisions.size);
    units += repository.length;
    for (const [revision, commit] of revisions) units += revision.length + commit.length;
  }
  const describe = ([repository, revisions]: (typeof all)[number]): ReceiptRepository => ({
    repository,
    generation: 0,
    revisions: [...revisions].map(([revision, commit]) => ({ revision, commit })),
  });
  return {
    generation: emptyDigest(),
    documentCount: 0,
    groups: [],
    repositories: (from, countMax) => ({ count: all.length, items: all.slice(from, from + countMax).map(describe) }),
    revisions: () => base,
    listedCount: countListed(count, units),
    isOfNode: true,
    isVisibleIn: () => false,
  };
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
