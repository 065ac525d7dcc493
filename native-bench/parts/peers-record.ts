import type { Corpus } from "../corpus/corpus.js";
import type { Peers } from "../peers/peers.js";
import { nameOf, type Target } from "../peers/queries.js";
import type { Difference } from "../peers/result-set.js";
import { atLeast, atMost } from "../report/claims.js";
import { grouped, short, spreadText } from "../report/numbers.js";
import type { Claim, PartRecord, Plot, PlotPoint, Sample, Table } from "../report/record.js";
import { spreadOf } from "../system/measure.js";
import { clientCount, resultsWanted, type ClientRound } from "./clients.js";
import type { IndexRun } from "./indexing.js";
import { areComparable, type SearchOutcome } from "./searches.js";

/** What the part has measured. Times of peers that are not installed are absent. */
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

/** Until the end of an answer with the first results of `return`. */
export interface FirstResults {
  readonly server: "trawl" | "zoekt";
  readonly asked: string;
  readonly timesMs: readonly number[];
}

export interface ClientsOf {
  readonly server: "trawl" | "zoekt";
  readonly rounds: readonly ClientRound[];
}

const ours = "trawl";

/** What the report says of the measured. */
export function describePeers(
  measured: PeersMeasured,
): Pick<PartRecord, "notes" | "samples" | "tables" | "plots" | "claims"> {
  return {
    notes: notesOf(measured),
    samples: samplesOf(measured),
    tables: [
      timeTable(measured),
      ratioTable(measured),
      differenceTable(measured),
      firstTable(measured),
      clientTable(measured),
      indexTable(measured),
      peerTable(measured),
    ],
    plots: [timePlot(measured), ratioPlot(measured)],
    claims: [
      ...measured.searches.flatMap((outcome) => searchClaims(outcome, measured)),
      ...firstClaims(measured),
      ...clientClaims(measured),
      ...indexClaims(measured),
    ],
  };
}

/** Everybody that can be measured, whether installed or not, ourselves last. */
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
    rounds
      .filter(({ failedCount }) => failedCount > 0)
      .map(
        ({ failedCount, failure }) =>
          `Of the ${clientCount} clients' requests to ${server}, ${failedCount} failed in a round: ${failure}.`,
      ),
  );
  const built = peers.zoekt?.build.date;
  return [
    `The corpus is ${corpus.name}, ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files, ${corpus.checksum}.`,
    ...(corpus.note === "" ? [] : [corpus.note]),
    ...peers.missing.map(({ name, reason }) => `${name} is not measured: ${reason}.`),
    "Times are of whole answers, written to /dev/null: of rg, git grep and csearch a whole process, started by a shell that reads the clock; of the servers, zoekt and trawl, curl from before it connects, limits lifted. Both servers had answered some thousands of searches of many clients, and result sets were read and compared before, which warmed everybody.",
    "A ratio is that of two medians. It stands only where both have found the lines that the first tool has found, but for differences with a known cause.",
    ...(built === undefined
      ? []
      : [
          `zoekt's index was built once, at ${built}, and is kept for later runs; ours was built in this run, ${short(index.seconds)} s.`,
        ]),
    ...declined,
    ...failures,
  ];
}

function samplesOf({ searches, floors, first, clients, peers, index }: PeersMeasured): Sample[] {
  const ms = (task: string, subject: string, values: readonly number[]): Sample => ({
    task,
    subject,
    unit: "ms",
    better: "less",
    values,
  });
  return [
    ...searches.flatMap(({ query, peers: outcomes }) =>
      [...outcomes].map(([name, { timesMs }]) => ms(`search ${nameOf(query)}`, name, timesMs)),
    ),
    ...[...floors].map(([server, values]) => ms("HTTP answer without a search", server, values)),
    ...first.map(({ server, asked, timesMs }) => ms("first results of return", `${server}, ${asked}`, timesMs)),
    ...clients.flatMap(({ server, rounds }): Sample[] => [
      {
        task: `${clientCount} clients`,
        subject: server,
        unit: "requests/s",
        better: "more",
        values: rounds.map(({ requestsPerSecond }) => requestsPerSecond),
      },
      ms(
        `${clientCount} clients, p50`,
        server,
        rounds.map(({ p50Ms }) => p50Ms),
      ),
      ms(
        `${clientCount} clients, p99`,
        server,
        rounds.map(({ p99Ms }) => p99Ms),
      ),
    ]),
    ...buildsOf({ peers, index }).flatMap(({ name, seconds, peakBytes, diskBytes }): Sample[] => [
      { task: "index build", subject: name, unit: "s", better: "less", values: [seconds] },
      { task: "index build, peak memory", subject: name, unit: "MB", better: "less", values: [peakBytes / 1e6] },
      { task: "index on disk", subject: name, unit: "MB", better: "less", values: [diskBytes / 1e6] },
    ]),
  ];
}

