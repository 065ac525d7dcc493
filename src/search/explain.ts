import { callAfter, monotonicMs } from "../base/deadline.js";
import { choosePatternType, parseQuery } from "../query/syntax/parse.js";
import { planQuery } from "../query/plan/plan-query.js";
import { printPlan, printTree } from "../query/plan/print.js";
import { QueryError } from "../query/syntax/query-error.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { operatorClient } from "../model/client.js";
import { operatorViewer } from "../model/viewer.js";
import type { CatalogView } from "../catalog/live-shards.js";
import type { SearchContexts } from "../query/plan/search-contexts.js";
import type { SearchPlan } from "../query/plan/plan.js";
import { addStats, noStats, type SearchOptions, type SearchStats } from "../protocol/search-options.js";
import { ControlBlock, makeResultLimits } from "../protocol/control-block.js";
import { prepare } from "./preparation/search-preparation.js";
import {
  indexedSelection,
  readOpenRevisions,
  type Resolution,
  resolveRepositories,
} from "./repositories/repository-resolver.js";
import { chooseShards, estimateCost, textChoices } from "./slices/shard-choice.js";
import { describeExcluded } from "./partition/source-record.js";
import { explainPhases } from "./revisions/revision-phases.js";
import type { SourceServices } from "./partition/local-source.js";
import type { Catalog } from "../catalog/catalog.js";
import type { CommitList } from "../git/history/commit-list.js";
import type { CoverResult } from "../protocol/history-messages.js";
import { headerPlans, needsFiles } from "./history/read-history.js";
import type { HistoryServices } from "./history/history-context.js";
import { chooseHistories, type HistoryGroup, searchesHistory, toStoredHistories } from "./history/history-choice.js";
import { countUnlimited, isRanked, type LimitDefaults, searchLimits } from "./limits/search-limits.js";
import type { SliceServices } from "./slices/search-slices.js";
import { describeScore, RankedPass } from "./ranking/ranked-pass.js";

/** Credit that no search uses up, because explaining sends no results. */
const unlimitedCredit = 2 ** 30;

/** Time limit for reading mirrors. */
const readMsMax = 20_000;

/**
 * Describes how a query is parsed and planned, what the index rules out in each shard, and how the first results are
 * scored, as text. The query is executed completely in one worker and its results are discarded. For revisions that are
 * not indexed, it reports what a search would read.
 */
export async function explainQuery(
  query: string,
  patternType: string,
  contexts: SearchContexts,
  searchId: number,
  environment: ExplainEnvironment,
): Promise<string> {
  try {
    const type = choosePatternType(query, "", patternType);
    const plan = planQuery(query, type, contexts);
    const lines = [
      `pattern type: ${type}`,
      `parsed: ${printTree(parseQuery(query, type))}`,
      `plan: ${printPlan(plan)}`,
    ];
    return [...lines, ...(await explainPlan(searchId, plan, environment)), ""].join("\n");
  } catch (error) {
    if (error instanceof QueryError) throw new TrawlError("bad-query", error.printWithCaret());
    throw error;
  }
}

type ExplainEnvironment = Pick<
  SourceServices,
  "pool" | "scheduler" | "commitAttributes" | "ownersOf" | "revisions" | "log"
> &
  LimitDefaults & { readonly catalog: Catalog };

async function explainPlan(searchId: number, plan: SearchPlan, environment: ExplainEnvironment): Promise<string[]> {
  const { catalog, revisions } = environment;
  const table = catalog.repositoryTable(operatorViewer);
  const view = catalog.view();
  const control = ControlBlock.allocate(1, unlimitedCredit, 0);
  const failures: string[] = [];
  try {
    const chosen = await Promise.all(
      plan.basicQueries.map(async ({ repositories }) => {
        const limits = { stop: control.memory, timeoutMs: readMsMax, client: operatorClient };
        const open = resolveRepositories(table, repositories);
        const { resolution, failures: unread } = await readOpenRevisions(open, revisions.reads, limits);
        failures.push(...unread);
        return resolution;
      }),
    );
    const { resolutions, people, excluded } = await prepare(plan, chosen, {
      ...environment,
      limits: revisions.limits,
      view,
      control,
      lane: "exhaustive",
      client: operatorClient,
      deadlineMs: performance.now() + readMsMax,
      onResult: (result) =>
        failures.push(
          ...result.failures.map((failure) => failure.error.message),
          ...result.excluded.map(describeExcluded),
        ),
      onLost: (error) => failures.push(errorMessage(error)),
    });
    failures.push(...excluded.map(({ repository, reason }) => `${repository}: ${reason}`));
    const lines = resolutions.map((resolution, i) => describeResolution(resolution, i, table.count));
    const phases = await explainPhases(
      resolutions.map(({ selection }) => selection),
      {
        ...revisions,
        texts: plan.basicQueries.map(({ text }) => text),
        repositories: table,
        view,
        control,
        coversAll: false,
        timeoutMs: readMsMax,
        client: operatorClient,
        problems: { failures, incompleteRevisions: new Set(), symbolFaults: new Set() },
      },
    );
    const options = explainOptions(plan, resolutions, people);
    lines.push(...(await explainHistories(plan, resolutions, control, environment)));
    lines.push(...phases, describeEstimate(plan, options, view));
    lines.push(...(await explainShards(searchId, options, view, control, environment)));
    return [...lines, ...(await explainRanking(searchId, options, view, environment)), ...failures];
  } finally {
    view.release();
  }
}

