import { setBit } from "../../base/bits.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { CatalogView } from "../../catalog/live-shards.js";
import { encodeSummaries } from "../../protocol/repository-summaries.js";
import type { RepositoryTable } from "../../catalog/repository-table.js";
import { defaultBranchBit, type Repository } from "../../model/repository.js";
import type { TextPlan } from "../../query/plan/plan.js";
import type { CommitSets, RepositorySelection, RevisionChoice } from "../../protocol/search-options.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { IndexLimits, CachedShardRange } from "../../protocol/messages.js";
import type { ReadPool } from "../../pool/read-pool.js";
import type { MissingPart } from "../../protocol/read-messages.js";
import { chooseShards } from "../shard-choice.js";
import type { RevisionBatch, CachedShard, RevisionCache } from "./revision-cache.js";

/** What the search of commits that are not indexed works with. */
export interface RevisionReading {
  readonly reads: ReadPool;
  readonly cache: RevisionCache;
  /** Which files have content that is searched: as in the index. */
  readonly limits: IndexLimits;
}

/** Shards that a search takes together, and what it looks for in them. */
export interface SearchPhase {
  readonly selections: readonly RepositorySelection[];
  readonly commitSets: CommitSets;
  /** Places in the view's table, then those of `cached`. */
  readonly rows: Uint32Array;
  readonly cached: readonly CachedShardRange[];
  /** To be called once, when nobody reads the shards any more. */
  release(): void;
}

export interface PhaseContext extends RevisionReading {
  /** What is looked for in documents, by basic query; undefined where nothing is. */
  readonly texts: readonly (TextPlan | undefined)[];
  /** Records as they were when the view was taken: an index of a later commit is no base for what the view shows. */
  readonly repositories: Pick<RepositoryTable, "byId">;
  readonly view: CatalogView;
  /** The search's control block: its stop word ends the reads. */
  readonly control: ControlBlock;
  readonly timeoutMs: number;
  readonly client: string;
  /** Told what could not be searched. */
  readonly onFailure: (sentence: string) => void;
  /** Told the name of a repository whose mirror lacks texts that were to be searched. */
  readonly onIncomplete: (name: string) => void;
}

/** Commits that are looked at together: a document's sets of commits are made for them. */
const commitsPerBatch = 1024;

/** Shards of a wave that are read ahead of the one that is searched. */
const readAheadCount = 2;

/**
 * The rounds of a search in commits that are not indexed. Repositories come one after the other, their commits in
 * waves: first the shards that are there with all commits of the wave, then each shard that is made of what was
 * missing, which is read while earlier ones are searched. So each text is searched once for all commits of a wave that
 * have it.
 *
 * What fails costs its repository. The rounds end early when the search is stopped.
 */
export async function* revisionPhases(
  selections: readonly RepositorySelection[],
  context: PhaseContext,
): AsyncGenerator<SearchPhase, undefined> {
  for (const [repositoryId, commits] of commitsByRepository(selections)) {
    const repository = context.repositories.byId(repositoryId);
    if (repository === undefined) continue;
    try {
      for (let left = commits; left.length > 0 && !context.control.isStopped; ) {
        const covered: ReadonlySet<string> = yield* new RevisionBatches(repository, selections, context).search(
          left.slice(0, commitsPerBatch),
        );
        left = left.filter((commit) => !covered.has(commit));
      }
    } catch (error) {
      if (!context.control.isStopped)
        context.onFailure(`revisions of ${repository.name} could not be read: ${errorMessage(error)}`);
    }
  }
}

/** Says of each wave what is there and what is to be read, and reads nothing of it. */
export async function explainPhases(
  selections: readonly RepositorySelection[],
  context: PhaseContext,
): Promise<string[]> {
  const lines: string[] = [];
  for (const [repositoryId, commits] of commitsByRepository(selections)) {
    const repository = context.repositories.byId(repositoryId);
    if (repository === undefined) continue;
    const waves = new RevisionBatches(repository, selections, context);
    for (let left: readonly string[] = commits; left.length > 0 && !context.control.isStopped; ) {
      const { line, covered } = await waves.explain(left.slice(0, commitsPerBatch));
      lines.push(line);
      left = left.filter((commit) => !covered.has(commit));
    }
  }
  return lines;
}

