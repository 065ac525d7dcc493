import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { sleep } from "../../src/base/deadline.js";
import type { StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import { DaemonProcess, dataDirectory } from "../support/daemon.js";
import { failoverSite, type FailoverSite, faultsOf, isConnected, search } from "../support/failover-site.js";
import { freePorts, TestAuthority } from "../support/fleet-site.js";
import { quantile } from "../support/full-run.js";
import { removeFolder } from "../support/remove-folder.js";
import type { Owner } from "../support/shared.js";
import { until } from "../support/waiting.js";
import { hopDelay, hopDense, type HopSite, hopSite, Owned, readyResults } from "./hop.js";
import { makeHosts, type Host } from "./network.js";
import { startReadyLeaf } from "./ready-leaf.js";

// Counts are enough to see that something is broken; `make faults TESTS=fleet` has those of the promise.

const thousands = 1_000;
const faultRounds = 3;

interface Row {
  readonly what: string;
  readonly must: string;
  /** What was measured, and whether that is enough. */
  readonly measure: () => Promise<readonly [figure: string, passed: boolean]>;
}

/** Prints a line for each figure; returns whether all are as they must be. */
export async function runFigures(): Promise<boolean> {
  const owner = new Owned();
  let passed = 0;
  let failed = 0;
  const only = new RegExp(process.env["ONLY"] ?? "", "i");
  process.stdout.write(
    `${cpus().length} processors, load ${loadavg()[0].toFixed(1)}: the bounds on times are those of an idle machine\n`,
  );
  try {
    const hosts = makeHosts(["node-a", "node-b", "node-c"]);
    const fleet = await failoverSite(owner, thousands, { hosts });
    for (const { what, must, measure } of rows(fleet, hosts, owner).filter((row) => only.test(row.what))) {
      let figure: string;
      let isGood = false;
      try {
        [figure, isGood] = await measure();
      } catch (error) {
        figure = error instanceof Error ? (error.stack ?? error.message) : String(error);
      }
      if (isGood) passed++;
      else failed++;
      process.stdout.write(`${isGood ? "ok    " : "FAILED"}  ${what}: ${figure} (${must})\n`);
    }
  } finally {
    await owner.end();
  }
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed === 0;
}

function rows(fleet: FailoverSite, hosts: readonly Host[], owner: Owner): readonly Row[] {
  const [coordinator] = fleet.nodes;
  let started: Promise<DaemonProcess> | undefined;
  const alone = (): Promise<DaemonProcess> => (started ??= startAlone(fleet, owner));
  let made: Promise<HopSite> | undefined;
  const site = (): Promise<HopSite> => (made ??= hopSite(owner));
  const faultRow = (what: string, addedMsMax: number, begin: () => void, end: () => Promise<void> | void): Row => ({
    what,
    must: `0 lost, 0 repeated, 0 errors; added p95 ≤ ${addedMsMax / 1_000} s`,
    measure: () => survive(fleet, addedMsMax, begin, end),
  });
  return [
    {
      what: "answers of three nodes and of one",
      must: "equal",
      measure: async () => compare(coordinator, await alone()),
    },
    { what: "count:N", must: "exact", measure: () => countExactly(coordinator) },
    faultRow(
      "kill -9 of a node during a search",
      1_000,
      () => fleet.nodes[1].signal("SIGKILL"),
      () => fleet.restart(1),
    ),
    faultRow(
      "a stopped node (SIGSTOP)",
      2_500,
      () => fleet.nodes[1].signal("SIGSTOP"),
      () => fleet.nodes[1].signal("SIGCONT"),
    ),
    faultRow(
      "a link that is down",
      2_500,
      () => hosts[1].setLink(false),
      () => hosts[1].setLink(true),
    ),
    faultRow(
      "a node whose answers are lost (blackhole)",
      2_500,
      () => hosts[1].setDeaf(true),
      () => hosts[1].setDeaf(false),
    ),
    {
      what: "the hop, of a search with one match",
      must: "≤ +1 ms p50",
      measure: async () => delay(await site()),
    },
    {
      what: "the hop, of all matches",
      must: "≤ 1.5 ms of processor time of the coordinator a MiB; how fast it is depends on what all nodes share here",
      measure: async () => throughput(await site()),
    },
    {
      what: "the hop, of results that are ready",
      must: "≥ 400 MiB/s, ≤ 1.5 ms of processor time of the coordinator a MiB",
      measure: () => passReady(owner),
    },
    {
      what: "63 leaves that send as fast as they may, and a client that reads nothing",
      must: "≤ 4 MiB + 64 KiB a leaf",
      measure: () => floodUnread(owner),
    },
  ];
}

/** One daemon with the repositories of all nodes. */
async function startAlone({ fixtures }: FailoverSite, owner: Owner): Promise<DaemonProcess> {
  const repositories = fixtures.map(({ path }, i) => ({ name: `r${i}`, url: path }));
  const args = ["--set", "search.defaultTimeoutSeconds=60", "--set", "index.symbols=false"];
  const data = dataDirectory(owner);
  const config = `${data}.jsonc`;
  owner.teardown(() => removeFolder(config));
  writeFileSync(config, JSON.stringify({ repositories }));
  const daemon = await DaemonProcess.start(data, ["--config", config, ...args]);
  owner.teardown(() => daemon.kill());
  await until("its repositories can be searched", async () => (await daemon.get("/readyz")).status === 200);
  return daemon;
}

/** Without what differs between hosts. */
function essence(events: readonly StreamEvent[]): string {
  const matches = events.flatMap(({ name, data }) => (name === "matches" ? (JSON.parse(data) as StreamMatch[]) : []));
  const plain = matches.map((match) => JSON.stringify({ ...match, repositoryID: 0, repoLastFetched: "" })).sort();
  const { matchCount, receipt } = progressIn(events);
  const filters = events.findLast(({ name }) => name === "filters")?.data ?? "";
  return JSON.stringify([plain, matchCount, receipt?.digest, receipt?.documentsSearched, receipt?.complete, filters]);
}

function progressIn(events: readonly StreamEvent[]): Progress {
  return JSON.parse(events.findLast(({ name }) => name === "progress")?.data ?? "{}") as Progress;
}

async function compare(node: DaemonProcess, alone: DaemonProcess): Promise<readonly [string, boolean]> {
  const words = [
    "needle",
    "1 7",
    "r",
    "folder3",
    "absent",
    "needle repo:r1",
    "needle file:folder2",
    "select:repo needle",
  ];
  const more = ["", " file:/1", " -repo:r2", " select:file", " type:path"];
  const queries = words.flatMap((word) => more.map((filter) => `${word}${filter} -file:folder4 -file:folder5`));
  let equal = 0;
  for (const query of queries) {
    const ask = (one: DaemonProcess) => one.stream(query, "keyword", { receipt: "1", near: "0" });
    const [a, b] = [await ask(node), await ask(alone)];
    if (essence(a) === essence(b)) equal++;
  }
  return [`${equal} of ${queries.length} equal`, equal === queries.length];
}

async function countExactly(node: DaemonProcess): Promise<readonly [string, boolean]> {
  const counts = Array.from({ length: 50 }, (_, i) => 1 + i * i * 7);
  let exact = 0;
  for (const count of counts) {
    const { matchCount } = progressIn(await node.stream(`needle count:${count}`));
    if (matchCount === count) exact++;
  }
  return [`${exact} of ${counts.length} exact`, exact === counts.length];
}

async function survive(
  fleet: FailoverSite,
  addedMsMax: number,
  begin: () => void,
  end: () => Promise<void> | void,
): Promise<readonly [string, boolean]> {
  const [coordinator] = fleet.nodes;
  const calm = [await search(coordinator, 0, () => undefined), await search(coordinator, 0, () => undefined)];
  const usualMs = Math.min(...calm.map(({ ms }) => ms));
  const wrong = calm.map((answer) => faultsOf(answer, fleet.matchCount)).filter((fault) => fault !== "");
  const added: number[] = [];
  const before = await coordinator.metric("trawl_fleet_failovers_total");
  for (let round = 0; round < faultRounds; round++) {
    try {
      const answer = await search(coordinator, ((round + 0.5) / faultRounds) * fleet.bytesMin, begin);
      const fault = faultsOf(answer, fleet.matchCount);
      if (fault !== "") wrong.push(fault);
      added.push(answer.ms - usualMs);
    } finally {
      await end();
    }
    await until("it is asked again", async () => {
      await search(coordinator, 0, () => undefined, "needle repo:^r1$ file:/1.txt count:5");
      return await isConnected(fleet);
    });
  }
  const failovers = (await coordinator.metric("trawl_fleet_failovers_total")) - before;
  const p95 = Math.round(quantile(added, 0.95));
  const figure = `${faultRounds} times of ${fleet.matchCount} matches, ${failovers} failovers, ${wrong.length} wrong${wrong.map((fault) => `: ${fault.slice(0, 300)}`).join("")}; ${Math.round(usualMs)} ms without, added p95 ${p95} ms`;
  return [figure, wrong.length === 0 && failovers >= faultRounds && p95 <= addedMsMax];
}

async function delay(site: HopSite): Promise<readonly [string, boolean]> {
  const { hop, direct } = await hopDelay(site);
  return [`p50 ${hop.toFixed(2)} ms, direct ${direct.toFixed(2)} ms`, hop - direct <= 1];
}

async function throughput(site: HopSite): Promise<readonly [string, boolean]> {
  const { hop, direct } = await hopDense(site);
  const [perMib] = hop.cpuPerMib;
  const figure = `${hop.mibPerSecond.toFixed(0)} MiB/s (direct ${direct.mibPerSecond.toFixed(0)}), ${perMib.toFixed(2)} ms a MiB (direct ${direct.mainPerMib[0].toFixed(2)} of the main thread)`;
  return [figure, perMib <= 1.5];
}

async function passReady(owner: Owner): Promise<readonly [string, boolean]> {
  const { mibPerSecond, cpuPerMib } = await readyResults(owner);
  const [perMib] = cpuPerMib;
  return [`${mibPerSecond.toFixed(0)} MiB/s, ${perMib.toFixed(2)} ms a MiB`, perMib <= 1.5 && mibPerSecond >= 400];
}

const leafCount = 63;
/** All that they are asked is answered with results without an end. */
async function floodUnread(owner: Owner): Promise<readonly [string, boolean]> {
  const authority = new TestAuthority(owner);
  const names = ["root", ...Array.from({ length: leafCount }, (_, i) => `leaf-${i}`)];
  const ports = await freePorts(names.length);
  const nodes = names.map((name, i) => `${name}=127.0.0.1:${ports[i]}`);
  const stops = await Promise.all(
    names.slice(1).map((name, i) => {
      const files = authority.issue(`URI:trawl://flood/${name}`);
      const place = { fleetId: "flood", coordinator: "root", files };
      return startReadyLeaf({ ...place, name, index: i + 1, port: ports[i + 1] });
    }),
  );
  const data = dataDirectory(owner);
  const config = `${data}.jsonc`;
  const fleet = { node: "root", id: "flood", nodes, ...authority.issue("URI:trawl://flood/root") };
  writeFileSync(config, JSON.stringify({ fleet, repositories: [] }));
  const root = await DaemonProcess.start(data, ["--config", config]);
  owner.teardown(async () => {
    await root.kill();
    for (const stop of stops) await stop();
  });
  await root.search("x count:1");
  const before = await root.heldBytes();
  const stream = await root.openStream("x");
  stream.pause();
  await sleep(3_000);
  const held = (await root.heldBytes()) - before;
  stream.destroy();
  const most = 4 * 2 ** 20 + leafCount * 64 * 1024;
  return [`${(held / 2 ** 20).toFixed(1)} MiB of ${(most / 2 ** 20).toFixed(1)}`, held <= most];
}
