import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { BaseRevisions } from "../../model/match-change.js";
import type { Omission, Receipt, ReceiptPage, ReceiptRepository } from "../../model/stream-events.js";
import { addDigest, emptyDigest, printDigest, type ResultDigest } from "../../native/kernel/result-digest.js";
import { joinPages, mergeOmissions, type OmissionGroup, type ReceiptPart } from "../source/receipt-part.js";

/** Items of each list in the event. */
const eventItemsMax = 100;

/** What the root of a search adds to the receipt of its sources. */
export interface ReceiptRoot {
  readonly omissions: readonly OmissionGroup[];
  readonly digest: ResultDigest;
  readonly digestedMatches: number;
  readonly matchCount: number;
}

/** The receipt of a search that has ended: what it searched, what it left out, and the digest of its results. */
export class SearchReceipt {
  readonly #root: ReceiptRoot;
  readonly #parts: readonly ReceiptPart[];
  readonly #groups: readonly OmissionGroup[];

  /** `parts` are those of the sources, in their order. */
  constructor(root: ReceiptRoot, parts: readonly ReceiptPart[]) {
    this.#root = root;
    this.#parts = parts;
    this.#groups = mergeOmissions([root.omissions, ...parts.map(({ groups }) => groups)]);
  }

  get isComplete(): boolean {
    return this.#groups.every(({ isGap }) => !isGap);
  }

  /** Why something was left out, each once. */
  get reasons(): readonly string[] {
    return this.#groups.map(({ reason }) => reason);
  }

  /** A sentence for people: what was left out. */
  get gaps(): string {
    const gaps = this.#groups.filter(({ isGap }) => isGap).map(({ reason, count }) => `${reason} (${count})`);
    return `the search is incomplete: ${gaps.join(", ")}; its receipt lists what was left out`;
  }

  /** The receipt with the first items of its lists. */
  summary(url: string): Receipt {
    const { digest, digestedMatches, matchCount } = this.#root;
    return {
      url,
      generation: this.#generation(),
      complete: this.isComplete,
      matchCount,
      documentsSearched: this.#parts.reduce((sum, { documentCount }) => sum + documentCount, 0),
      digest: printDigest(digest),
      digestedMatches,
      repositories: this.repositories(0, eventItemsMax),
      excluded: this.excluded(0, eventItemsMax),
      excludedByReason: Object.fromEntries(this.#groups.map(({ reason, count }) => [reason, count])),
    };
  }

  #generation(): string {
    const sum = emptyDigest();
    for (const { generation } of this.#parts) addDigest(sum, generation);
    return printDigest(sum);
  }

  repositories(from: number, count: number): ReceiptPage<ReceiptRepository> {
    const pages = this.#parts.map((part) => (at: number, countMax: number) => part.repositories(at, countMax));
    return joinPages(pages, from, count);
  }

  /** Whether all repositories that it names are in the table of a viewer. */
  isVisibleIn(table: Pick<RepositoryTable, "id" | "byId" | "byName">): boolean {
    return this.#parts.every((part) => part.isVisibleIn(table));
  }

  /** Whether it is of several nodes. */
  get isOfNodes(): boolean {
    return this.#parts.some(({ isOfNode }) => isOfNode);
  }

  /** Repositories and revisions that are kept only for it. */
  get listedCount(): number {
    return this.#parts.reduce((sum, part) => sum + part.listedCount, 0);
  }

  /** All revisions, as the base of a search for changes. Throws `bad-request` if nodes have told only some of them. */
  revisions(): BaseRevisions {
    return this.#parts.length === 1
      ? this.#parts[0].revisions()
      : new Map(this.#parts.flatMap((part) => [...part.revisions()]));
  }

  excluded(from: number, count: number): ReceiptPage<Omission> {
    const items: Omission[] = [];
    let first = 0;
    for (const group of this.#groups) {
      for (let i = Math.max(0, from - first); i < group.count && items.length < count; i++) {
        const item = group.item(i);
        if (item === undefined) break;
        items.push(item);
      }
      first += group.count;
    }
    return { count: first, items };
  }
}