/** Whether some revision is not indexed. */
export function hasUnindexed(selections: readonly RepositorySelection[]): boolean {
  return selections.some(({ revisions }) =>
    [...(revisions?.values() ?? [])].some((choices) => choices.some(({ unindexed }) => unindexed !== undefined)),
  );
}

/** Distinct commits that are not indexed, in the order asked. */
function commitsByRepository(selections: readonly RepositorySelection[]): Map<number, string[]> {
  const commits = new Map<number, Set<string>>();
  for (const { revisions } of selections) {
    for (const [id, choices] of revisions ?? []) {
      for (const { unindexed } of choices)
        if (unindexed !== undefined) commits.set(id, (commits.get(id) ?? new Set()).add(unindexed.commit));
    }
  }
  return new Map([...commits].map(([id, set]) => [id, [...set]]));
}

type CachedWithSets = RevisionBatch["cached"][number];

/** The waves of one repository. */
class RevisionBatches {
  readonly #repository: Repository;
  readonly #selections: readonly RepositorySelection[];
  readonly #context: PhaseContext;
  readonly #cards: Uint8Array;
  /** Live shards with documents of the repository: id and row in the view. */
  readonly #live: ReadonlyMap<number, number>;

  constructor(repository: Repository, selections: readonly RepositorySelection[], context: PhaseContext) {
    this.#repository = repository;
    this.#selections = selections;
    this.#context = context;
    this.#cards = encodeSummaries([repository]);
    this.#live = new Map(
      context.view.shards.flatMap(({ record }, row) =>
        record.repositoryIds.includes(repository.id) ? [[record.id, row] as const] : [],
      ),
    );
  }

  /** Yields the rounds of one wave; returns the commits that it covers. */
  async *search(commits: readonly string[]): AsyncGenerator<SearchPhase, ReadonlySet<string>> {
    const { cache } = this.#context;
    const known = cache.wave(this.#repository.id, commits, (id) => this.#live.has(id));
    if (known !== undefined) {
      cache.pin(known.cached.map(({ shard }) => shard));
      yield this.#phase(known, known.cached);
      return new Set(known.commits);
    }
    const { wave, parts } = await this.#find(commits);
    yield this.#phase(wave, wave.cached);
    const made: CachedWithSets[] = [];
    for await (const cached of this.#readAhead(parts)) {
      made.push(cached);
      yield this.#phase({ ...wave, live: [] }, [cached]);
    }
    cache.keepWave(commits, { ...wave, cached: [...wave.cached, ...made] });
    return new Set(wave.commits);
  }

  /** What a search of the commits would find and read. */
  async explain(commits: readonly string[]): Promise<{ line: string; covered: ReadonlySet<string> }> {
    const { cache } = this.#context;
    const known = cache.wave(this.#repository.id, commits, (id) => this.#live.has(id));
    const { wave, parts } = known === undefined ? await this.#find(commits) : { wave: known, parts: [] };
    if (known === undefined) cache.unpin(wave.cached.map(({ shard }) => shard));
    const missingCount = parts.reduce((sum, { documentCount }) => sum + documentCount, 0);
    const missingBytes = parts.reduce((sum, { textBytes }) => sum + textBytes, 0);
    const line =
      `commits of ${this.#repository.name} that are not indexed: ${wave.commits.length}` +
      `; documents in shards of the index ${countFound(wave.live)}, in the revision cache ${countFound(wave.cached)}, to be read ${missingCount} (${missingBytes} bytes)` +
      `; rounds: ${known === undefined ? "1 of what is there" : "1, as it was found out before"}${parts.length === 0 ? "" : ` and ${parts.length} of what is read`}`;
    return { line, covered: new Set(wave.commits) };
  }

  /** What shards have, and what they lack. The cached ones stay pinned. */
  async #find(commits: readonly string[]): Promise<{ wave: RevisionBatch; parts: readonly MissingPart[] }> {
    const { cache, reads, limits, view, timeoutMs, control, client } = this.#context;
    const cached = cache.cachedShards(this.#repository.id);
    cache.pin(cached);
    try {
      const found = await reads.run<"find-documents">(
        {
          kind: "find-documents",
          repositoryId: this.#repository.id,
          base: indexedBase(this.#repository),
          commits,
          limits,
          live: [...this.#live].map(([id, row]) => ({
            id,
            checksum: view.shards[row].record.checksum,
            tombstones: view.shards[row].tombstones,
          })),
          cached: cached.map(({ id, from, to }) => ({ id, from, to })),
        },
        { timeoutMs, stop: control.memory, client },
      );
      const wave = {
        repositoryId: this.#repository.id,
        commits: found.commits,
        setStarts: found.setStarts,
        setRanges: found.setRanges,
        live: [...this.#live.keys()].map((id, i) => ({ id, sets: found.live[i] })),
        cached: cached.map((shard, i) => ({ shard, sets: found.cached[i] })),
      };
      return { wave, parts: found.parts };
    } catch (error) {
      cache.unpin(cached);
      throw error;
    }
  }

  /** Makes the shards of the parts, in order, some ahead of the one that is asked for. Each comes pinned. */
  async *#readAhead(parts: readonly MissingPart[]): AsyncGenerator<CachedWithSets, undefined> {
    const ahead: Promise<CachedWithSets>[] = [];
    let begun = 0;
    try {
      for (let i = 0; i < parts.length; i++) {
        while (begun < Math.min(parts.length, i + readAheadCount)) {
          const made = this.#keep(parts[begun++]);
          made.catch(() => undefined);
          ahead.push(made);
        }
        yield await (ahead.shift() as Promise<CachedWithSets>);
      }
    } finally {
      for (const made of ahead)
        made.then(
          ({ shard }) => this.#context.cache.unpin([shard]),
          () => undefined,
        );
    }
  }

  async #keep({ entries, shardBytesMax }: MissingPart): Promise<CachedWithSets> {
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

  #phase(wave: RevisionBatch, cached: readonly CachedWithSets[]): SearchPhase {
    const { view, cache } = this.#context;
    const shards: readonly CachedShard[] = cached.map(({ shard }) => shard);
    if (shards.some(({ missingCount }) => missingCount > 0)) this.#context.onIncomplete(this.#repository.name);
    const selections = this.#selections.map((selection) => this.#narrow(selection, wave.commits));
    const live = wave.live.length === 0 ? [] : this.#candidates(wave.live, selections);
    let isReleased = false;
    return {
      selections,
      commitSets: joinSets(
        wave,
        [...live, ...cached].map(({ sets }) => sets),
      ),
      rows: Uint32Array.from([
        ...live.map(({ id }) => this.#live.get(id) ?? 0),
        ...cached.map((_, i) => view.shards.length + i),
      ]),
      cached: shards.map(({ id, from, to }) => ({ id, from, to, cards: this.#cards })),
      release: () => {
        if (isReleased) return;
        isReleased = true;
        cache.unpin(shards);
      },
    };
  }

  /** Those of the live shards that may hold a result. */
  #candidates(live: RevisionBatch["live"], selections: readonly RepositorySelection[]): RevisionBatch["live"] {
    const choices = this.#context.texts.flatMap((text, i) =>
      text === undefined ? [] : [{ text, selection: selections[i] }],
    );
    const rows = new Set(chooseShards(this.#context.view, choices).rows);
    return live.filter(({ id }) => rows.has(this.#live.get(id) ?? -1));
  }

  /** The repository alone, at those of its revisions that are commits of the wave. */
  #narrow({ revisions }: RepositorySelection, commits: readonly string[]): RepositorySelection {
    const { id } = this.#repository;
    const numberOf = new Map(commits.map((commit, number) => [commit, number]));
    const choices = (revisions?.get(id) ?? []).flatMap(({ typed, bit, unindexed }): RevisionChoice[] => {
      const number = unindexed === undefined ? undefined : numberOf.get(unindexed.commit);
      return unindexed === undefined || number === undefined
        ? []
        : [{ typed, bit, unindexed: { commit: unindexed.commit, number } }];
    });
    const repositoryIds = new Uint32Array((id >>> 5) + 1);
    if (choices.length > 0) setBit(repositoryIds, id);
    return { repositoryIds, revisions: new Map([[id, choices]]) };
  }
}

/** The default branch, to which other commits mostly are nearest; without it some other one. */
function indexedBase(repository: Repository): { readonly bit: number; readonly commit: string } | undefined {
  const bit = defaultBranchBit(repository);
  return repository.indexedBranches.find((branch) => branch.bit === bit) ?? repository.indexedBranches[0];
}

/** Documents that some of the commits have. */
function countFound(shards: readonly { readonly sets: Uint32Array }[]): number {
  return shards.reduce((sum, { sets }) => sum + sets.reduce((count, set) => count + (set === 0 ? 0 : 1), 0), 0);
}

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
