import type { Repository } from "../../model/repository.js";
import type { HistoryBase } from "../../model/search-request.js";
import {
  type CoverResult,
  type CoverTask,
  historyParts,
  type HistoryPlanWithOptions,
  type ListedCommits,
  type StoredHistory,
} from "../../protocol/history-messages.js";
import type { SearchPlan } from "../../query/plan/plan.js";
import type { YesNoOnly } from "../../query/fields/values.js";
import { commitAt, type Resolution, searchedChoices } from "../repositories/repository-resolver.js";
import { BoundedMap } from "../../base/bounded-map.js";
import type { CommitList } from "../../git/history/commit-list.js";
import type { ReadLimits, ReadPool } from "../../pool/read-pool.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { HistoryShardRecord } from "../../model/history-record.js";

/** What to search in the history of one repository. */
export interface HistoryChoice {
  readonly repository: Repository;
  readonly groups: readonly HistoryGroup[];
}

/** Plans that search the same commits. */
export interface HistoryGroup {
  /** Oids of the commits where the history begins. */
  readonly from: readonly string[];
  /** Whether it begins at the HEAD of the mirror, because no branch is indexed. */
  readonly fromHead: boolean;
  /** Revisions whose history is left out. */
  readonly without: readonly string[];
  /** "only" excludes commits that are not indexed, "no" searches without the index. */
  readonly index: YesNoOnly;
  readonly plans: readonly HistoryPlanWithOptions[];
}

/** One basic query that searches history. */
interface HistoryQuery {
  readonly resolution: Resolution;
  readonly without: readonly string[];
  readonly index: YesNoOnly;
  readonly plans: readonly HistoryPlanWithOptions[];
}

export function searchesHistory({ basicQueries }: SearchPlan): boolean {
  return basicQueries.some(({ history }) => history.length > 0);
}

/**
 * The repositories whose history is searched, in the order of their results: more stars first, then newer ones. With a
 * `base`, only commits that it does not reach.
 */
export function* chooseHistories(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  base?: HistoryBase,
): Generator<HistoryChoice, void> {
  const queries = plan.basicQueries.flatMap(({ history, repositories, optionsIndex }, i): HistoryQuery[] =>
    history.length === 0
      ? []
      : [
          {
            resolution: resolutions[i],
            without: [...new Set(repositories.include.flatMap(({ withoutHistoryOf }) => withoutHistoryOf))],
            index: repositories.index,
            plans: history.map((one) => ({ plan: one, optionsIndex })),
          },
        ],
  );
  for (const { repository, queriesOfIt } of repositoriesOfAll(queries)) {
    // It is reported as being cloned, or missing.
    if (repository.generation === 0) continue;
    const groups = new Map<string, HistoryGroup>();
    const makeGroups = (query: HistoryQuery): readonly HistoryGroup[] =>
      base === undefined
        ? [makeGroup(query, repository)]
        : newCommitGroups(query, repository, base.get(repository.id) ?? new Map());
    for (const group of queriesOfIt.flatMap(makeGroups)) {
      const key = JSON.stringify([group.from, group.fromHead, group.without, group.index]);
      const known = groups.get(key);
      groups.set(key, known === undefined ? group : { ...known, plans: [...known.plans, ...group.plans] });
    }
    if (groups.size > 0) yield { repository, groups: [...groups.values()] };
  }
}

function makeGroup({ resolution, without, index, plans }: HistoryQuery, repository: Repository): HistoryGroup {
  const commits = searchedChoices(resolution, repository).map(
    ({ bit, unindexed }) =>
      unindexed?.commit ?? repository.indexedBranches.find((branch) => branch.bit === bit)?.commit,
  );
  const from = [...new Set(commits.filter((commit) => commit !== undefined))].sort();
  return { from, fromHead: commits.includes(undefined), without, index, plans };
}

/**
 * Groups of the commits that the revisions reach, and none of them reached before. A revision that did not exist before has those that no
 * other one had reached, searched or not. What is not indexed is read from the mirror, whatever the query says: the index gets commits some
 * time after they became searchable.
 */
