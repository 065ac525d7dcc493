import { BoundedMap } from "../../base/bounded-map.js";
import type { CommitList } from "../../git/history/commit-list.js";
import type { Repository } from "../../model/repository.js";
import type { ReadLimits, ReadPool } from "../../pool/read-pool.js";
import type { ControlBlock } from "../../protocol/control-block.js";
import type { CoverResult, CoverTask, ListedCommits } from "../../protocol/history-messages.js";
import type { HistoryGroup } from "./history-choice.js";

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