function timeTable(measured: PeersMeasured): Table {
  const names = namesOf(measured);
  return {
    title: "Searches: median (min..max), ms",
    head: ["query", "lines", ...names, "answer of trawl, MB", "of zoekt, MB"],
    rows: measured.searches.map(({ query, lineCount, peers }) => [
      `\`${nameOf(query)}\``,
      grouped(lineCount),
      ...names.map((name) => timeText(peers.get(name)?.timesMs)),
      ...[ours, "zoekt"].map((name) => (peers.has(name) ? short((peers.get(name)?.bytes ?? NaN) / 1e6) : "")),
    ]),
  };
}

function timeText(timesMs: readonly number[] | undefined): string {
  return timesMs === undefined ? "" : spreadText(spreadOf(timesMs));
}

function ratioTable(measured: PeersMeasured): Table {
  const names = namesOf(measured).filter((name) => name !== ours);
  return {
    title: "How many times as long as trawl the others take",
    head: ["query", ...names],
    rows: measured.searches.map((outcome) => [
      `\`${nameOf(outcome.query)}\``,
      ...names.map((name) => (outcome.peers.has(name) ? ratioText(ratioOf(outcome, name)) : "")),
    ]),
  };
}

/** Their median divided by ours; undefined where the results differ or one was not asked. */
function ratioOf(outcome: SearchOutcome, name: string): number | undefined {
  return areComparable(outcome, name, ours) ? medianOf(outcome, name) / medianOf(outcome, ours) : undefined;
}

function medianOf({ peers }: SearchOutcome, name: string): number {
  return spreadOf(peers.get(name)?.timesMs ?? []).median;
}

function ratioText(ratio: number | undefined): string {
  return ratio === undefined ? "differs" : `${short(ratio)}x`;
}

/** What result sets do not share with the reference's. */
function differenceTable({ searches }: PeersMeasured): Table {
  return {
    title: "Lines that only one of two has found",
    head: ["query", "compared", "lines without a known cause", "known causes", "such as"],
    rows: searches.flatMap(({ query, reference, peers }) =>
      [...peers].flatMap(([name, { difference }]) =>
        isEqual(difference)
          ? []
          : [
              [
                `\`${nameOf(query)}\``,
                `${name} with ${reference}`,
                grouped(difference.unexplained),
                Object.entries(difference.explained)
                  .map(([cause, count]) => `${grouped(count)}: ${cause}`)
                  .join("; "),
                difference.examples.join(", "),
              ],
            ],
      ),
    ),
  };
}

function isEqual({ explained, unexplained }: Difference): boolean {
  return unexplained === 0 && Object.keys(explained).length === 0;
}

function firstTable({ first, floors }: PeersMeasured): Table {
  return {
    title: `To the end of an answer with the first ${resultsWanted} results of \`return\`, default limits`,
    head: ["server", "asked for", "ms", "rounds"],
    rows: [
      ...first.map(({ server, asked, timesMs }) => [server, asked, timeText(timesMs), String(timesMs.length)]),
      ...[...floors].map(([server, timesMs]) => [
        server,
        "nothing: an HTTP answer without a search",
        timeText(timesMs),
        String(timesMs.length),
      ]),
    ],
  };
}

