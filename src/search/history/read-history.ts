import { deserializeError } from "../../base/errors.js";
import type { CommitList } from "../../git/history/commit-list.js";
import type { Repository } from "../../model/repository.js";
import type {
  BuildHistory,
  HistoryPlanWithOptions,
  HistoryPosition,
  HistoryTask,
  HistoryTaskResult,
  LineLiterals,
} from "../../protocol/history-messages.js";
import { readPage, type FoundCommit } from "../../protocol/commit-page.js";
import type { HistoryContext } from "./history-context.js";
import type { HistoryGroup } from "./history-choice.js";
import { lineLiterals } from "./line-literals.js";
import { headerPlans, needsFiles, needsLanguages, needsMessages } from "./header-plans.js";
import { mergePages, type PageSource, type ResultPages } from "./merge-pages.js";

/**
 * Commits that are read at a time: few at first, so that the first results come soon. Most ranges then are one history shard:
 * for each further one git is started again, and meanwhile another range cannot be begun.
 */
const rangeCommitsFirst = 128;
const rangeCommitsMax = 1024;
/** The same without their changes. */
const rangeHeadersMax = 65_536;
/** The same if most commits are excluded before their changes are read. */
const rangeFilteredMax = 4096;

/** Bytes of JSON that are searched at a time: few at first, so that the first results come soon. */
const pageBytesFirst = 32 << 10;
const pageBytesMax = 1 << 20;
/** A page of which too little is needed costs some milliseconds at most, so the second one is not large either. */
const pageGrowth = 8;

/** History shards that are searched ahead. */
const shardsAheadCount = 3;

/** Ranges that are read ahead, by as many threads as there are readers. */
const readAheadCount = 2;

/** Searches a history: the commits that history shards have in these, the others in the mirror. */
export async function* readHistory(repository: Repository, group: HistoryGroup, context: HistoryContext): ResultPages {
  const { plans, index } = group;
  const { list, missing, ambiguous } = await context.lists.list(repository, group, context.reads, context.readLimits);
  for (const revision of missing) context.onMissingRevision(repository.name, `^${revision}`, false);
  for (const revision of ambiguous) context.onMissingRevision(repository.name, `^${revision}`, true);
  const stored = index === "no" ? [] : context.storedHistories(repository.id);
  if (stored.length === 0) {
    if (index !== "only") yield* readUnindexed(repository, list, plans, context);
    return;
  }
  const cover = await context.cover({ list, shards: stored });
  for (const { shardId } of cover.failures) context.onShardFailure(shardId);
  const { brokenCount } = cover;
  const largeFileCount = needsFiles(plans) ? cover.largeFileCount : 0;
  const cutMessageCount = needsMessages(plans) ? cover.cutMessageCount : 0;
  context.onBuilt(repository.name, { brokenCount, largeFileCount, cutMessageCount });
  const { before, after } = acceptedDates(plans);
  const sources = cover.shards
    .filter(({ oldest, newest }) => oldest < before && newest > after)
    .map(
      (shard): PageSource => ({
        newest: shard.newest,
        open: () => searchShard(repository, shard, plans, context),
      }),
    );
  if (cover.missing.length > 0 && index !== "only") {
    const unindexed = selectCommits(list, cover.missing);
    sources.push({ newest: Infinity, open: () => readUnindexed(repository, unindexed, plans, context) });
  }
  if (sources.length > 0) yield* mergePages(sources, shardsAheadCount);
}

/** Searches commits that are not indexed: they are read from the mirror, some at a time, newest first. */
async function* readUnindexed(
  repository: Repository,
  list: CommitList,
  plans: readonly HistoryPlanWithOptions[],
  context: HistoryContext,
): ResultPages {
  const history = new UnindexedHistory(repository, list, plans, context);
  const ranges = makeRanges(list, plans);
  const reading: Ahead[] = [];
  const readNext = (): void => {
    const range = ranges.next();
    if (range.done !== true) reading.push(new Ahead(history.read(range.value.from, range.value.to)));
  };
  for (let i = 0; i <= readAheadCount; i++) readNext();
  for (let range = reading.shift(); range !== undefined; range = reading.shift()) {
    for (let shard = await range.take(); shard !== undefined; shard = await range.take()) {
      if (context.control.isStopped) return;
      yield* searchShard(repository, shard, plans, context);
    }
    readNext();
  }
}

/** Shards of a range, of which the next one is always being read, so that all readers are busy while one is searched. */
class Ahead {
  readonly #shards: Shards;
  #next: ReturnType<Shards["next"]>;

  constructor(shards: Shards) {
    this.#shards = shards;
    this.#next = this.#read();
  }

  /** Undefined at the end. */
  async take(): Promise<Uint8Array | undefined> {
    const { value, done } = await this.#next;
    if (done === true) return undefined;
    this.#next = this.#read();
    return value;
  }

  #read(): ReturnType<Shards["next"]> {
    const next = this.#shards.next();
    // A failure is reported when its turn comes.
    next.catch(() => undefined);
    return next;
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
}

/** No plan accepts a commit with a date outside. */
function acceptedDates(plans: readonly HistoryPlanWithOptions[]): { readonly before: number; readonly after: number } {
  return {
    before: Math.max(...plans.map(({ plan }) => plan.committedBefore ?? Infinity)),
    after: Math.min(...plans.map(({ plan }) => plan.committedAfter ?? -Infinity)),
  };
}

