import { monotonicMs } from "../base/deadline.js";
import { choosePatternType } from "../query/fields/pattern-type.js";
import { parseQuery } from "../query/syntax/parse.js";
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
import { ControlBlock } from "../protocol/control-block.js";
import { makeResultLimits } from "../protocol/result-limits.js";
import { prepare } from "./preparation/look-ups.js";
import {
  indexedSelection,
  readOpenRevisions,
  resolveRepositories,
  type Resolution,
} from "./repositories/repository-resolver.js";
import { chooseShards, estimateCost, textChoices } from "./slices/shard-choice.js";
import { describeExcluded } from "./report/progress.js";
import { explainHistories } from "./history/explain-histories.js";
import { explainPhases } from "./revisions/revision-phases.js";
import { explainRanking } from "./ranking/explain-ranking.js";
import type { SearchEnvironment } from "./search-environment.js";

/** Credit that no search uses up, because explaining sends no results. */
const unlimitedCredit = 2 ** 30;

/** Time limit for reading mirrors. */
const readMsMax = 20_000;

const countAll = 99_999_999;

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
  SearchEnvironment,
  | "catalog"
  | "pool"
  | "scheduler"
  | "commitAttributes"
  | "ownersOf"
  | "revisions"
  | "log"
  | "defaultCount"
  | "defaultTimeoutMs"
  | "maxTimeoutMs"
>;

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
    matchCountMax: countAll,
    displayCountMax: 0,
    resultLimits:
      plan.resultOptions.length === 1 ? undefined : makeResultLimits(plan.resultOptions.map(() => undefined)),
    people,
    selections: resolutions.map((resolution) => indexedSelection(resolution.selection)),
    useIndex: true,
    receipt: false,
    claims: undefined,
    commitSets: undefined,
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