function clientTable({ clients }: PeersMeasured): Table {
  const spread = (values: readonly number[]): string => spreadText(spreadOf(values));
  return {
    title: `${clientCount} clients, mixed interactive queries, ${resultsWanted} results each: of the rounds median (min..max)`,
    head: ["server", "requests/s", "p50 ms", "p99 ms", "failed", "generator, share of a core"],
    rows: clients.map(({ server, rounds }) => [
      server,
      spread(rounds.map(({ requestsPerSecond }) => requestsPerSecond)),
      spread(rounds.map(({ p50Ms }) => p50Ms)),
      spread(rounds.map(({ p99Ms }) => p99Ms)),
      grouped(rounds.reduce((sum, { failedCount }) => sum + failedCount, 0)),
      spread(rounds.map(({ generatorShare }) => generatorShare)),
    ]),
  };
}

interface Build {
  readonly name: string;
  readonly seconds: number;
  /** Resident, of the process and those that it started, at one moment. */
  readonly peakBytes: number;
  readonly diskBytes: number;
}

function buildsOf({ peers, index }: Pick<PeersMeasured, "peers" | "index">): Build[] {
  const peakBytes = Math.max(...index.history.map(({ residentBytes, childrenBytes }) => residentBytes + childrenBytes));
  const build: Build = { name: ours, seconds: index.seconds, peakBytes, diskBytes: index.dataBytes };
  return peers.zoekt === undefined ? [build] : [{ name: "zoekt", ...peers.zoekt.build }, build];
}

function indexTable({ peers, index, corpus }: PeersMeasured): Table {
  return {
    title: "From a local git repository to a searchable index",
    head: ["of", "s", "MB/s of text", "peak memory, MB", "on disk, MB", "on disk, x the text"],
    rows: buildsOf({ peers, index }).map(({ name, seconds, peakBytes, diskBytes }) => [
      name,
      short(seconds),
      short(corpus.textBytes / 1e6 / seconds),
      short(peakBytes / 1e6),
      short(diskBytes / 1e6),
      short(diskBytes / corpus.textBytes),
    ]),
  };
}

function peerTable({ peers }: PeersMeasured): Table {
  return {
    title: "Who is measured",
    head: ["name", "version"],
    rows: [
      ...peers.found.map(({ name, version }) => [name, version]),
      ...peers.missing.map(({ name }) => [name, "not installed"]),
      [ours, "this checkout"],
    ],
  };
}

function searchClaims(outcome: SearchOutcome, measured: PeersMeasured): Claim[] {
  const { query } = outcome;
  const name = nameOf(query);
  const limits = (key: keyof Target): Pick<Claim, "must" | "aim"> => ({ must: query.must[key], aim: query.aim[key] });
  const isHeld = (key: keyof Target): boolean => limits(key).must !== undefined || limits(key).aim !== undefined;
  const median = medianOf(outcome, ours);
  const against = (["rg", "csearch", "zoekt"] as const).filter(isHeld).map((peer) => {
    const value = outcome.peers.has(peer) ? ratioOf(outcome, peer) : undefined;
    const note = !outcome.peers.has(peer)
      ? `${peer} is not measured`
      : value === undefined
        ? "the results differ"
        : `${short(medianOf(outcome, peer))} ms against ${short(median)}`;
    return {
      what: `${name}: time of ${peer} ÷ ours`,
      unit: "x",
      value,
      better: "more" as const,
      ...limits(peer),
      note,
    };
  });
  const returnMs = measured.searches
    .filter((other) => nameOf(other.query) === "return")
    .map((other) => medianOf(other, ours))[0];
  return [
    ...against,
    ...(isHeld("ms") ? [atMost(`${name}: time`, "ms", median, limits("ms"), "")] : []),
    ...(isHeld("timesReturn") && returnMs !== undefined
      ? [
          atMost(
            `${name}: time ÷ that of return`,
            "x",
            median / returnMs,
            limits("timesReturn"),
            `${short(median)} ms against ${short(returnMs)}`,
          ),
        ]
      : []),
  ];
}

/** Limits are those of the full corpus. */
function heldTo({ isQuick }: PeersMeasured, must: number, aim: number): Pick<Claim, "must" | "aim"> {
  return isQuick ? { must: undefined, aim: undefined } : { must, aim };
}

