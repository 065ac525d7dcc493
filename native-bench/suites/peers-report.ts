import type { Corpus } from "../corpus/corpus.js";
import type { Peers } from "../peers/peers.js";
import { nameOf, type QueryLimits } from "../peers/queries.js";
import { categoryPlot, less, more, ratio, rowTable, table, type Cell, type Column } from "../report/build.js";
import { grouped, short } from "../report/numbers.js";
import type { Findings, Limits, Plot, Sample, Table, Target } from "../report/run-report.js";
import { atLeast, atMost, limits } from "../report/targets.js";
import { medianOf } from "../system/measure.js";
import { clientCount, resultsWanted, type ClientRound } from "./clients.js";
import type { IndexRun } from "./indexing.js";
import { areComparable, type SearchOutcome } from "./searches.js";

/** What the suite measured. Peers that are not installed have no times. */
export interface PeersMeasured {
  readonly corpus: Corpus;
  readonly peers: Peers;
  readonly isQuick: boolean;
  readonly index: IndexRun;
  readonly searches: readonly SearchOutcome[];
  /** Milliseconds of an HTTP answer without a search, by server. */
  readonly floors: ReadonlyMap<string, readonly number[]>;
  readonly first: readonly FirstResults[];
  readonly clients: readonly ClientsOf[];
}

type Server = "trawl" | "zoekt";

/** To the end of an answer with the first results of `return`. */
export interface FirstResults {
  readonly server: Server;
  readonly asked: string;
  readonly timesMs: readonly number[];
}

export interface ClientsOf {
  readonly server: Server;
  readonly rounds: readonly ClientRound[];
}

const ours = "trawl";

