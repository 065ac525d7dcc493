import { deserializeError } from "../../base/errors.js";
import type { CommitList } from "../../git/history/commit-list.js";
import type { Repository } from "../../model/repository.js";
import type { BuildHistory, FoundCommit, HistoryPlanWithOptions } from "../../protocol/history-messages.js";
import type { HistoryContext } from "./history-context.js";
import type { HistoryGroup } from "./history-choice.js";
import { headerPlans, needsFiles } from "./header-plans.js";
import type { ResultPages } from "./merge-pages.js";

/** Commits that are read at a time: few at first, so that the first results come soon. */
const rangeCommitsFirst = 128;
const rangeCommitsMax = 4096;
/** The same without their changes. */
const rangeHeadersMax = 65_536;

/** Ranges that are read ahead. Each has up to 16 MiB of changes. */
const readAheadCount = 1;

/** Searches commits that are not indexed: they are read from the mirror, some at a time, newest first. */
export async function* readHistory(repository: Repository, group: HistoryGroup, context: HistoryContext): ResultPages {
  const { plans } = group;
  const { list, missing } = await context.lists.list(repository, group, context.reads, context.readLimits);
  for (const revision of missing) context.onMissingRevision(repository.name, `^${revision}`);
  const history = new UnindexedHistory(repository, list, plans, context);
  const ranges = makeRanges(list, plans);
  const reading: { readonly shards: Shards; readonly first: ReturnType<Shards["next"]> }[] = [];
  const readNext = (): void => {
    const range = ranges.next();
    if (range.done === true) return;
    const shards = history.read(range.value.from, range.value.to);
    const first = shards.next();
    // A failure is reported when its turn comes.
    first.catch(() => undefined);
    reading.push({ shards, first });
  };
  for (let i = 0; i <= readAheadCount; i++) readNext();
  for (let one = reading.shift(); one !== undefined; one = reading.shift()) {
    for (let shard = await one.first; shard.done !== true; shard = await one.shards.next()) {
      if (context.control.isStopped) return;
      yield* history.search(shard.value, plans);
    }
    readNext();
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** Ranges of the list, without commits whose date no plan accepts. */
function* makeRanges({ count, dates }: CommitList, plans: readonly HistoryPlanWithOptions[]): Generator<Range, void> {
  const before = Math.max(...plans.map(({ plan }) => plan.committedBefore ?? Infinity));
  const after = Math.min(...plans.map(({ plan }) => plan.committedAfter ?? -Infinity));
  const sizeMax = needsFiles(plans) ? rangeCommitsMax : rangeHeadersMax;
  let at = 0;
  let end = count;
  while (at < end && dates[at] >= before) at++;
  while (end > at && dates[end - 1] <= after) end--;
  for (let size = rangeCommitsFirst; at < end; size = Math.min(sizeMax, size * 4)) {
    const to = Math.min(end, at + size);
    yield { from: at, to };
    at = to;
  }
}

/** History shards, in the order of results. */
type Shards = AsyncGenerator<Uint8Array, void>;

/** Commits of one repository that are read from its mirror. */
class UnindexedHistory {
  readonly #repository: Repository;
  readonly #list: CommitList;
  readonly #needsFiles: boolean;
  /** What the headers of commits must satisfy before their changes are read; undefined if that excludes none. */
  readonly #headerPlans: readonly HistoryPlanWithOptions[] | undefined;
  readonly #context: HistoryContext;

  constructor(
    repository: Repository,
    list: CommitList,
    plans: readonly HistoryPlanWithOptions[],
    context: HistoryContext,
  ) {
    this.#repository = repository;
    this.#list = list;
    this.#needsFiles = needsFiles(plans);
    this.#headerPlans = headerPlans(plans);
    this.#context = context;
  }

  /** Reads commits of the list, those that can satisfy the plans at least. */
  async *read(from: number, to: number): Shards {
    const headers = this.#headerPlans;
    if (!this.#needsFiles || headers === undefined)
      return yield* this.#build(this.#list, from, to, !this.#needsFiles, true);
    for await (const shard of this.#build(this.#list, from, to, true, false)) {
      const found: FoundCommit[] = [];
      for await (const page of this.search(shard, headers)) found.push(...page);
      yield* this.#build(listFound(found, this.#list.oidBytes), 0, found.length, false, true);
    }
  }

  /** Searches one shard, in as many steps as its results need. */
  async *search(shard: Uint8Array, plans: readonly HistoryPlanWithOptions[]): ResultPages {
    const { id, name, stars, lastFetched } = this.#repository;
    for (let skipCount = 0; !this.#context.control.isStopped; ) {
      const { results, isDone, error } = await this.#context.search({
        shard,
        plans,
        repository: { id, name, stars, lastFetched },
        skipCount,
      });
      if (error !== undefined) throw deserializeError(error);
      if (results.length > 0) yield results;
      if (isDone) return;
      skipCount += results.length;
    }
  }

  async *#build(list: CommitList, from: number, to: number, headersOnly: boolean, isReported: boolean): Shards {
    const { reads, readLimits, control, onBuilt } = this.#context;
    for (let at = from; at < to && !control.isStopped; ) {
      const { id, name } = this.#repository;
      const request: BuildHistory = { kind: "build-history", repositoryId: id, list, from: at, to, headersOnly };
      const built = await reads.run<"build-history">(request, readLimits);
      if (isReported) onBuilt(name, built);
      if (built.shard !== undefined) yield built.shard;
      at = built.next;
    }
  }
}

/** The commits that were found, in their order. */
function listFound(found: readonly FoundCommit[], oidBytes: number): CommitList {
  const oids = new Uint8Array(new SharedArrayBuffer(found.length * oidBytes));
  found.forEach(({ oid }, i) => oids.set(Buffer.from(oid, "hex"), i * oidBytes));
  return { count: found.length, oidBytes, oids, dates: Float64Array.from(found, ({ committed }) => committed) };
}
