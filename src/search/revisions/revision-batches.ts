import { errorMessage, TrawlError } from "../../base/errors.js";
import { defaultBranchBit, filesKey, type Repository } from "../../model/repository.js";
import type { CachedShardRange } from "../../protocol/messages.js";
import { encodeSummaries } from "../../protocol/repository-summaries.js";
import type { FindDocuments, FoundDocuments, MissingPart } from "../../protocol/read-messages.js";
import type { CommitSets, RepositorySelection, RevisionChoice } from "../../protocol/search-options.js";
import { chooseShards } from "../slices/shard-choice.js";
import type { CachedBlock, CachedShard, RevisionBatch, RevisionCache } from "./revision-cache.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import type { ReadPool } from "../../pool/read-pool.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { IndexLimits } from "../../protocol/ingest-messages.js";
import type { TextPlan } from "../../query/plan/plan.js";
import { callAfter } from "../../base/deadline.js";
import { setBit } from "../../base/bits.js";

/** Shards that are built ahead of the one that is searched. */
const readAheadCount = 2;

type CachedWithSets = RevisionBatch["cached"][number];

interface FoundBatch {
  readonly batch: RevisionBatch;
  readonly parts: readonly MissingPart[];
}

/** A shard that was built for the search, and its symbols. */
interface BuiltShard {
  readonly cached: CachedWithSets;
  readonly symbols: ReadonlyMap<CachedShard, CachedBlock>;
}

/** Searches commits of one repository that are not indexed, a batch of commits at a time. */
export class RevisionBatches {
  readonly #repository: Repository;
  readonly #selections: readonly RepositorySelection[];
  readonly #context: PhaseContext;
  readonly #summaries: Uint8Array;
  readonly #files: string;
  /** Live shards with documents of the repository: id, and row in the view. */
  readonly #live: ReadonlyMap<number, number>;