function newCommitGroups(
  { resolution, without, index, plans }: HistoryQuery,
  repository: Repository,
  before: ReadonlyMap<string, string>,
): readonly HistoryGroup[] {
  if (before.size === 0) return [];
  const choices = searchedChoices(resolution, repository);
  const reached = [...new Set(before.values())].sort();
  const searched = [...new Set(choices.flatMap(({ typed }) => before.get(typed) ?? []))].sort();
  // By both ends: several revisions may be the same branch.
  const groups = new Map<string, HistoryGroup>();
  for (const choice of choices) {
    const commit = commitAt(repository, choice)?.commit;
    const earlier = before.get(choice.typed);
    if (commit === undefined || commit === earlier) continue;
    const left = [...without, ...(earlier === undefined ? reached : searched)];
    const group = { from: [commit], fromHead: false, without: left, index: index === "only" ? "yes" : index, plans };
    groups.set(`${commit} ${earlier}`, group);
  }
  return [...groups.values()];
}

interface QueriedRepository {
  readonly repository: Repository;
  readonly queriesOfIt: HistoryQuery[];
}

/** Each list is in the order of results already. */
function repositoriesOfAll(queries: readonly HistoryQuery[]): Iterable<QueriedRepository> {
  const [first, ...others] = queries;
  if (others.length === 0)
    return first.resolution.repositories.map((repository) => ({ repository, queriesOfIt: [first] }));
  const byId = new Map<number, QueriedRepository>();
  for (const query of queries) {
    for (const repository of query.resolution.repositories) {
      const known = byId.get(repository.id);
      if (known === undefined) byId.set(repository.id, { repository, queriesOfIt: [query] });
      else known.queriesOfIt.push(query);
    }
  }
  return [...byId.values()].sort(
    (a, b) => b.repository.stars - a.repository.stars || b.repository.id - a.repository.id,
  );
}

/** Bytes of lists that are kept: two million commits. */
const keptBytesMax = 64 << 20;

/** What an entry weighs besides its commits. */
const entryBytes = 500;

/**
 * The commits that revisions reach, and which history shards have them. Lists of recent searches are kept: a list depends
 * on oids only, and is made again after each sync, because a mirror may have become deeper.
 */
export class CommitLists {
  readonly #kept = new BoundedMap<string, CommitList>(
    keptBytesMax,
    ({ oids, dates }) => oids.byteLength + dates.byteLength + entryBytes,
  );

  /** By list, for the shards that the last search of it had. */
  readonly #covers = new WeakMap<CommitList, { readonly shardIds: string; readonly cover: CoverResult }>();

  /** Which of the shards have the commits of a list, as `find` says. It is kept unless the search was stopped meanwhile. */
  async cover(
    { list, shards }: Pick<CoverTask, "list" | "shards">,
    control: Pick<ControlBlock, "isStopped">,
    find: () => Promise<CoverResult>,
  ): Promise<CoverResult> {
    const shardIds = shards.map(({ id }) => id).join();
    const known = this.#covers.get(list);
    if (known?.shardIds === shardIds) return known.cover;
    const cover = await find();
    if (cover.failures.length === 0 && !control.isStopped) this.#covers.set(list, { shardIds, cover });
    return cover;
  }

  async list(
    { id, generation }: Pick<Repository, "id" | "generation">,
    { from, fromHead, without }: Pick<HistoryGroup, "from" | "fromHead" | "without">,
    reads: Pick<ReadPool, "run">,
    limits: ReadLimits,
  ): Promise<ListedCommits> {
    const isKept = !fromHead && without.length === 0;
    const key = `${id} ${generation} ${from.join(" ")}`;
    const known = isKept ? this.#kept.get(key) : undefined;
    if (known !== undefined) return { list: known, missing: [], ambiguous: [] };
    const request = { kind: "list-commits", repositoryId: id, from, fromHead, without } as const;
    const listed = await reads.run<"list-commits">(request, limits);
    if (isKept) this.#kept.set(key, listed.list);
    return listed;
  }
}

const verified = new WeakMap<HistoryShardRecord, Int32Array>();

/**
 * How search workers are told of history shards. They share what they have verified, for the life of the record: the
 * catalog never changes the record of a shard.
 */
export function toStoredHistories(records: readonly HistoryShardRecord[]): readonly StoredHistory[] {
  return records.map((record) => {
    let words = verified.get(record);
    if (words === undefined) {
      words = new Int32Array(new SharedArrayBuffer(4 * Object.keys(historyParts).length));
      verified.set(record, words);
    }
    return { id: record.id, checksum: record.checksum, verified: words };
  });
}
