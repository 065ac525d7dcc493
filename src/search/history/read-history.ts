import { deserializeError } from "../../base/errors.js";
import type { CommitList } from "../../git/history/commit-list.js";
import type { Repository } from "../../model/repository.js";
import type { BuiltHistory, HistoryPlanWithOptions } from "../../protocol/history-messages.js";
import type { HistoryContext } from "./history-context.js";
import type { HistoryGroup } from "./history-choice.js";
import type { ResultPages } from "./merge-pages.js";

/** Commits that are read at a time: few at first, so that the first results come soon. */
const rangeCommitsFirst = 128;
const rangeCommitsMax = 4096;

/** Ranges that are read ahead. Each has up to 16 MiB of changes. */
const readAheadCount = 1;

/** Searches commits that are not indexed: they are read from the mirror, some at a time, newest first. */
export async function* readHistory(
  repository: Repository,
  { from, fromHead, without, plans }: HistoryGroup,
  context: HistoryContext,
): ResultPages {
  const { list, missing } = await context.reads.run(
    { kind: "list-commits", repositoryId: repository.id, from, fromHead, without },
    context.readLimits,
  );
  for (const revision of missing) context.onMissingRevision(repository.name, `^${revision}`);
  const ranges = makeRanges(list, plans);
  const reading: Reading[] = [];
  const readNext = (): void => {
    const range = ranges.next();
    if (range.done === true) return;
    const shard = build(repository, list, range.value.from, range.value.to, context);
    // A failure is reported when its turn comes.
    shard.catch(() => undefined);
    reading.push({ ...range.value, shard });
  };
  for (let i = 0; i <= readAheadCount; i++) readNext();
  for (let one = reading.shift(); one !== undefined; one = reading.shift()) {
    for (let shard = one.shard; ; ) {
      if (context.control.isStopped) return;
      const built = await shard;
      context.onBuilt(repository.name, built);
      if (built.next < one.to) shard = build(repository, list, built.next, one.to, context);
      if (built.shard !== undefined) yield* searchShard(repository, built.shard, plans, context);
      if (built.next >= one.to) break;
    }
    readNext();
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
}

interface Reading extends Range {
  readonly shard: Promise<BuiltHistory>;
}

/** Ranges of the list, without commits whose date no plan accepts. */
function* makeRanges({ count, dates }: CommitList, plans: readonly HistoryPlanWithOptions[]): Generator<Range, void> {
  const before = Math.max(...plans.map(({ plan }) => plan.committedBefore ?? Infinity));
  const after = Math.min(...plans.map(({ plan }) => plan.committedAfter ?? -Infinity));
  let at = 0;
  let end = count;
  while (at < end && dates[at] >= before) at++;
  while (end > at && dates[end - 1] <= after) end--;
  for (let size = rangeCommitsFirst; at < end; size = Math.min(rangeCommitsMax, size * 2)) {
    const to = Math.min(end, at + size);
    yield { from: at, to };
    at = to;
  }
}

function build(
  { id }: Repository,
  list: CommitList,
  from: number,
  to: number,
  { reads, readLimits }: HistoryContext,
): Promise<BuiltHistory> {
  return reads.run({ kind: "build-history", repositoryId: id, list, from, to }, readLimits);
}

/** Searches one shard, in as many steps as its results need. */
async function* searchShard(
  repository: Repository,
  shard: Uint8Array,
  plans: readonly HistoryPlanWithOptions[],
  context: HistoryContext,
): ResultPages {
  for (let skipCount = 0; !context.control.isStopped; ) {
    const { results, isDone, error } = await context.search({
      shard,
      plans,
      repository: {
        id: repository.id,
        name: repository.name,
        stars: repository.stars,
        lastFetched: repository.lastFetched,
      },
      skipCount,
    });
    if (error !== undefined) throw deserializeError(error);
    if (results.length > 0) yield results;
    if (isDone) return;
    skipCount += results.length;
  }
}
