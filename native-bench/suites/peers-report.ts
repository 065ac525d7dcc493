import { queryName } from "../peers/queries.js";
import { categoryPlot, less, more, rowTable, table, type Cell, type Column } from "../report/build.js";
import { grouped, short } from "../report/numbers.js";
import type { Findings, Plot, Sample, Table } from "../report/run-report.js";
import { clientCount, resultsWanted, type ClientRound } from "./clients.js";
import { indexBuilds, ours, timeRatio, type ClientsOf, type PeersMeasured } from "./peers-measured.js";
import { peersTargets } from "./peers-targets.js";
import type { SearchOutcome } from "./searches.js";

export function reportPeers(measured: PeersMeasured): Findings {
  const { corpus, peers, searches, floors, first, clients } = measured;
  const floorRows = [...floors].map(([server, timesMs]) => {
    return { server, asked: "nothing: an HTTP answer without a search", timesMs };
  });
  return {
    notes: toNotes(measured),
    samples: toSamples(measured),
    tables: [
      ...searchTables(searches, peerNames(measured)),
      table(
        `To the end of an answer with the first ${resultsWanted} results of \`return\`, default limits`,
        [...first, ...floorRows],
        [
          ["server", ({ server }) => server],
          ["asked for", ({ asked }) => asked],
          ["ms", ({ timesMs }) => timesMs],
          ["rounds", ({ timesMs }) => timesMs.length],
        ],
      ),
      clientTable(clients),
      table("From a local git repository to a searchable index", indexBuilds(measured), [
        ["of", ({ name }) => name],
        ["s", ({ seconds }) => seconds],
        ["MB/s of text", ({ seconds }) => corpus.textBytes / 1e6 / seconds],
        ["peak memory, MB", ({ peakBytes }) => peakBytes / 1e6],
        ["on disk, MB", ({ diskBytes }) => diskBytes / 1e6],
        ["on disk, x the text", ({ diskBytes }) => diskBytes / corpus.textBytes],
      ]),
      rowTable(
        "Who is measured",
        ["name", "version"],
        [
          ...peers.found.map(({ name, version }) => [name, version]),
          ...peers.missing.map(({ name }) => [name, "not installed"]),
          [ours, "this checkout"],
        ],
      ),
    ],
    plots: toPlots(measured),
    targets: peersTargets(measured),
  };
}

/** Every peer that can be measured, installed or not, our daemon last. */
function peerNames({ peers: { found, missing } }: PeersMeasured): string[] {
  return [...found.map(({ name }) => name), ...missing.map(({ name }) => name), ours];
}

function toNotes({ corpus, peers, searches, clients, index }: PeersMeasured): string[] {
  const declined = searches.flatMap(({ query }) =>
    peers.found.flatMap((peer) => {
      const reason = peer.declines(query);
      return reason === undefined ? [] : [`${peer.name} is not asked for ${queryName(query)}: ${reason}.`];
    }),
  );
  const failures = clients.flatMap(({ server, rounds }) =>
    rounds.flatMap(({ failedCount, failure }) => {
      const text = `Of the ${clientCount} clients' requests to ${server}, ${failedCount} failed in a round: ${failure}.`;
      return failedCount > 0 ? [text] : [];
    }),
  );
  const built = peers.zoekt?.build.date;
  return [
    `The corpus is ${corpus.name}, ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files, ${corpus.checksum}.`,
    corpus.note,
    ...peers.missing.map(({ name, reason }) => `${name} is not measured: ${reason}.`),
    "Times are of whole answers, written to /dev/null. For rg, git grep and csearch: a whole process, timed by the shell that starts it. For the servers, zoekt and trawl: curl from before it connects, limits lifted. Everyone is warm: both servers had answered thousands of searches of many clients, and result sets were read and compared first.",
    "A ratio is that of two medians. It is given only where both found the lines that the first tool found, apart from differences with a known cause.",
    built === undefined
      ? ""
      : `zoekt's index was built once, at ${built}, and is kept for later runs; ours was built in this run, ${short(index.seconds)} s.`,
    ...declined,
    ...failures,
  ];
}