export function reportPeers(measured: PeersMeasured): Findings {
  const { corpus, peers, searches, floors, first, clients } = measured;
  const floorRows = [...floors].map(([server, timesMs]) => {
    return { server, asked: "nothing: an HTTP answer without a search", timesMs };
  });
  return {
    notes: notesOf(measured),
    samples: samplesOf(measured),
    tables: [
      ...searchTables(searches, namesOf(measured)),
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
      table("From a local git repository to a searchable index", buildsOf(measured), [
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
    plots: plotsOf(measured),
    targets: [
      ...searches.flatMap((outcome) => searchTargets(outcome, searches)),
      ...firstTargets(measured),
      ...clientTargets(measured),
      ...indexTargets(measured),
    ],
  };
}

/** Every peer that can be measured, installed or not, our daemon last. */
function namesOf({ peers: { found, missing } }: PeersMeasured): string[] {
  return [...found.map(({ name }) => name), ...missing.map(({ name }) => name), ours];
}

function notesOf({ corpus, peers, searches, clients, index }: PeersMeasured): string[] {
  const declined = searches.flatMap(({ query }) =>
    peers.found.flatMap((peer) => {
      const reason = peer.declines(query);
      return reason === undefined ? [] : [`${peer.name} is not asked for ${nameOf(query)}: ${reason}.`];
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
  ].filter((note) => note !== "");
}

function samplesOf(measured: PeersMeasured): Sample[] {
  const { searches, floors, first, clients } = measured;
  const ofRounds = (rounds: readonly ClientRound[], field: "requestsPerSecond" | "p50Ms" | "p99Ms"): number[] =>
    rounds.map((round) => round[field]);
  return [
    ...searches.flatMap(({ query, peers }) =>
      [...peers].map(([name, { timesMs }]) => less(`search ${nameOf(query)}`, name, "ms", timesMs)),
    ),
    ...[...floors].map(([server, values]) => less("HTTP answer without a search", server, "ms", values)),
    ...first.map(({ server, asked, timesMs }) => less("first results of return", `${server}, ${asked}`, "ms", timesMs)),
    ...clients.flatMap(({ server, rounds }) => [
      more(`${clientCount} clients`, server, "requests/s", ofRounds(rounds, "requestsPerSecond")),
      less(`${clientCount} clients, p50`, server, "ms", ofRounds(rounds, "p50Ms")),
      less(`${clientCount} clients, p99`, server, "ms", ofRounds(rounds, "p99Ms")),
    ]),
    ...buildsOf(measured).flatMap(({ name, seconds, peakBytes, diskBytes }) => [
      less("index build", name, "s", [seconds]),
      less("index build, peak memory", name, "MB", [peakBytes / 1e6]),
      less("index on disk", name, "MB", [diskBytes / 1e6]),
    ]),
  ];
}

/** Times, ratios of times, and lines that only one of two found. */
function searchTables(searches: readonly SearchOutcome[], names: readonly string[]): Table[] {
  const query: Column<SearchOutcome> = ["query", (outcome) => `\`${nameOf(outcome.query)}\``];
  const megabytes = ({ peers }: SearchOutcome, name: string): Cell => {
    const bytes = peers.get(name)?.bytes;
    return bytes === undefined ? undefined : bytes / 1e6;
  };
  const ratioText = (outcome: SearchOutcome, name: string): string => {
    const value = ratioOf(outcome, name);
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
    const who = [`\`${nameOf(query)}\``, `${name} with ${reference}`];
    return [[...who, difference.unexplained, causes.join("; "), difference.examples.join(", ")]];
  });
}

/** The peer's median divided by ours; undefined where the results differ or one of them was not asked. */
function ratioOf(outcome: SearchOutcome, name: string): number | undefined {
  return areComparable(outcome, name, ours) ? medianTime(outcome, name) / medianTime(outcome, ours) : undefined;
}

function medianTime({ peers }: SearchOutcome, name: string): number {
  return medianOf(peers.get(name)?.timesMs ?? []);
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

interface Build {
  readonly name: string;
  readonly seconds: number;
  /** Resident, of the process and its children, at one moment. */
  readonly peakBytes: number;
  readonly diskBytes: number;
}

function buildsOf({ peers, index }: PeersMeasured): Build[] {
  const peakBytes = Math.max(...index.history.map(({ residentBytes, childrenBytes }) => residentBytes + childrenBytes));
  const build: Build = { name: ours, seconds: index.seconds, peakBytes, diskBytes: index.dataBytes };
  return peers.zoekt === undefined ? [build] : [{ name: "zoekt", ...peers.zoekt.build }, build];
}

function searchTargets(outcome: SearchOutcome, searches: readonly SearchOutcome[]): Target[] {
  const { query, peers } = outcome;
  const name = nameOf(query);
  const heldTo = (key: keyof QueryLimits): Limits => ({ must: query.must[key], aim: query.aim[key] });
  const isHeld = (key: keyof QueryLimits): boolean => query.must[key] !== undefined || query.aim[key] !== undefined;
  const median = medianTime(outcome, ours);
  const targets = (["rg", "csearch", "zoekt"] as const).filter(isHeld).map((peer) => {
    const value = peers.has(peer) ? ratioOf(outcome, peer) : undefined;
    const times = `${short(medianTime(outcome, peer))} ms against ${short(median)}`;
    const note = !peers.has(peer) ? `${peer} is not measured` : value === undefined ? "the results differ" : times;
    return atLeast(`${name}: time of ${peer} ÷ ours`, "x", value, heldTo(peer), note);
  });
  if (isHeld("ms")) targets.push(atMost(`${name}: time`, "ms", median, heldTo("ms"), ""));
  const dense = searches.find((other) => nameOf(other.query) === "return");
  if (isHeld("timesReturn") && dense !== undefined) {
    const note = `${short(median)} ms against ${short(medianTime(dense, ours))}`;
    const value = median / medianTime(dense, ours);
    targets.push(atMost(`${name}: time ÷ that of return`, "x", value, heldTo("timesReturn"), note));
  }
  return targets;
}

function firstTargets({ first, isQuick }: PeersMeasured): Target[] {
  const timesOf = (server: Server) => first.find((row) => row.server === server)?.timesMs;
  const [own, their] = [timesOf("trawl"), timesOf("zoekt")];
  if (own === undefined || their === undefined) return [];
  const what = `first ${resultsWanted} matches of return: time of zoekt ÷ ours`;
  const note = `${short(medianOf(their))} ms against ${short(medianOf(own))}`;
  return [atLeast(what, "x", ratio(their, own), limits(isQuick, 5, 20), note)];
}

function clientTargets({ clients, isQuick }: PeersMeasured): Target[] {
  const valuesOf = (server: Server, field: "requestsPerSecond" | "p99Ms"): number[] =>
    clients.find((row) => row.server === server)?.rounds.map((round) => round[field]) ?? [];
  if (valuesOf("zoekt", "p99Ms").length === 0) return [];
  const [own, their] = [medianOf(valuesOf("trawl", "p99Ms")), medianOf(valuesOf("zoekt", "p99Ms"))];
  const value = ratio(valuesOf("trawl", "requestsPerSecond"), valuesOf("zoekt", "requestsPerSecond"));
  const what = `${clientCount} clients: our requests/s ÷ zoekt's, at equal or better p99`;
  const note = `p99 ${short(own)} ms against ${short(their)}`;
  return own <= their
    ? [atLeast(what, "x", value, limits(isQuick, 3, 10), note)]
    : [atLeast(what, "x", undefined, limits(isQuick, 3, 10), `${note}; the rate would be ${short(value)}x`)];
}

function indexTargets(measured: PeersMeasured): Target[] {
  const [their, own] = buildsOf(measured);
  if (their === undefined || own === undefined) return [];
  const { index, isQuick } = measured;
  const pair = (field: keyof Omit<Build, "name">, what: string): string => {
    const unit = field === "seconds" ? 1 : 1e6;
    return `${short(own[field] / unit)} ${what} against ${short(their[field] / unit)}`;
  };
  const anonymous = `${short(index.peak.anonymousBytes / 1e6)} of the daemon's are anonymous`;
  const memory = `${pair("peakBytes", "MB resident, git's processes included,")}; ${anonymous}`;
  const [times, bytes] = [their.seconds / own.seconds, own.diskBytes / their.diskBytes];
  const peaks = own.peakBytes / their.peakBytes;
  return [
    atLeast("index build: time of zoekt ÷ ours", "x", times, limits(isQuick, 3, 5), pair("seconds", "s")),
    atMost("index build: our peak memory ÷ zoekt's", "x", peaks, limits(isQuick, 0.7, 0.5), memory),
    atMost("index on disk: ours ÷ zoekt's", "x", bytes, limits(isQuick, 0.65, 0.5), pair("diskBytes", "MB")),
  ];
}

function plotsOf(measured: PeersMeasured): Plot[] {
  const { searches } = measured;
  const names = namesOf(measured);
  const byQuery = { kind: "points", label: "query", categories: searches.map(({ query }) => nameOf(query)) } as const;
  const ratioAt = (name: string, outcome: SearchOutcome | undefined): number | undefined =>
    outcome === undefined ? undefined : ratioOf(outcome, name);
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