/** Ranges of the list, without commits whose date no plan accepts. */
function* makeRanges({ count, dates }: CommitList, plans: readonly HistoryPlanWithOptions[]): Generator<Range, void> {
  const { before, after } = acceptedDates(plans);
  const filesMax = lineLiterals(plans) === undefined ? rangeCommitsMax : rangeFilteredMax;
  const sizeMax = needsFiles(plans) ? filesMax : rangeHeadersMax;
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

/** Whether it is reported what was left out of messages, and of changed files. */
interface Reported {
  readonly messages: boolean;
  readonly files: boolean;
}

/** Commits of one repository that are read from its mirror. */
class UnindexedHistory {
  readonly #repository: Repository;
  readonly #list: CommitList;
  readonly #needsFiles: boolean;
  readonly #needsLanguages: boolean;
  readonly #needsMessages: boolean;
  /** What the headers of commits must satisfy before their changes are read; undefined if that excludes none. */
  readonly #headerPlans: readonly HistoryPlanWithOptions[] | undefined;
  /** One of these is in a changed line of each result; undefined if nothing is known of them. */
  readonly #literals: LineLiterals | undefined;
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
    this.#needsLanguages = needsLanguages(plans);
    this.#needsMessages = needsMessages(plans);
    this.#headerPlans = headerPlans(plans);
    this.#literals = lineLiterals(plans);
    this.#context = context;
  }

  /** Reads commits of the list, those that can satisfy the plans at least. */
  async *read(from: number, to: number): Shards {
    const headers = this.#headerPlans;
    if (!this.#needsFiles) return yield* this.#build(this.#list, from, to, true, { messages: true, files: true });
    if (headers === undefined) return yield* this.#buildFiles(this.#list, from, to, { messages: true, files: true });
    for await (const shard of this.#build(this.#list, from, to, true, { messages: true, files: false })) {
      const found: FoundCommit[] = [];
      for await (const page of searchShard(this.#repository, shard, headers, this.#context)) found.push(...page);
      const list = listFound(found, this.#list.oidBytes);
      yield* this.#buildFiles(list, 0, list.count, { messages: false, files: true });
    }
  }

  /** Reads the changes of commits, without those that have no line with one of the literals. */
  async *#buildFiles(list: CommitList, from: number, to: number, reported: Reported): Shards {
    const { reads, readLimits, control } = this.#context;
    if (this.#literals === undefined) return yield* this.#build(list, from, to, false, reported);
    if (from === to || control.isStopped) return;
    const { candidates } = await reads.run<"filter-history">(
      { kind: "filter-history", repositoryId: this.#repository.id, list, from, to, literals: this.#literals },
      readLimits,
    );
    yield* this.#build(selectCommits(list, candidates), 0, candidates.length, false, reported);
  }

  /** Commits are read once or twice; what is left out of them is reported once. */
  async *#build(list: CommitList, from: number, to: number, headersOnly: boolean, reported: Reported): Shards {
    const { reads, readLimits, control, onBuilt } = this.#context;
    for (let at = from; at < to && !control.isStopped; ) {
      const { id, name } = this.#repository;
      const request: BuildHistory = {
        kind: "build-history",
        repositoryId: id,
        list,
        from: at,
        to,
        headersOnly,
        withLanguages: this.#needsLanguages,
      };
      const built = await reads.run<"build-history">(request, readLimits);
      onBuilt(name, {
        brokenCount: reported.files ? built.brokenCount : 0,
        largeFileCount: reported.files ? built.largeFileCount : 0,
        cutMessageCount: reported.messages && this.#needsMessages ? built.cutMessageCount : 0,
      });
      if (built.shard !== undefined) yield built.shard;
      at = built.next;
    }
  }
}

/**
 * Searches one shard, in as many pages as its results need. The next page is searched while one is sent, so that several
 * threads search even if the results of one shard come before those of all others.
 */
async function* searchShard(
  { id, name, stars, lastFetched }: Repository,
  shard: HistoryTask["shard"],
  plans: readonly HistoryPlanWithOptions[],
  context: HistoryContext,
): ResultPages {
  const repository = { id, name, stars, lastFetched };
  const search = (from: HistoryPosition | undefined, jsonBytesMax: number): Promise<HistoryTaskResult> => {
    const page = context.search({ shard, plans, repository, from, jsonBytesMax });
    // A failure is reported when its turn comes.
    page.catch(() => undefined);
    return page;
  };
  let jsonBytesMax = pageBytesFirst;
  let ahead = context.control.isStopped ? undefined : search(undefined, jsonBytesMax);
  try {
    while (ahead !== undefined) {
      const { results, next, error }: HistoryTaskResult = await ahead;
      ahead = undefined;
      if (error !== undefined) {
        if (!(shard instanceof Uint8Array)) context.onShardFailure(shard.id);
        throw deserializeError(error);
      }
      jsonBytesMax = Math.min(jsonBytesMax * pageGrowth, pageBytesMax);
      if (next !== undefined && !context.control.isStopped) ahead = search(next, jsonBytesMax);
      if (results.ends.length > 0) yield readPage(results);
    }
  } finally {
    // The shard is in use until then.
    await ahead?.catch(() => undefined);
  }
}

/** The commits with these indexes. */
function selectCommits({ oidBytes, oids, dates }: CommitList, indexes: Uint32Array): CommitList {
  const selected = new Uint8Array(new SharedArrayBuffer(indexes.length * oidBytes));
  indexes.forEach((at, i) => selected.set(oids.subarray(at * oidBytes, (at + 1) * oidBytes), i * oidBytes));
  return { count: indexes.length, oidBytes, oids: selected, dates: Float64Array.from(indexes, (at) => dates[at]) };
}

/** The commits that were found, in their order. */
function listFound(found: readonly FoundCommit[], oidBytes: number): CommitList {
  const oids = new Uint8Array(new SharedArrayBuffer(found.length * oidBytes));
  found.forEach(({ oid }, i) => oids.set(Buffer.from(oid, "hex"), i * oidBytes));
  return { count: found.length, oidBytes, oids, dates: Float64Array.from(found, ({ committed }) => committed) };
}
