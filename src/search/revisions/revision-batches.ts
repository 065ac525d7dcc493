import { TrawlError } from "../../base/errors.js";
import { defaultBranchBit, type Repository } from "../../model/repository.js";
import type { CachedShardRange } from "../../protocol/messages.js";
import { encodeSummaries } from "../../protocol/repository-summaries.js";
import type { FindDocuments, MissingPart } from "../../protocol/read-messages.js";
import type { RepositorySelection } from "../../protocol/search-options.js";
import { chooseShards } from "../slices/shard-choice.js";
import { findCachedSymbols } from "./cached-symbols.js";
import { joinSets, narrowSelection } from "./phase-selection.js";
import type { CachedBlock, CachedShard, RevisionBatch } from "./revision-cache.js";
import type { PhaseContext, SearchPhase } from "./search-phase.js";

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
  /** Live shards with documents of the repository: id, and row in the view. */
  readonly #live: ReadonlyMap<number, number>;

  constructor(repository: Repository, selections: readonly RepositorySelection[], context: PhaseContext) {
    this.#repository = repository;
    this.#selections = selections;
    this.#context = context;
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
    const known = cache.findBatch(this.#repository.id, commits, (id) => this.#live.has(id));
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
    const known = cache.findBatch(this.#repository.id, commits, (id) => this.#live.has(id));
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
    const cached = cache.cachedShards(this.#repository.id);
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
    let shard = cache.reserve(this.#repository.id, shardBytesMax);
    while (shard === undefined) {
      await cache.released();
      if (control.isStopped) throw new TrawlError("cancelled", "the search was stopped");
      shard = cache.reserve(this.#repository.id, shardBytesMax);
    }
    try {
      const { id, from, to } = shard;
      const { byteCount, sets, missingCount } = await reads.run<"cache-documents">(
        { kind: "cache-documents", repositoryId: this.#repository.id, entries, bytes: { id, from, to }, limits },
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

/** Whether some document of the shard belongs to a commit. */
function hasDocuments({ sets }: { readonly sets: Uint32Array }): boolean {
  return sets.some((set) => set !== 0);
}

function toRange(block: CachedBlock | undefined): CachedShardRange["symbols"] {
  return block === undefined ? undefined : { id: block.id, from: block.from, to: block.from + block.byteCount };
}

/** The default branch, because most other commits are close to it; without it some other branch. */
function indexedBase(repository: Repository): { readonly bit: number; readonly commit: string } | undefined {
  const bit = defaultBranchBit(repository);
  return repository.indexedBranches.find((branch) => branch.bit === bit) ?? repository.indexedBranches[0];
}

/** Number of documents that some of the commits have. */
function countFound(shards: readonly { readonly sets: Uint32Array }[]): number {
  return shards.reduce((sum, { sets }) => sum + sets.reduce((count, set) => count + (set === 0 ? 0 : 1), 0), 0);
}