function toSamples(measured: PeersMeasured): Sample[] {
  const { searches, floors, first, clients } = measured;
  const ofRounds = (rounds: readonly ClientRound[], field: "requestsPerSecond" | "p50Ms" | "p99Ms"): number[] =>
    rounds.map((round) => round[field]);
  return [
    ...searches.flatMap(({ query, peers }) =>
      [...peers].map(([name, { timesMs }]) => less(`search ${queryName(query)}`, name, "ms", timesMs)),
    ),
    ...[...floors].map(([server, values]) => less("HTTP answer without a search", server, "ms", values)),
    ...first.map(({ server, asked, timesMs }) => less("first results of return", `${server}, ${asked}`, "ms", timesMs)),
    ...clients.flatMap(({ server, rounds }) => [
      more(`${clientCount} clients`, server, "requests/s", ofRounds(rounds, "requestsPerSecond")),
      less(`${clientCount} clients, p50`, server, "ms", ofRounds(rounds, "p50Ms")),
      less(`${clientCount} clients, p99`, server, "ms", ofRounds(rounds, "p99Ms")),
    ]),
    ...indexBuilds(measured).flatMap(({ name, seconds, peakBytes, diskBytes }) => [
      less("index build", name, "s", [seconds]),
      less("index build, peak memory", name, "MB", [peakBytes / 1e6]),
      less("index on disk", name, "MB", [diskBytes / 1e6]),
    ]),
  ];
}

/** Times, ratios of times, and lines that only one of two found. */
function searchTables(searches: readonly SearchOutcome[], names: readonly string[]): Table[] {
  const query: Column<SearchOutcome> = ["query", (outcome) => `\`${queryName(outcome.query)}\``];
  const megabytes = ({ peers }: SearchOutcome, name: string): Cell => {
    const bytes = peers.get(name)?.bytes;
    return bytes === undefined ? undefined : bytes / 1e6;
  };
  const ratioText = (outcome: SearchOutcome, name: string): string => {
    const value = timeRatio(outcome, name);
    return !outcome.peers.has(name) ? "" : value === undefined ? "differs" : `${short(value)}x`;
  };
  return [
    table("Searches: median (min..max), ms", searches, [
      query,
      ["lines", ({ lineCount }) => lineCount],
      ...names.map((name): Column<SearchOutcome> => [name, ({ peers }) => peers.get(name)?.timesMs]),
      ["answer of trawl, MB", (outcome) => megabytes(outcome, ours)],
      ["of zoekt, MB", (outcome) => megabytes(outcome, "zoekt")],
    ]),
    table("How many times as long as trawl the others take", searches, [
      query,
      ...names.slice(0, -1).map((name): Column<SearchOutcome> => [name, (outcome) => ratioText(outcome, name)]),
    ]),
    rowTable(
      "Lines that only one of two has found",
      ["query", "compared", "lines without a known cause", "known causes", "such as"],
      searches.flatMap(differenceRows),
    ),
  ];
}

function differenceRows({ query, reference, peers }: SearchOutcome): Cell[][] {
  return [...peers].flatMap(([name, { difference }]) => {
    const causes = Object.entries(difference.explained).map(([cause, count]) => `${grouped(count)}: ${cause}`);
    if (difference.unexplained === 0 && causes.length === 0) return [];
    const who = [`\`${queryName(query)}\``, `${name} with ${reference}`];
    return [[...who, difference.unexplained, causes.join("; "), difference.examples.join(", ")]];
  });
}

function clientTable(clients: readonly ClientsOf[]): Table {
  const column = (head: string, of: (round: ClientRound) => number): Column<ClientsOf> => [
    head,
    ({ rounds }) => rounds.map(of),
  ];
  return table(
    `${clientCount} clients, mixed interactive queries, ${resultsWanted} results each: of the rounds median (min..max)`,
    clients,
    [
      ["server", ({ server }) => server],
      column("requests/s", ({ requestsPerSecond }) => requestsPerSecond),
      column("p50 ms", ({ p50Ms }) => p50Ms),
      column("p99 ms", ({ p99Ms }) => p99Ms),
      ["failed", ({ rounds }) => rounds.reduce((sum, { failedCount }) => sum + failedCount, 0)],
      column("generator, share of a core", ({ generatorShare }) => generatorShare),
    ],
  );
}

function toPlots(measured: PeersMeasured): Plot[] {
  const { searches } = measured;
  const names = peerNames(measured);
  const byQuery = {
    kind: "points",
    label: "query",
    categories: searches.map(({ query }) => queryName(query)),
  } as const;
  const ratioAt = (name: string, outcome: SearchOutcome | undefined): number | undefined =>
    outcome === undefined ? undefined : timeRatio(outcome, name);
  const ratios = categoryPlot({
    ...byQuery,
    name: "peers-ratios",
    title: "How many times as long as trawl the others take, where the results are equal",
    values: "time ÷ trawl's",
    series: names.slice(0, -1),
    at: (name, i) => {
      const value = ratioAt(name, searches[i]);
      return value === undefined ? undefined : [value];
    },
  });
  const times = categoryPlot({
    ...byQuery,
    name: "peers-times",
    title: "Time of a whole answer, with all results: median, minimum and maximum",
    values: "time, ms",
    series: names,
    at: (name, i) => searches[i]?.peers.get(name)?.timesMs,
  });
  return [times, ratios];
}