  constructor(repository: Repository, selections: readonly RepositorySelection[], context: PhaseContext) {
    this.#repository = repository;
    this.#selections = selections;
    this.#context = context;
    this.#files = filesKey(repository);
    this.#summaries = encodeSummaries([repository]);
    this.#live = new Map(
      context.view.shards.flatMap(({ record }, row) =>
        record.repositoryIds.includes(repository.id) ? [[record.id, row] as const] : [],
      ),
    );
  }

  /** Yields the phases of one batch; returns the commits that it covers. */
  async *search(commits: readonly string[]): AsyncGenerator<SearchPhase, ReadonlySet<string>> {
    const { cache } = this.#context;
    const known = cache.findBatch(this.#repository.id, this.#files, commits, (id) => this.#live.has(id));
    if (known !== undefined) {
      cache.pin(known.cached.map(({ shard }) => shard));
      yield* this.#searchExisting(known);
      return new Set(known.commits);
    }
    const { batch, parts } = await this.#findInShards(commits);
    yield* this.#searchExisting(batch);
    const made: CachedWithSets[] = [];
    for await (const { cached, symbols } of this.#readAhead(parts)) {
      made.push(cached);
      yield this.#phase({ ...batch, live: [] }, [cached], symbols);
    }
    cache.storeBatch(commits, { ...batch, cached: [...batch.cached, ...made] });
    return new Set(batch.commits);
  }

  /** Yields the phases of the documents that differ between `base` and the commits, all read from the mirror. */
  async *searchDifferent(base: string | undefined, commits: readonly string[]): AsyncGenerator<SearchPhase, undefined> {
    const { batch, parts } = await this.#find(commits, base === undefined ? undefined : { bit: -1, commit: base }, []);
    if (batch.commits.length < commits.length)
      throw new TrawlError("git", "two commits differ in too many paths to be compared");
    for await (const { cached, symbols } of this.#readAhead(parts))
      yield this.#phase({ ...batch, live: [] }, [cached], symbols);
  }

  /**
   * Yields the phases of the shards that exist, whose cached ones are pinned: first what can be searched at once, then
   * each shard whose symbols had to be extracted. Cached shards without a document of the commits are left out: nothing is
   * missing if their symbols were never extracted.
   */
  async *#searchExisting(batch: RevisionBatch): AsyncGenerator<SearchPhase, undefined> {
    const { cache } = this.#context;
    const isReady = ({ shard }: CachedWithSets): boolean => !this.#wantsSymbols || cache.symbolsOf(shard) !== undefined;
    const used = batch.cached.filter(hasDocuments);
    cache.unpin(batch.cached.flatMap((cached) => (hasDocuments(cached) ? [] : [cached.shard])));
    const later = used.filter((cached) => !isReady(cached));
    const ready = used.filter(isReady);
    const symbols = new Map(
      ready.flatMap(({ shard }) => {
        const block = this.#wantsSymbols ? cache.symbolsOf(shard) : undefined;
        return block === undefined ? [] : [[shard, block] as const];
      }),
    );
    cache.pin([...symbols.values()]);
    try {
      yield this.#phase(batch, ready, symbols);
      while (later.length > 0) {
        const [cached] = later;
        await this.#addSymbols(cached.shard, symbols);
        later.shift();
        yield this.#phase({ ...batch, live: [] }, [cached], symbols);
      }
    } finally {
      cache.unpin(later.map(({ shard }) => shard));
    }
  }

  async #addSymbols(shard: CachedShard, symbols: Map<CachedShard, CachedBlock>): Promise<void> {
    const block = await findCachedSymbols(shard, this.#context);
    if (block !== undefined) symbols.set(shard, block);
  }

  get #wantsSymbols(): boolean {
    return this.#context.texts.some((text) => text?.symbols !== undefined);
  }

  /** Describes what a search of the commits would find and read. */
  async explain(commits: readonly string[]): Promise<{ line: string; covered: ReadonlySet<string> }> {
    const { cache } = this.#context;
    const known = cache.findBatch(this.#repository.id, this.#files, commits, (id) => this.#live.has(id));
    const { batch, parts } = known === undefined ? await this.#findInShards(commits) : { batch: known, parts: [] };
    if (known === undefined) cache.unpin(batch.cached.map(({ shard }) => shard));
    const missingCount = parts.reduce((sum, { documentCount }) => sum + documentCount, 0);
    const missingBytes = parts.reduce((sum, { textBytes }) => sum + textBytes, 0);
    const line =
      `commits of ${this.#repository.name} that are not indexed: ${batch.commits.length}` +
      `; documents in shards of the index ${countFound(batch.live)}, in the revision cache ${countFound(batch.cached)}, to be read ${missingCount} (${missingBytes} bytes)` +
      `; phases: ${known === undefined ? "1 of existing shards" : "1 of existing shards, known from an earlier search"}${parts.length === 0 ? "" : ` and ${parts.length} of shards to be built`}`;
    return { line, covered: new Set(batch.commits) };
  }

  /** Finds which documents of the commits are in shards, and which are missing. Leaves the cached shards pinned. */
  async #findInShards(commits: readonly string[]): Promise<FoundBatch> {
    const { cache } = this.#context;
    const cached = cache.cachedShards(this.#repository.id, contentsKey(this.#repository));
    cache.pin(cached);
    try {
      return await this.#find(commits, indexedBase(this.#repository), cached, [...this.#live]);
    } catch (error) {
      cache.unpin(cached);
      throw error;
    }
  }

  /** Looks for the documents in these shards; `live` has the ids and rows of live ones. */
  async #find(
    commits: readonly string[],
    base: FindDocuments["base"],
    cached: readonly CachedShard[],
    live: readonly (readonly [id: number, row: number])[] = [],
  ): Promise<FoundBatch> {
    const { reads, limits, view, timeoutMs, control, client } = this.#context;
    const found = await reads.run<"find-documents">(
      {
        kind: "find-documents",
        repositoryId: this.#repository.id,
        lfsTree: this.#repository.lfsTree,
        withSubmodules: this.#repository.submodules !== undefined,
        base,
        commits,
        limits,
        live: live.map(([id, row]) => {
          const { record, tombstones } = view.shards[row];
          return { id, checksum: record.checksum, tombstones };
        }),
        cached: cached.map(({ id, from, to }) => ({ id, from, to })),
      },
      { timeoutMs, stop: control.memory, client },
    );
    const batch = {
      repositoryId: this.#repository.id,
      files: this.#files,
      commits: found.commits,
      setStarts: found.setStarts,
      setRanges: found.setRanges,
      live: live.map(([id], i) => ({ id, sets: found.live[i] })),
      cached: cached.map((shard, i) => ({ shard, sets: found.cached[i] })),
    };
    return { batch, parts: found.parts };
  }

  /** Builds shards of the missing parts, in order, some ahead of the one that is consumed. They are pinned. */
  async *#readAhead(parts: readonly MissingPart[]): AsyncGenerator<BuiltShard, undefined> {
    const ahead: Promise<BuiltShard>[] = [];
    let begun = 0;
    try {
      for (let i = 0; i < parts.length; i++) {
        while (begun < Math.min(parts.length, i + readAheadCount)) {
          const made = this.#build(parts[begun++]);
          made.catch(() => undefined);
          ahead.push(made);
        }
        yield await (ahead.shift() as Promise<BuiltShard>);
      }
    } finally {
      for (const made of ahead)
        made.then(
          ({ cached, symbols }) => this.#context.cache.unpin([cached.shard, ...symbols.values()]),
          () => undefined,
        );
    }
  }

  /** Builds a shard, and extracts its symbols if they are wanted. */
  async #build(part: MissingPart): Promise<BuiltShard> {
    const cached = await this.#buildShard(part);
    const symbols = new Map<CachedShard, CachedBlock>();
    try {
      if (this.#wantsSymbols) await this.#addSymbols(cached.shard, symbols);
      return { cached, symbols };
    } catch (error) {
      this.#context.cache.unpin([cached.shard]);
      throw error;
    }
  }

  async #buildShard({ entries, shardBytesMax }: MissingPart): Promise<CachedWithSets> {
    const { cache, reads, limits, timeoutMs, control, client } = this.#context;
    let shard = cache.reserve(this.#repository.id, contentsKey(this.#repository), shardBytesMax);
    while (shard === undefined) {
      await cache.released();
      if (control.isStopped) throw new TrawlError("cancelled", "the search was stopped");
      shard = cache.reserve(this.#repository.id, contentsKey(this.#repository), shardBytesMax);
    }
    try {
      const { id, from, to } = shard;
      const { byteCount, sets, missingCount } = await reads.run<"cache-documents">(
        {
          kind: "cache-documents",
          repositoryId: this.#repository.id,
          entries,
          bytes: { id, from, to },
          limits,
        },
        { timeoutMs, stop: control.memory, client },
      );
      cache.settle(shard, byteCount);
      shard.missingCount = missingCount;
      return { shard, sets };
    } catch (error) {
      cache.unpin([shard]);
      throw error;
    }
  }

  /** Releases the shards and their symbols when it ends. */
  #phase(
    batch: RevisionBatch,
    cached: readonly CachedWithSets[],
    symbols: ReadonlyMap<CachedShard, CachedBlock>,
  ): SearchPhase {
    const { view, cache } = this.#context;
    const shards: readonly CachedShard[] = cached.map(({ shard }) => shard);
    if (shards.some(({ missingCount }) => missingCount > 0))
      this.#context.problems.incompleteRevisions.add(this.#repository.name);
    const { id } = this.#repository;
    const selections = this.#selections.map((selection) => narrowSelection(selection, id, batch.commits));
    const live = batch.live.length === 0 ? [] : this.#candidates(batch.live, selections);
    const values = shards.map((shard) => symbols.get(shard));
    let isReleased = false;
    return {
      selections,
      commitSets: joinSets(
        batch,
        [...live, ...cached].map(({ sets }) => sets),
      ),
      rows: Uint32Array.from([
        ...live.map(({ id }) => this.#live.get(id) ?? 0),
        ...cached.map((_, i) => view.shards.length + i),
      ]),
      cached: shards.map(({ id, from, to }, i) => ({
        id,
        from,
        to,
        summaries: this.#summaries,
        symbols: toRange(values[i]),
      })),
      release: () => {
        if (isReleased) return;
        isReleased = true;
        cache.unpin([...shards, ...values.filter((value) => value !== undefined)]);
      },
    };
  }

  /** The live shards with documents of the commits that may contain a result. */
  #candidates(live: RevisionBatch["live"], selections: readonly RepositorySelection[]): RevisionBatch["live"] {
    const choices = this.#context.texts.flatMap((text, i) =>
      text === undefined ? [] : [{ text, selection: selections[i] }],
    );
    const rows = new Set(chooseShards(this.#context.view, choices, this.#context.coversAll).rows);
    return live.filter((shard) => hasDocuments(shard) && rows.has(this.#live.get(shard.id) ?? -1));
  }
}

/** How long a read of a rehearsal may take. */
const rehearsalMs = 5_000;

/**
 * Lets read threads look for the documents of the indexed commit in shards, and each of them build a shard of its first
 * texts as if nothing was indexed, so that V8 compiles what the first search of a commit that is not indexed uses. What is
 * built is dropped. A word of `stop` that is not 0 ends it. Caller guarantees: the view is not released before.
 */
export async function rehearseReading(
  repository: Repository,
  view: CatalogView,
  { reads, cache, limits }: RevisionReading,
  stop: Int32Array,
): Promise<void> {
  const commit = indexedBase(repository)?.commit;
  if (commit === undefined) return;
  const { lfsTree } = repository;
  const withSubmodules = repository.submodules !== undefined;
  const shared = { repositoryId: repository.id, limits };
  const options = { timeoutMs: rehearsalMs, stop, client: "" };
  const find = (live: FindDocuments["live"]): Promise<FoundDocuments> =>
    reads.run<"find-documents">(
      {
        kind: "find-documents",
        ...shared,
        lfsTree,
        withSubmodules,
        base: undefined,
        commits: [commit],
        live,
        cached: [],
      },
      options,
    );
  const shards = view.shards.filter(({ record }) => record.repositoryIds.includes(repository.id));
  await find(shards.map(({ record: { id, checksum }, tombstones }) => ({ id, checksum, tombstones })));
  const [part] = (await find([])).parts;
  if (part === undefined) return;
  const build = async (): Promise<void> => {
    const shard = cache.reserve(repository.id, contentsKey(repository), part.shardBytesMax);
    // Searches use all of it, and with it this code.
    if (shard === undefined) return;
    try {
      const { id, from, to } = shard;
      await reads.run<"cache-documents">(
        {
          kind: "cache-documents",
          ...shared,
          entries: part.entries,
          bytes: { id, from, to },
        },
        options,
      );
    } finally {
      cache.unpin([shard]);
    }
  };
  // All at once, so that each thread gets one. The memory is free again when all have ended.
  const ended = await Promise.allSettled(Array.from({ length: reads.threadCount }, build));
  for (const { reason } of ended.filter((one) => one.status === "rejected")) throw reason;
}

/** The options by which a cached document has the contents that it has, or the reason why it has none. */
function contentsKey({ lfsTree = "", submodules }: Repository): string {
  return submodules === undefined ? lfsTree : `${lfsTree} with submodules`;
}

/** Whether some document of the shard belongs to a commit. */
function hasDocuments({ sets }: { readonly sets: Uint32Array }): boolean {
  return sets.some((set) => set !== 0);
}

function toRange(block: CachedBlock | undefined): CachedShardRange["symbols"] {
  return block === undefined ? undefined : { id: block.id, from: block.from, to: block.from + block.byteCount };
}

/** The default branch, because most other commits are close to it; without it some other branch. */
function indexedBase(repository: Repository): FindDocuments["base"] {
  const bit = defaultBranchBit(repository);
  return repository.indexedBranches.find((branch) => branch.bit === bit) ?? repository.indexedBranches[0];
}

/** Number of documents that some of the commits have. */
function countFound(shards: readonly { readonly sets: Uint32Array }[]): number {
  return shards.reduce((sum, { sets }) => sum + sets.reduce((count, set) => count + (set === 0 ? 0 : 1), 0), 0);
}

/** What the search of commits that are not indexed uses. */
export interface RevisionReading {
  readonly reads: ReadPool;
  readonly cache: RevisionCache;
  /** The limits of the index, which decide whether the content of a file is searched. */
  readonly limits: IndexLimits;
}

/** Shards that are searched together, and what is searched in them. */
export interface SearchPhase {
  readonly selections: readonly RepositorySelection[];
  readonly commitSets: CommitSets;
  /** Rows of the view's table, then those of `cached`. */
  readonly rows: Uint32Array;
  readonly cached: readonly CachedShardRange[];
  /** Must be called when nobody reads the shards any more. Idempotent. */
  release(): void;
}

/** What could not be searched. */
export interface PhaseProblems {
  /** Sentences. */
  readonly failures: string[];
  /** Names of repositories whose mirrors lack texts that should be searched. */
  readonly incompleteRevisions: Set<string>;
  /** Why symbols could not be extracted. */
  readonly symbolFaults: Set<string>;
}

export interface PhaseContext extends RevisionReading {
  /** What documents are searched for, by basic query; undefined if a query does not search documents. */
  readonly texts: readonly (TextPlan | undefined)[];
  /** Records as of the view: a commit that was indexed later is not a base for what the view shows. */
  readonly repositories: Pick<RepositoryTable, "byId">;
  readonly view: CatalogView;
  /** The search's control block; its stop word ends the reads. */
  readonly control: ControlBlock;
  /** Whether shards that cannot contain a result are searched as well. */
  readonly coversAll: boolean;
  readonly timeoutMs: number;
  readonly client: string;
  /** Grows while phases are prepared. */
  readonly problems: PhaseProblems;
}

/** A search waits this long for memory that others use, then it does without the symbols of the shard. */
const roomMs = 5000;

/** A first value may have this share of its shard: usual ones have 2 % of the text. A larger one is written again. */
const usualShare = 1 / 8;

const valueBytesMin = 64 * 1024;

/** The first value may turn out to be too large, the second has the right size. */
const attemptsMax = 2;

/**
 * The value of the symbols of a shard of the revision cache, pinned once; they are extracted if they are not known.
 * Undefined if they cannot be had, which is reported. Throws if the search is stopped. Caller guarantees: the shard is
 * pinned.
 */
async function findCachedSymbols(shard: CachedShard, context: PhaseContext): Promise<CachedBlock | undefined> {
  const known = context.cache.symbolsOf(shard);
  if (known !== undefined) {
    context.cache.pin([known]);
    return known;
  }
  try {
    return await extract(shard, context);
  } catch (error) {
    if (context.control.isStopped) throw error;
    context.problems.symbolFaults.add(errorMessage(error));
    return undefined;
  }
}

async function extract(shard: CachedShard, context: PhaseContext): Promise<CachedBlock | undefined> {
  const { cache, problems } = context;
  let byteCount = valueBytesMin + (shard.to - shard.from) * usualShare;
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const block = await reserve(byteCount, context);
    if (block === undefined) {
      problems.symbolFaults.add("the revision cache has no room for them: `search.revisionCacheBytes` limits it");
      return undefined;
    }
    const needed = await extractTo(block, shard, context);
    if (needed === undefined) {
      shard.symbols = block;
      return block;
    }
    cache.unpin([block]);
    if (typeof needed === "string") {
      problems.symbolFaults.add(needed);
      return undefined;
    }
    byteCount = needed;
  }
  return undefined;
}

/** Returns the number of bytes that are needed if the block is too small, and otherwise why there are no symbols. */
async function extractTo(
  block: CachedBlock,
  { id, from, to }: CachedShard,
  { cache, reads, timeoutMs, control, client }: PhaseContext,
): Promise<number | string | undefined> {
  try {
    const value = { from: block.from, to: block.to };
    const request = { kind: "extract-symbols", shard: { id, from, to }, value } as const;
    const answer = await reads.run<"extract-symbols">(request, { timeoutMs, stop: control.memory, client });
    if (answer.kind === "lack") return answer.reason;
    if (answer.kind === "larger") return answer.byteCount;
    cache.settle(block, answer.byteCount);
    return undefined;
  } catch (error) {
    cache.unpin([block]);
    throw error;
  }
}

/** The memory of the search's earlier phases is released while it waits. */
async function reserve(byteCount: number, { cache, control }: PhaseContext): Promise<CachedBlock | undefined> {
  let isLate = false;
  let wake: () => void = () => undefined;
  const late = new Promise<void>((resolve) => {
    wake = resolve;
  });
  const timer = callAfter(roomMs, () => {
    isLate = true;
    wake();
  });
  try {
    let block = cache.reserveSymbols(byteCount);
    while (block === undefined && !isLate && !control.isStopped) {
      await Promise.race([cache.released(), late]);
      block = cache.reserveSymbols(byteCount);
    }
    return block;
  } finally {
    timer.cancel();
  }
}

/** Restricts a selection to one repository, and to those of its revisions that are among these commits. */
function narrowSelection(
  { revisions }: RepositorySelection,
  repositoryId: number,
  commits: readonly string[],
): RepositorySelection {
  const numbers = new Map(commits.map((commit, number) => [commit, number]));
  const choices = (revisions?.get(repositoryId) ?? []).flatMap(({ typed, bit, unindexed }): RevisionChoice[] => {
    const number = unindexed === undefined ? undefined : numbers.get(unindexed.commit);
    return unindexed === undefined || number === undefined
      ? []
      : [{ typed, bit, unindexed: { commit: unindexed.commit, number } }];
  });
  const repositoryIds = new Uint32Array((repositoryId >>> 5) + 1);
  if (choices.length > 0) setBit(repositoryIds, repositoryId);
  return { repositoryIds, revisions: new Map([[repositoryId, choices]]) };
}

/** Joins the commit sets of several shards in shared memory. */
function joinSets({ setStarts, setRanges }: RevisionBatch, parts: readonly Uint32Array[]): CommitSets {
  const words = new Uint32Array(new SharedArrayBuffer(4 * parts.reduce((sum, { length }) => sum + length, 0)));
  const starts = new Uint32Array(parts.length);
  let at = 0;
  parts.forEach((part, i) => {
    starts[i] = at;
    words.set(part, at);
    at += part.length;
  });
  return { starts, words, setStarts, setRanges };
}
