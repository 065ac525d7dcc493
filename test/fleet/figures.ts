import { readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { cpus, loadavg } from "node:os";
import { deserialize } from "node:v8";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { silentLog } from "../../src/base/log.js";
import type { StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import { type Asked, emptyPart, noCounts } from "../../src/search/fleet/fleet-messages.js";
import { sections } from "../../src/search/fleet/result-order.js";
import { nodeIdSpan } from "../../src/search/source/search-fleet.js";
import { programVersion } from "../../src/daemon/parts/program.js";
import type { FrameChannel } from "../../src/wire/frame-channel.js";
import { readIdentity } from "../../src/wire/identity.js";
import { NodeServer } from "../../src/wire/node-server.js";
import { DaemonProcess, dataDirectory } from "../support/daemon.js";
import { failoverSite, type FailoverSite, faultsOf, isConnected, search } from "../support/failover-site.js";
import { freePorts, TestAuthority } from "../support/fleet-site.js";
import { quantile } from "../support/full-run.js";
import { removeFolder } from "../support/remove-folder.js";
import type { Owner } from "../support/shared.js";
import { until } from "../support/waiting.js";
import { makeHosts, type Host } from "./network.js";

// Counts are enough to see that something is broken; `make faults TESTS=fleet` has those of the promise.

const thousands = 1_000;
const faultRounds = 3;

/** What is made for the test, and taken away in the end. */
class Owned implements Owner {
  readonly #teardowns: (() => unknown)[] = [];

  teardown(work: () => unknown): void {
    this.#teardowns.push(work);
  }

  async end(): Promise<void> {
    for (const work of this.#teardowns.splice(0).reverse()) await work();
  }
}

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
      measure: async () => hopDelay(coordinator, await alone()),
    },
    {
      what: "the hop, of a million matches",
      must: "≤ 1.5 ms of processor time of the coordinator a MiB; how fast it is depends on what all nodes share here",
      measure: async () => hopThroughput(coordinator, await alone()),
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

/** Milliseconds until the whole answer is there, and its bytes. */
function timed(node: DaemonProcess, query: string): Promise<readonly [ms: number, bytes: number]> {
  const url = `${node.url}/.api/search/stream?${new URLSearchParams({ q: query, v: "V3", t: "literal", display: "-1" })}`;
  const startedMs = monotonicMs();
  return new Promise((resolve, reject) => {
    get(url, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("end", () => resolve([monotonicMs() - startedMs, bytes]));
    }).on("error", reject);
  });
}

async function hopDelay(node: DaemonProcess, alone: DaemonProcess): Promise<readonly [string, boolean]> {
  const query = "repo:^r1$ file:folder1/1.txt needle count:5";
  const times: Record<"hop" | "direct", number[]> = { hop: [], direct: [] };
  for (let i = 0; i < 300; i++) {
    const hop = (await timed(node, query))[0];
    const direct = (await timed(alone, query))[0];
    if (i < 100) continue;
    times.hop.push(hop);
    times.direct.push(direct);
  }
  const [hop, direct] = [quantile(times.hop, 0.5), quantile(times.direct, 0.5)];
  return [`p50 ${hop.toFixed(2)} ms, direct ${direct.toFixed(2)} ms`, hop - direct <= 1];
}

/** Processor time of a process, in milliseconds. */
function processorMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

async function hopThroughput(node: DaemonProcess, alone: DaemonProcess): Promise<readonly [string, boolean]> {
  const runs: { mib: number; ms: number; cpuMs: number; directMs: number }[] = [];
  for (let i = 0; i < 6; i++) {
    const before = processorMs(node.pid);
    const [ms, bytes] = await timed(node, "needle count:all repo:r[0-2]");
    const cpuMs = processorMs(node.pid) - before;
    const [directMs] = await timed(alone, "needle count:all repo:r[0-2]");
    if (i > 0) runs.push({ mib: bytes / 2 ** 20, ms, cpuMs, directMs });
  }
  const median = (of: (run: (typeof runs)[number]) => number): number => quantile(runs.map(of), 0.5);
  const perMib = median(({ cpuMs, mib }) => cpuMs / mib);
  const speed = median(({ mib, ms }) => (1_000 * mib) / ms);
  const direct = median(({ mib, directMs }) => (1_000 * mib) / directMs);
  const figure = `${speed.toFixed(0)} MiB/s (direct ${direct.toFixed(0)}), ${perMib.toFixed(2)} ms a MiB`;
  return [figure, perMib <= 1.5];
}

const leafCount = 63;
/** As of a batch for a person who waits. */
const resultBytes = 30 * 1024;

/** Nodes that only pretend: whatever is asked, they send results without an end, as far as their credit goes. */
async function floodUnread(owner: Owner): Promise<readonly [string, boolean]> {
  const authority = new TestAuthority(owner);
  const names = ["root", ...Array.from({ length: leafCount }, (_, i) => `leaf-${i}`)];
  const ports = await freePorts(names.length);
  const nodes = names.map((name, i) => `${name}=127.0.0.1:${ports[i]}`);
  const servers = await Promise.all(
    names.slice(1).map(async (name, i) => {
      const identity = readIdentity("flood", name, authority.issue(`URI:trawl://flood/${name}`));
      const server = new NodeServer({
        identity,
        nodes: ["root"],
        protocol: programVersion(),
        log: silentLog(),
        accept: (_node, channel) => flood(channel, (i + 1) * nodeIdSpan + 1, `r${i}`),
      });
      await server.start("127.0.0.1", ports[i + 1]);
      return server;
    }),
  );
  const data = dataDirectory(owner);
  const config = `${data}.jsonc`;
  const fleet = { node: "root", id: "flood", nodes, ...authority.issue("URI:trawl://flood/root") };
  writeFileSync(config, JSON.stringify({ fleet, repositories: [] }));
  const root = await DaemonProcess.start(data, ["--config", config]);
  owner.teardown(async () => {
    await root.kill();
    for (const server of servers) await server.stop();
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

/** Answers one search of the coordinator. */
function flood(channel: () => FrameChannel, id: number, name: string) {
  let isOver = false;
  let credit = 0;
  const match = JSON.stringify({ type: "content", path: "x".repeat(resultBytes), repositoryID: id, repository: name });
  const tally = {
    languages: [],
    fileKinds: [0, 0, 0, 0, 0, 0, 0, 0],
    symbolMatches: 0,
    symbolKinds: [],
    pathMatches: 0,
  };
  let matches = 0;
  const send = (): void => {
    if (isOver || channel().isClosed) return;
    while (credit > 0) {
      credit -= match.length;
      matches++;
      const counts = { ...noCounts, matches, displayed: matches };
      const repositories = [[id, name, "", 1, ""]];
      const own = { ...tally, repositories, contentMatches: 1, unownedResults: 0, groups: [] };
      channel().send(
        { kind: "batch", at: [sections.others], counts, tally: own, markBytes: 0, isPart: false },
        Buffer.from(match),
      );
    }
  };
  return {
    frame: ({ head, body }: { head: Readonly<Record<string, unknown>>; body: Uint8Array }): void => {
      if (head["kind"] === "credit") {
        credit += Number(head["bytes"]);
        send();
      }
      if (head["kind"] !== "ask") return;
      credit = Number(head["creditBytes"]);
      const { plan } = deserialize(body) as Asked;
      channel().send({ kind: "prepared", part: emptyPart(plan), chosen: { count: 1, first: [name] } });
      send();
    },
    closed: (): void => {
      isOver = true;
    },
  };
}
