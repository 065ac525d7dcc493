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
import { type FoundCommit, readPage } from "../../protocol/commit-page.js";
import type { HistoryContext } from "./history-context.js";
import type { HistoryGroup } from "./history-choice.js";
import { type HistoryPlan, type Leaf, type TextNode, requiredLiterals, trigramBytes } from "../../query/plan/plan.js";

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

/** Whether the plans depend on what the commits changed. */
export function needsFiles(plans: readonly HistoryPlanWithOptions[]): boolean {
  return plans.some(({ plan }) => plan.kind === "diff" || plan.fileFilters.length > 0);
}

/** Whether the plans depend on the languages of what the commits changed. */
function needsLanguages(plans: readonly HistoryPlanWithOptions[]): boolean {
  return plans.some(({ plan }) => plan.fileFilters.some(({ kind }) => kind === "language"));
}

/** Whether the plans depend on messages. */
function needsMessages(plans: readonly HistoryPlanWithOptions[]): boolean {
  return plans.some(({ plan }) => plan.messages.length > 0 || (plan.kind === "commit" && plan.pattern !== undefined));
}

/**
 * Plans that find every commit that the given plans find, and depend on headers and messages only. Undefined if that
 * excludes nothing.
 */
export function headerPlans(plans: readonly HistoryPlanWithOptions[]): readonly HistoryPlanWithOptions[] | undefined {
  if (!plans.every(({ plan }) => testsHeader(plan))) return undefined;
  return plans.map(({ plan, optionsIndex }) => ({ plan: headerPlan(plan), optionsIndex }));
}

function testsHeader({ kind, persons, messages, pattern }: HistoryPlan): boolean {
  return persons.length + messages.length > 0 || (kind === "commit" && pattern !== undefined);
}

function headerPlan(plan: HistoryPlan): HistoryPlan {
  const ofMessage = plan.kind === "commit" ? { pattern: plan.pattern, leaves: plan.leaves } : requireMessages(plan);
  return { ...plan, ...ofMessage, kind: "commit", fileFilters: [], messages: [], onlySign: undefined };
}

/** The filters on messages as a pattern. */
function requireMessages({ messages }: HistoryPlan): { pattern: TextNode | undefined; leaves: readonly Leaf[] } {
  const children = messages.map(({ negated }, leaf): TextNode => {
    const node: TextNode = { kind: "leaf", leaf };
    return negated ? { kind: "not", child: node } : node;
  });
  return {
    pattern: children.length > 1 ? { kind: "and", children } : children[0],
    leaves: messages.map(({ leaf }) => leaf),
  };
}

/** With more texts, reading each file once for each of them takes longer than comparing the files. */
const textCountMax = 16;

/**
 * Texts of which each file that the plans find has one in a changed line; undefined if they require none. Sound because a
 * file has a changed line that matches each leaf without which the pattern does not hold, and that line contains a literal of
 * each clause of the leaf.
 */
function lineLiterals(plans: readonly HistoryPlanWithOptions[]): LineLiterals | undefined {
  const texts = unite(plans.map(({ plan }) => findPlanLiterals(plan)));
  if (texts === undefined || texts.length === 0 || texts.length > textCountMax) return undefined;
  const foldCase = plans.some(({ plan }) => plan.leaves.some((leaf) => leaf.foldCase));
  return { texts: foldCase ? texts.map(lowerAscii) : texts, foldCase };
}

function findPlanLiterals({ kind, pattern, leaves }: HistoryPlan): readonly Buffer[] | undefined {
  return kind === "diff" && pattern !== undefined ? findLiterals(pattern, leaves) : undefined;
}

function findLiterals(node: TextNode, leaves: readonly Leaf[]): readonly Buffer[] | undefined {
  switch (node.kind) {
    case "leaf":
      return bestClause(leaves[node.leaf]);
    case "not":
      return undefined;
    case "and":
      return best(node.children.map((child) => findLiterals(child, leaves)));
    case "or":
      return unite(node.children.map((child) => findLiterals(child, leaves)));
  }
}

function bestClause(leaf: Leaf): readonly Buffer[] | undefined {
  if (leaf.set !== undefined || leaf.analysis.matchesEmpty) return undefined;
  return best(requiredLiterals(leaf).clauses);
}

/** The one whose shortest text is longest. */
function best(sets: readonly (readonly Buffer[] | undefined)[]): readonly Buffer[] | undefined {
  let found: readonly Buffer[] | undefined;
  let length = trigramBytes - 1;
  for (const texts of sets) {
    if (texts === undefined || texts.length > textCountMax || texts.some((text) => text.includes(0))) continue;
    const shortest = Math.min(...texts.map((text) => text.length));
    if (shortest > length) [found, length] = [texts, shortest];
  }
  return found;
}

