import { type Corpus, openMainCorpus } from "../corpus/corpus.js";
import { compare, type Difference, type Peer } from "../peers/peer.js";
import { KnownDifferences, openPeers, type Peers } from "../peers/peers.js";
import { type BenchQuery, queries, type QueryLimits, queryName, quickQueries } from "../peers/queries.js";
import { trawlPeer } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { type Column, table } from "../report/views.js";
import { type IndexRun, measureIndex } from "./indexing.js";
import { longSearches, ours, startDaemon, type Suite, type SuiteContext } from "./suite.js";
import { alternate } from "../system/measure.js";
import { TrawlError } from "../../src/base/errors.js";

/** Every query on every installed tool, and the index builds of the two servers. */
export const peersSuite: Suite = { name: "peers", title: "Side by side with other tools", measure };

/** Searches before the measurement, so that the servers are as in use: code that is still compiled takes three times as long. */
const warmingSearches = 200;

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, rounds, progress } = context;
  const corpus = await openMainCorpus(context);
  const peers = await openPeers(corpus, context);
  const trawl = await startDaemon(context, "peers-data", ...longSearches);
  const index = await measureIndex(trawl, corpus.name, corpus.path, progress);
  progress("waiting until the symbols are extracted");
  await trawl.waitForSymbols();
  addNotes(results, corpus, peers, index);
  const asked = isQuick ? quickQueries : queries;
  progress("warming up");
  const [usual] = asked;
  for (let i = 0; i < (isQuick ? 20 : warmingSearches) && usual !== undefined; i++) {
    await trawlPeer(trawl).time(usual);
    await peers.zoekt?.time(usual);
  }
  results.grid('Searches: whole answers; "vs": how many times as long as trawl the others take', ours, "peers-times");
  const differences = new KnownDifferences(corpus, peers.ripgrep);
  const outcomes: SearchOutcome[] = [];
  for (const query of asked) {
    progress(`${queryName(query)}: everyone's results, then ${rounds} rounds`);
    const outcome = await measureSearch([...peers.found, trawlPeer(trawl)], differences, query, rounds, results);
    outcomes.push(outcome);
    progress(`${queryName(query)}: ${outcome.lineCount} lines; trawl ${results.text(searchTask(query), ours)}`);
  }
  await peers.zoekt?.stop();
  await trawl.stop();
  reportSearches(results, outcomes, peers);
  reportIndex(results, peers, index);
}

function addNotes(results: Results, corpus: Corpus, { missing, zoekt }: Peers, index: IndexRun): void {
  results.note(
    `The corpus is ${corpus.name}, ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files, ${corpus.checksum}.`,
    corpus.note,
    ...missing.map(({ name, reason }) => `${name} is not measured: ${reason}.`),
    "Times are of whole answers, written to /dev/null. For rg, git grep and csearch: a whole process, timed by the shell that starts it. For the servers, zoekt and trawl: curl from before it connects, limits lifted. Everyone is warm: both servers had answered hundreds of searches, and result sets were read and compared first.",
    "A ratio is that of two medians. It is given only where both found the lines that the first tool found, apart from differences with a known cause.",
    zoekt === undefined
      ? ""
      : `zoekt's index was built once, at ${zoekt.build.date}, and is kept for later runs; ours was built in this run, ${short(index.seconds)} s.`,
  );
}

/** What the peers found for one query. */
export interface SearchOutcome {
  readonly query: BenchQuery;
  /** The peer that the others' results are compared with, and how many lines it found. */
  readonly reference: string;
  readonly lineCount: number;
  /** By name, of the peers that were asked: the size of the answer, and how its lines differ from the reference's. */
  readonly peers: ReadonlyMap<string, { readonly bytes: number; readonly difference: Difference }>;
}

function searchTask(query: BenchQuery): string {
  return `search ${queryName(query)}`;
}

/**
 * Asks every peer for its result set, compares each with that of the first one, and then measures them in turn. Reading
 * the result sets is the warm-up round, so they may be read concurrently.
 */
