import { TrawlError, errorMessage } from "../../src/base/errors.js";
import { type Corpus, openCorpus } from "../corpus/corpus.js";
import type { Trawl } from "../peers/trawl.js";
import { openZoekt, type Zoekt } from "../peers/zoekt.js";
import {
  findRank,
  type Half,
  measureQuality,
  type Quality,
  type RankedQuery,
  readTestSet,
  splitWords,
} from "../ranking/test-set.js";
import type { Results } from "../report/results.js";
import { table } from "../report/views.js";
import { ours, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** How high the file that a person wants is among the results, beside zoekt with its symbols. */
export const rankingSuite: Suite = {
  name: "ranking",
  title: "Ranking: the file and line that a person wants",
  measure,
};

/** What must be better than zoekt's, and by how much. */
const aheadMust = 10;
const aims = { first: 80, firstFive: 95, meanReciprocal: 0.85 } as const;

/** A quick run has only these. */
const quickCorpora: ReadonlySet<string> = new Set(["webpack", "eslint"]);

interface Asked {
  readonly query: RankedQuery;
  /** By server; 0 where the file is not found. */
  readonly ranks: ReadonlyMap<string, number>;
}

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const all = readTestSet();
  const trawl = await startDaemon(context, "ranking-data");
  const asked: Asked[] = [];
  for (const name of new Set(all.map(({ corpus }) => corpus))) {
    if (context.isQuick && !quickCorpora.has(name)) continue;
    try {
      const corpus = await openCorpus(name, context);
      const queries = all.filter((query) => query.corpus === name);
      asked.push(...(await askServers(corpus, queries, trawl, context, results)));
    } catch (error) {
      results.note(`${name} is not measured: ${errorMessage(error)}.`);
    }
  }
  await trawl.stop();
  if (asked.length === 0) throw new TrawlError("not-found", "no corpus of the test set could be made");
  for (const half of ["tuning", "held-out"] as const) report(half, asked, context, results);
}

async function askServers(
  corpus: Corpus,
  queries: readonly RankedQuery[],
  trawl: Trawl,
  context: SuiteContext,
  results: Results,
): Promise<Asked[]> {
  context.progress(`indexing ${corpus.name}, with symbols`);
  await trawl.add(corpus.name, corpus.path, context.progress);
  await trawl.waitForSymbols();
  const zoekt = await openZoekt(corpus, context, true);
  if (zoekt.kind === "missing") results.note(`zoekt is not measured: ${zoekt.reason}.`);
  const peer: Zoekt | undefined = zoekt.kind === "found" ? zoekt.peer : undefined;
  const asked: Asked[] = [];
  for (const query of queries) {
    const ranks = new Map([[ours, findRank(await trawl.rankedFiles(corpus.name, query.query), query)]]);
    if (peer !== undefined) ranks.set("zoekt", findRank(await peer.rankedFiles(splitWords(query.query)), query));
    asked.push({ query, ranks });
  }
  await peer?.stop();
  return asked;
}

function report(half: Half, all: readonly Asked[], { progress, isQuick }: SuiteContext, results: Results): void {
  const asked = all.filter(({ query }) => query.half === half);
  const servers = [ours, "zoekt"].filter((server) => asked.every(({ ranks }) => ranks.has(server)));
  const rows = servers.map((server) => ({
    server,
    ...measureQuality(asked.map(({ ranks }) => ranks.get(server) ?? 0)),
  }));
  results.table(
    table(`The ${half} half: ${asked.length} queries`, rows, [
      ["server", ({ server }) => server],
      ["recall@1, %", ({ first }) => first],
      ["recall@5, %", ({ firstFive }) => firstFive],
      ["MRR", ({ meanReciprocal }) => meanReciprocal],
    ]),
  );
  for (const { server, first, firstFive, meanReciprocal } of rows)
    progress(
      `${half}, ${asked.length} queries, ${server}: recall@1 ${first.toFixed(1)} %, recall@5 ${firstFive.toFixed(1)} %, MRR ${meanReciprocal.toFixed(3)}`,
    );
  // Places in the held-out half are not shown, so that nobody chooses weights by them.
  if (half === "held-out") return isQuick ? undefined : addTargets(rows, results);
  results.table(
    table(
      "Places of the wanted file, where it is not first",
      asked.filter(({ ranks }) => ranks.get(ours) !== 1),
      [
        ["corpus", ({ query }) => query.corpus],
        ["query", ({ query }) => `\`${query.query}\``],
        ["wanted", ({ query }) => query.path],
        ["trawl", ({ ranks }) => ranks.get(ours)],
        ["zoekt", ({ ranks }) => ranks.get("zoekt")],
      ],
    ),
  );
}

function addTargets([own, other]: readonly Quality[], results: Results): void {
  if (own === undefined) return;
  const addTarget = (what: string, unit: string, key: keyof typeof aims, scale: number, most: number): void => {
    const must = other === undefined ? undefined : Math.min(most, other[key] + aheadMust * scale);
    results.targets({ what: `held-out queries: ${what}`, unit, value: own[key], atLeast: [must, aims[key]] });
  };
  addTarget("recall@1", "%", "first", 1, 100);
  addTarget("recall@5", "%", "firstFive", 1, 100);
  addTarget("MRR", "", "meanReciprocal", 0.01, 1);
}