function describeResolution(resolution: Resolution, i: number, allCount: number): string {
  return (
    `repositories of basic query ${i + 1}: ${resolution.repositories.length} of ${allCount}` +
    `, ${resolution.excludedForks.length} forks and ${resolution.excludedArchived.length} archived excluded`
  );
}

/** What a search examines at most, as `explain=1` of the stream tells it. */
function describeEstimate(plan: SearchPlan, { selections }: SearchOptions, view: CatalogView): string {
  const { rows, ruledOutCount } = chooseShards(view, textChoices(plan, selections), false);
  const { shards, documents, textBytes } = estimateCost(view, rows, ruledOutCount);
  return `at most: ${shards} shards with ${documents} documents and ${textBytes} bytes of text; ${ruledOutCount} shards ruled out without opening them`;
}

function explainOptions(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  people: SharedArrayBuffer | undefined,
): SearchOptions {
  return {
    plan,
    chunkMatches: false,
    contextLines: 0,
    lineBytesMax: 1000,
    cutsAround: false,
    matchCountMax: countUnlimited,
    displayCountMax: 0,
    resultLimits:
      plan.resultOptions.length === 1 ? undefined : makeResultLimits(plan.resultOptions.map(() => undefined)),
    people,
    selections: resolutions.map((resolution) => indexedSelection(resolution.selection)),
    useIndex: true,
    receipt: false,
    claims: undefined,
    group: undefined,
    commitSets: undefined,
    idBase: 0,
  };
}

async function explainShards(
  searchId: number,
  options: SearchOptions,
  view: CatalogView,
  control: ControlBlock,
  { pool, scheduler, maxTimeoutMs }: ExplainEnvironment,
): Promise<string[]> {
  const shardRows = Uint32Array.from(view.shards.keys());
  const sum = noStats();
  const byShard = new Map<number, SearchStats>();
  const failures: string[] = [];
  const deadlineMs = monotonicMs() + maxTimeoutMs;
  let resume: Parameters<typeof pool.run>[0]["resume"];
  do {
    const task = {
      searchId,
      slice: 0,
      options,
      table: view.table.memory,
      filter: view.filter.memory,
      rows: shardRows,
      cached: [],
      control: control.memory,
      slot: 0,
      isAlone: false,
      lane: "exhaustive",
      resume,
      explain: true,
      ranked: undefined,
    } as const;
    const result = await scheduler.run("exhaustive", operatorClient, () => pool.run(task, deadlineMs));
    for (const { shard, stats } of result.shardStats) {
      const known = byShard.get(shard) ?? noStats();
      addStats(known, stats);
      byShard.set(shard, known);
    }
    addStats(sum, result.stats);
    failures.push(...result.failures.map((failure) => failure.error.message), ...result.excluded.map(describeExcluded));
    resume = result.resume;
  } while (resume !== undefined);
  const rows = [...byShard].map(([shard, stats]) => {
    const { contentBytes } = view.shards[shard].record;
    return `shard ${view.shards[shard].record.id}: ${describe(stats, contentBytes)}`;
  });
  const total = view.shards.reduce((bytes, shard) => bytes + shard.record.contentBytes, 0);
  return [
    ...rows,
    `all ${view.shards.length} shards: ${describe(sum, total)}`,
    `took: ${control.cost.workerMs.toFixed(1)} ms of worker time`,
    `matches: ${control.matchCount}`,
    ...failures,
  ];
}