export async function measureSearch(
  peers: readonly Peer[],
  differences: KnownDifferences,
  query: BenchQuery,
  rounds: number,
  results: Results,
): Promise<SearchOutcome> {
  for (const { name, declines } of peers) {
    const reason = declines(query);
    if (reason !== undefined) results.note(`${name} is not asked for ${queryName(query)}: ${reason}.`);
  }
  const asked = peers.filter((peer) => peer.declines(query) === undefined);
  const [first, ...others] = await Promise.all(asked.map(async (peer) => ({ peer, ...(await peer.results(query)) })));
  if (first === undefined) throw new TrawlError("internal", "there is no peer to ask");
  const reference = { name: first.peer.name, lines: first.lines };
  const same: Difference = { explained: {}, unexplained: 0, examples: [] };
  const outcomes = new Map([[reference.name, { bytes: first.bytes, difference: same }]]);
  for (const other of others) {
    const { peer, lines, bytes } = other;
    const difference = compare({ name: peer.name, lines }, reference, await differences.of(query, other, first));
    if (difference.unexplained > 0) results.setIncomparable(searchTask(query), peer.name);
    outcomes.set(peer.name, { bytes, difference });
  }
  const measures = asked.map((peer) => () => peer.time(query));
  const times = await alternate(rounds, measures);
  for (const [i, { name }] of asked.entries()) results.less(searchTask(query), name, "ms", times[i] ?? []);
  return { query, reference: reference.name, lineCount: first.lines.count, peers: outcomes };
}

/** Tables and targets of all searches. */
export function reportSearches(results: Results, outcomes: readonly SearchOutcome[], { found }: Pick<Peers, "found">) {
  const size = (name: string): Column<SearchOutcome> => [
    `${name}, MB`,
    ({ peers }) => {
      const bytes = peers.get(name)?.bytes;
      return bytes === undefined ? undefined : bytes / 1e6;
    },
  ];
  const compared = outcomes.flatMap(({ query, reference, peers }) =>
    [...peers].map(([name, { difference }]) => ({ query, name, reference, ...difference })),
  );
  const causes = (explained: Difference["explained"]): string =>
    Object.entries(explained)
      .map(([cause, count]) => `${grouped(count)}: ${cause}`)
      .join("; ");
  results.table(
    table("Answers: lines, and sizes", outcomes, [
      ["query", ({ query }) => `\`${queryName(query)}\``],
      ["lines", ({ lineCount }) => lineCount],
      ...[...found.map(({ name }) => name), ours].map(size),
    ]),
  );
  results.table(
    table(
      "Lines that only one of two has found",
      compared.filter(({ unexplained, explained }) => unexplained > 0 || causes(explained) !== ""),
      [
        ["query", ({ query }) => `\`${queryName(query)}\``],
        ["compared", ({ name, reference }) => `${name} with ${reference}`],
        ["lines without a known cause", ({ unexplained }) => unexplained],
        ["known causes", ({ explained }) => causes(explained)],
        ["such as", ({ examples }) => examples.join(", ")],
      ],
    ),
  );
  for (const { query } of outcomes)
    for (const peer of Object.keys(query.limits) as (keyof QueryLimits)[])
      results.targets({
        what: `${queryName(query)}: time of ${peer} ÷ ours`,
        of: [searchTask(query), peer],
        over: [searchTask(query), ours],
        atLeast: query.limits[peer] ?? [undefined],
      });
}

/** Our index and zoekt's: time, memory and size of their builds. */
function reportIndex(results: Results, { zoekt }: Peers, { seconds, dataBytes, peak }: IndexRun): void {
  const [time, memory, disk] = ["index build", "index build, peak memory", "index on disk"] as const;
  results.grid("From a local git repository to a searchable index", ours);
  const record = (name: string, build: { seconds: number; peakBytes: number; diskBytes: number }): void => {
    results.less(time, name, "s", build.seconds);
    results.less(memory, name, "MB", build.peakBytes / 1e6);
    results.less(disk, name, "MB", build.diskBytes / 1e6);
  };
  if (zoekt !== undefined) record("zoekt", zoekt.build);
  record(ours, { seconds, peakBytes: peak.togetherBytes, diskBytes: dataBytes });
  const pair = (task: string): string => `${results.text(task, ours)} against ${short(results.median(task, "zoekt"))}`;
  const note = `${pair(memory)}, resident with git's processes; ${short(peak.anonymousBytes / 1e6)} of the daemon's are anonymous`;
  results.targets(
    { what: "index build: time of zoekt ÷ ours", of: [time, "zoekt"], over: [time, ours], atLeast: [8.5, 10] },
    {
      what: "index build: our memory ÷ zoekt's",
      of: [memory, ours],
      over: [memory, "zoekt"],
      atMost: [0.51, 0.4],
      note,
    },
    { what: "index on disk: ours ÷ zoekt's", of: [disk, ours], over: [disk, "zoekt"], atMost: [0.65, 0.5] },
  );
}