function unite(sets: readonly (readonly Buffer[] | undefined)[]): readonly Buffer[] | undefined {
  return sets.every((texts) => texts !== undefined) ? sets.flat() : undefined;
}

function lowerAscii(text: Uint8Array): Uint8Array {
  return text.map((byte) => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte));
}

/** Results in order, some at a time. */
export type ResultPages = AsyncGenerator<readonly FoundCommit[], void>;

/** Results that are found once they are needed. */
export interface PageSource {
  /** No result is newer; Unix seconds, or Infinity. */
  readonly newest: number;
  /** Called at most once. */
  readonly open: () => ResultPages;
}

/** Negative if `a` comes first: the newer one, then the one with the smaller oid, then commits before diffs. */
export function compareResults(a: FoundCommit, b: FoundCommit): number {
  if (a.committed !== b.committed) return b.committed - a.committed;
  if (a.oid !== b.oid) return a.oid < b.oid ? -1 : 1;
  return a.kind === b.kind ? 0 : a.kind === "commit" ? -1 : 1;
}

/** The newer one first. Infinite dates are equal, although their difference is not a number. */
function compareNewest(a: { readonly newest: number }, b: { readonly newest: number }): number {
  return b.newest - a.newest || 0;
}

/**
 * Several sequences of results as one. `aheadCount` sources are opened in advance, so that several threads search them;
 * the others only when all newer results are known, so that the newest results of a long history cost little.
 */
export async function* mergePages(sources: readonly PageSource[], aheadCount: number): ResultPages {
  if (sources.length === 1) return yield* sources[0].open();
  const heads = [...sources].sort(compareNewest).map((source) => new Head(source));
  try {
    for (;;) {
      const left = heads.filter(({ isEnded }) => !isEnded);
      if (left.length === 0) return;
      for (const head of left.slice(0, aheadCount + 1)) head.begin();
      const page = takeReady(left);
      if (page.length > 0) yield page;
      const [empty] = left.filter((head) => head.result === undefined).sort(compareNewest);
      await empty?.load();
    }
  } finally {
    await Promise.all(heads.map((head) => head.close()));
  }
}

/** The first results, as far as they are known to be the first. */
function takeReady(heads: readonly Head[]): FoundCommit[] {
  const unknown = heads.reduce(
    (newest, head) => (head.result === undefined ? Math.max(newest, head.newest) : newest),
    -Infinity,
  );
  const taken: FoundCommit[] = [];
  for (;;) {
    let first: Head | undefined;
    for (const head of heads) {
      if (head.result === undefined) continue;
      if (first?.result === undefined || compareResults(head.result, first.result) < 0) first = head;
    }
    if (first?.result === undefined || first.result.committed <= unknown) return taken;
    taken.push(first.result);
    first.take();
    if (first.result === undefined) return taken;
  }
}

/** A source, and the results of it that are known and not taken. */
class Head {
  readonly #source: PageSource;
  #pages: ResultPages | undefined;
  /** The first page, while it is not read. */
  #first: ReturnType<ResultPages["next"]> | undefined;
  #page: readonly FoundCommit[] = [];
  #at = 0;
  /** No result that is not known yet is newer. */
  newest: number;
  isEnded = false;

  constructor(source: PageSource) {
    this.#source = source;
    this.newest = source.newest;
  }

  /** The first of them. */
  get result(): FoundCommit | undefined {
    return this.#page[this.#at];
  }

  /** Opens the source and requests its first page, unless that is done. */
  begin(): ResultPages {
    if (this.#pages !== undefined) return this.#pages;
    this.#pages = this.#source.open();
    this.#first = this.#pages.next();
    // A failure is reported when its turn comes.
    this.#first.catch(() => undefined);
    return this.#pages;
  }

  take(): void {
    this.newest = this.#page[this.#at++].committed;
  }

  /** Reads pages until one is not empty, or until the end. */
  async load(): Promise<void> {
    const pages = this.begin();
    while (this.result === undefined && !this.isEnded) {
      const { value, done } = await (this.#first ?? pages.next());
      this.#first = undefined;
      this.#at = 0;
      this.#page = value ?? [];
      this.isEnded = done === true;
    }
  }

  async close(): Promise<void> {
    await this.#pages?.return();
  }
}