function describe(stats: SearchStats, contentBytes: number): string {
  if (stats.shardsRuledOut > 0 && stats.candidateContents === 0)
    return `ruled out by the index (${stats.postingBytes} bytes of postings read)`;
  return (
    `${stats.postingBytes} bytes of postings → ${stats.candidateContents} candidate contents → ${stats.documentsFiltered} documents pass the filters` +
    ` → ${stats.scannedBytes} of ${contentBytes} bytes scanned → ${stats.documentsMatched} documents match`
  );
}

/** Repositories that are described one by one. */
const describedMax = 20;

/** Time limit for listing the commits of a repository. */
const listMsMax = 60_000;

type HistoryEnvironment = Pick<HistoryServices, "pool" | "scheduler" | "revisions"> & {
  readonly catalog: Pick<Catalog, "historyOf">;
};

/** A line for each history that a search would read; none if it searches no history. */
async function explainHistories(
  plan: SearchPlan,
  resolutions: readonly Resolution[],
  control: ControlBlock,
  { catalog, pool, scheduler, revisions: { reads } }: HistoryEnvironment,
): Promise<string[]> {
  if (!searchesHistory(plan)) return [];
  const lines: string[] = [];
  let count = 0;
  for (const { repository, groups } of chooseHistories(plan, resolutions)) {
    if (++count > describedMax) continue;
    for (const group of groups) {
      const { from, fromHead, without, index } = group;
      const shards = index === "no" ? [] : toStoredHistories(catalog.historyOf(repository.id));
      const cover = (list: CommitList): Promise<CoverResult> =>
        scheduler.run("exhaustive", operatorClient, () => pool.coverHistory({ list, shards, control: control.memory }));
      const listed = await reads
        .run<"list-commits">(
          { kind: "list-commits", repositoryId: repository.id, from, fromHead, without },
          { stop: control.memory, timeoutMs: listMsMax, client: operatorClient },
        )
        .then(async ({ list }) => describeList(list, shards.length === 0 ? undefined : await cover(list), group))
        .catch((error: unknown) => errorMessage(error));
      lines.push(`history of ${repository.name}: ${listed}`);
    }
  }
  if (count > describedMax) lines.push(`history of ${count - describedMax} other repositories: not listed`);
  return lines;
}

function describeList({ count }: CommitList, cover: CoverResult | undefined, group: HistoryGroup): string {
  const unindexedCount = cover?.missing.length ?? count;
  const indexed =
    cover === undefined ? "" : `${count - unindexedCount} commits are in ${cover.shards.length} history shards`;
  const unread = group.index === "only" ? "are not searched" : `are read from the mirror, ${describeWork(group)}`;
  const unindexed = unindexedCount === 0 && cover !== undefined ? "" : `${unindexedCount} commits ${unread}`;
  return [indexed, unindexed].filter((part) => part !== "").join("; ");
}

function describeWork({ plans }: HistoryGroup): string {
  if (!needsFiles(plans)) return "without their changes";
  return headerPlans(plans) === undefined
    ? "with their changes"
    : "with the changes of those whose message and people satisfy the query";
}

/** Describes the documents that a search of the indexed branches sends first, and how they were scored. */
async function explainRanking(
  id: number,
  options: SearchOptions,
  view: CatalogView,
  environment: SliceServices & LimitDefaults,
): Promise<string[]> {
  const { plan, selections } = options;
  const limits = searchLimits(plan, { defaultCount: undefined, display: undefined }, environment);
  if (!isRanked(plan, limits)) return ["not ranked: results are sent in the order in which they are found"];
  const control = ControlBlock.allocate(1, unlimitedCredit, 0);
  const timeout = callAfter(environment.maxTimeoutMs, () => control.cancel());
  const search = {
    id,
    environment,
    view,
    control,
    lane: "exhaustive",
    client: operatorClient,
    debug: true,
    slices: undefined,
  } as const;
  const { rows } = chooseShards(view, textChoices(plan, selections), false);
  const { matchCountMax, displayCountMax } = limits;
  const ranked = { ...options, matchCountMax, displayCountMax };
  const { best } = await new RankedPass(search, { options: ranked, rows, cached: [], ranked: undefined }).run();
  timeout.cancel();
  return [
    `ranked: ${best.length} documents`,
    ...best.map((document, i) => {
      const path = Buffer.from(document.path, "latin1").toString();
      return `${i + 1}. ${document.repository}:${path}: ${describeScore(document)}`;
    }),
  ];
}
