import type { AddedRecords, RepositoryChange } from "../catalog/catalog-change.js";
import type { Repository } from "../model/repository.js";
import type { RecordChange, Records } from "../store/records.js";

const prefix = "notification-journal/";
/** Above every number that was ever used, so that numbers ascend even when the journal is empty. */
const counterKey = "notification-journal-counter";
const counterStep = 1_000;

/** More changes than saved searches can be behind; then the oldest are forgotten, and the searches told. */
const entriesMax = 50_000;

/** A repository became searchable at other commits. */
export interface JournalEntry {
  readonly number: number;
  readonly repositoryId: number;
  /** The default branch before this change; "" if there was none. */
  readonly defaultBranch: string;
  /** The indexed branches before this change. */
  readonly branches: readonly (readonly [name: string, commit: string])[];
}

/** What is stored beside the entries. */
interface Counters {
  /** Numbers below this one may be used without storing another limit. */
  readonly limit: number;
  /** The number of the last entry that was removed because there were too many. */
  readonly forgotten: number;
}

/**
 * From which commits repositories have changed, in the order of the changes, while a saved search is told of them.
 *
 * An entry is stored in the transaction of its change, so none is missing after a crash. A saved search is at some
 * number: what it has to compare are the repositories of the later entries, with the commits of the first entry of each.
 */
export class ChangeJournal {
  readonly #store: Pick<Records, "get" | "batchesWithPrefix">;
  readonly #isWanted: () => boolean;
  /** Ascending. */
  #entries: JournalEntry[] = [];
  /** The number of the last entry that is durable and visible. */
  #last = 0;
  #next = 1;
  #counters: Counters = { limit: 1, forgotten: 0 };
  /** Called when there are more entries. */
  onChange: () => void = () => undefined;

  /** `isWanted` says whether there are saved searches to be told of changes. */
  constructor(store: Pick<Records, "get" | "batchesWithPrefix">, isWanted: () => boolean) {
    this.#store = store;
    this.#isWanted = isWanted;
  }

  /** Loads the stored entries, in steps. */
  *load(): Generator<void, void> {
    const counters = this.#store.get(counterKey);
    if (counters !== undefined) this.#counters = JSON.parse(counters.toString()) as Counters;
    this.#next = this.#counters.limit;
    this.#last = this.#next - 1;
    for (const batch of this.#store.batchesWithPrefix(prefix)) {
      for (const { value } of batch) this.#entries.push(JSON.parse(value.toString()) as JournalEntry);
      yield;
    }
  }

  /** The number of the last change that searches see; later ones have larger numbers. */
  get position(): number {
    return this.#last;
  }

  get count(): number {
    return this.#entries.length;
  }

  /** Whether entries after this number have been forgotten. */
  isIncompleteAfter(number: number): boolean {
    return number < this.#counters.forgotten;
  }

  after(number: number): readonly JournalEntry[] {
    // Searches are usually behind by a few entries.
    let from = this.#entries.length;
    while (from > 0 && this.#entries[from - 1].number > number) from--;
    return this.#entries.slice(from);
  }

  /** For `Catalog.onStaging`. */
  stage(changed: readonly RepositoryChange[]): AddedRecords | undefined {
    if (!this.#isWanted()) return undefined;
    const added: JournalEntry[] = [];
    for (const { before, after } of changed) {
      if (!hasSameCommits(before, after)) added.push(toEntry(this.#next++, after.id, before));
    }
    if (added.length === 0) return undefined;
    const dropped = this.#entries.slice(0, Math.max(0, this.#entries.length + added.length - entriesMax));
    const counters = {
      limit: this.#next > this.#counters.limit ? this.#next + counterStep : this.#counters.limit,
      forgotten: dropped.at(-1)?.number ?? this.#counters.forgotten,
    };
    const records = [...added.map(toRecord), ...dropped.map(toRemoval), toCounterRecord(counters)];
    return { records, show: () => this.#show(added, dropped.length, counters) };
  }

  /** The records that remove what no search needs any more, and what to call when they are removed. */
  removingUpTo(number: number): AddedRecords {
    const removed = this.#entries.filter((entry) => entry.number <= number);
    return {
      records: removed.map(toRemoval),
      show: () => {
        this.#entries = this.#entries.filter((entry) => entry.number > number);
      },
    };
  }

  #show(added: readonly JournalEntry[], droppedCount: number, counters: Counters): void {
    this.#counters = counters;
    this.#entries = [...this.#entries.slice(droppedCount), ...added];
    this.#last = added[added.length - 1].number;
    this.onChange();
  }
}

/** The commits by all names of an indexed branch that a query may use: see `bitOfRevision`. */
export function commitsBefore({ defaultBranch, branches }: JournalEntry): Map<string, string> {
  return new Map(
    branches.flatMap(([name, commit]) => {
      const names = [name, `refs/heads/${name}`, ...(name === defaultBranch ? ["", "HEAD"] : [])];
      return names.map((one) => [one, commit] as const);
    }),
  );
}

function toEntry(number: number, repositoryId: number, before: Repository | undefined): JournalEntry {
  const branches = (before?.indexedBranches ?? []).map(({ name, commit }) => [name, commit] as const);
  return { number, repositoryId, defaultBranch: before?.defaultBranch ?? "", branches };
}

function toCounterRecord(counters: Counters): RecordChange {
  return { key: counterKey, value: Buffer.from(JSON.stringify(counters)) };
}

function toRecord(entry: JournalEntry): RecordChange {
  return { key: recordKey(entry), value: Buffer.from(JSON.stringify(entry)) };
}

function toRemoval(entry: JournalEntry): RecordChange {
  return { key: recordKey(entry), value: undefined };
}

/** Keys are in the order of their digits. */
function recordKey({ number }: JournalEntry): string {
  return `${prefix}${String(number).padStart(16, "0")}`;
}

function hasSameCommits(before: Repository | undefined, after: Repository): boolean {
  if (before === undefined) return after.indexedBranches.length === 0;
  return (
    before.defaultBranch === after.defaultBranch &&
    before.indexedBranches.length === after.indexedBranches.length &&
    before.indexedBranches.every(({ name, commit }) =>
      after.indexedBranches.some((other) => other.name === name && other.commit === commit),
    )
  );
}