function firstClaims(measured: PeersMeasured): Claim[] {
  const [ourTimes, theirTimes] = (["trawl", "zoekt"] as const).map(
    (server) => measured.first.find((row) => row.server === server)?.timesMs,
  );
  if (ourTimes === undefined || theirTimes === undefined) return [];
  const [own, their] = [spreadOf(ourTimes).median, spreadOf(theirTimes).median];
  return [
    atLeast(
      `first ${resultsWanted} matches of return: time of zoekt ÷ ours`,
      "x",
      their / own,
      heldTo(measured, 5, 20),
      `${short(their)} ms against ${short(own)}`,
    ),
  ];
}

function clientClaims(measured: PeersMeasured): Claim[] {
  const [own, their] = (["trawl", "zoekt"] as const).map(
    (server) => measured.clients.find((row) => row.server === server)?.rounds ?? [],
  );
  if (own === undefined || their === undefined || their.length === 0) return [];
  const median = (rounds: typeof own, field: "requestsPerSecond" | "p99Ms"): number =>
    spreadOf(rounds.map((round) => round[field])).median;
  const [ownP99, theirP99] = [median(own, "p99Ms"), median(their, "p99Ms")];
  const ratio = median(own, "requestsPerSecond") / median(their, "requestsPerSecond");
  const note = `p99 ${short(ownP99)} ms against ${short(theirP99)}`;
  return [
    {
      what: `${clientCount} clients: our requests/s ÷ zoekt's, at equal or better p99`,
      unit: "x",
      better: "more",
      ...heldTo(measured, 3, 10),
      value: ownP99 <= theirP99 ? ratio : undefined,
      note: ownP99 <= theirP99 ? note : `${note}; the rate would be ${short(ratio)}x`,
    },
  ];
}

function indexClaims(measured: PeersMeasured): Claim[] {
  const [theirs, own] = buildsOf(measured);
  if (theirs === undefined || own === undefined) return [];
  const anonymous = short(measured.index.peak.anonymousBytes / 1e6);
  return [
    atLeast(
      "index build: time of zoekt ÷ ours",
      "x",
      theirs.seconds / own.seconds,
      heldTo(measured, 3, 5),
      `${short(theirs.seconds)} s against ${short(own.seconds)}`,
    ),
    atMost(
      "index build: our peak memory ÷ zoekt's",
      "x",
      own.peakBytes / theirs.peakBytes,
      heldTo(measured, 0.7, 0.5),
      `${short(own.peakBytes / 1e6)} MB resident, git's processes included, against ${short(theirs.peakBytes / 1e6)}; ${anonymous} of the daemon's are anonymous`,
    ),
    atMost(
      "index on disk: ours ÷ zoekt's",
      "x",
      own.diskBytes / theirs.diskBytes,
      heldTo(measured, 0.65, 0.5),
      `${short(own.diskBytes / 1e6)} MB against ${short(theirs.diskBytes / 1e6)}`,
    ),
  ];
}

function timePlot(measured: PeersMeasured): Plot {
  return {
    name: "peers-times",
    title: "Time of a whole answer, with all results: median, minimum and maximum",
    x: { label: "query", scale: "category", categories: measured.searches.map(({ query }) => nameOf(query)) },
    y: { label: "time, ms", scale: "log", categories: [] },
    series: namesOf(measured).map((name) => ({
      name,
      kind: "points",
      points: measured.searches.flatMap(({ peers }, x): PlotPoint[] => {
        const times = peers.get(name)?.timesMs;
        if (times === undefined) return [];
        const { min, median, max } = spreadOf(times);
        return [{ x, y: median, low: min, high: max }];
      }),
    })),
  };
}

function ratioPlot(measured: PeersMeasured): Plot {
  return {
    name: "peers-ratios",
    title: "How many times as long as trawl the others take, where the results are equal",
    x: { label: "query", scale: "category", categories: measured.searches.map(({ query }) => nameOf(query)) },
    y: { label: "time ÷ trawl's", scale: "log", categories: [] },
    series: namesOf(measured)
      .filter((name) => name !== ours)
      .map((name) => ({
        name,
        kind: "points",
        points: measured.searches.flatMap((outcome, x): PlotPoint[] => {
          const ratio = ratioOf(outcome, name);
          return ratio === undefined ? [] : [{ x, y: ratio }];
        }),
      })),
  };
}
