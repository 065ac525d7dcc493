/**
 * What it costs that a node is asked through another one: the same search of a daemon that has the repositories, and of a
 * coordinator whose only leaf has them, in turn. Times depend on what else the machine does, so each run has all of them.
 *
 *     node dist/test/fleet/hop.js
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { get } from "node:http";
import { cpus, loadavg } from "node:os";
import { fileURLToPath } from "node:url";
import { monotonicMs } from "../../src/base/deadline.js";
import { DaemonProcess, dataDirectory } from "../support/daemon.js";
import { freePorts, startFleet, TestAuthority } from "../support/fleet-site.js";
import { quantile } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { removeFolder } from "../support/remove-folder.js";
import type { Owner } from "../support/shared.js";
import { until } from "../support/waiting.js";
import { forkReadyLeaf } from "./ready-leaf.js";

const mib = 2 ** 20;

const files = 900;
const linesOfFile = 400;

/** A search that all processes have answered this often runs code that is compiled. */
const warmUps = 5;

/** The processor time that all threads of a process have used, and its main thread alone, in milliseconds. */
function processorMs(pid: number): { readonly all: number; readonly main: number } {
  const ranMs = (thread: string): number =>
    Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "latin1").split(" ")[0]) / 1e6;
  const threads = readdirSync(`/proc/${pid}/task`);
  return { all: threads.reduce((sum, thread) => sum + ranMs(thread), 0), main: ranMs(String(pid)) };
}

/** What one search took: until its whole answer was there, and the processor time of the processes. */
interface Run {
  readonly ms: number;
  readonly mib: number;
  /** By process. */
  readonly cpuMs: readonly number[];
  readonly mainMs: readonly number[];
}

async function measure(node: DaemonProcess, query: string, pids: readonly number[] = []): Promise<Run> {
  const before = pids.map(processorMs);
  const [ms, bytes] = await timed(node, query);
  const after = pids.map(processorMs);
  const cpuMs = after.map(({ all }, i) => all - before[i].all);
  return { ms, mib: bytes / mib, cpuMs, mainMs: after.map(({ main }, i) => main - before[i].main) };
}

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

/** A daemon with the repositories, and a coordinator with a leaf that has them. */
export interface HopSite {
  readonly alone: DaemonProcess;
  readonly coordinator: DaemonProcess;
  readonly leaf: DaemonProcess;
}

export async function hopSite(owner: Owner): Promise<HopSite> {
  const fixture = GitFixture.create();
  owner.teardown(() => fixture.remove());
  const text = (file: number): string =>
    Array.from({ length: linesOfFile }, (_, line) => `  int field_${line} = needle(${file}, "${line}");\n`).join("");
  const paths = Array.from({ length: files }, (_, i) => `folder${i % 7}/file_${i}.c`);
  const contents = Object.fromEntries(paths.map((path, i) => [path, text(i)]));
  fixture.commit({ branch: "main", files: { ...contents, "only.txt": "a thimble\n" } });
  const repositories = [{ name: "r0", url: fixture.path }];
  const args = ["--set", "search.defaultTimeoutSeconds=60", "--set", "index.symbols=false"];
  const { nodes } = await startFleet(owner, [[], repositories], {}, args);
  const data = dataDirectory(owner);
  const config = `${data}.jsonc`;
  owner.teardown(() => removeFolder(config));
  writeFileSync(config, JSON.stringify({ repositories }));
  const alone = await DaemonProcess.start(data, ["--config", config, ...args]);
  owner.teardown(() => alone.kill());
  await until("its repositories can be searched", async () => (await alone.get("/readyz")).status === 200);
  return { alone, coordinator: nodes[0], leaf: nodes[1] };
}

/** Medians of a search with one match, in milliseconds. */
export async function hopDelay({ alone, coordinator }: HopSite, rounds = 300) {
  const runs: { hop: number; direct: number }[] = [];
  for (let i = -100; i < rounds; i++) {
    const direct = (await measure(alone, "thimble count:5")).ms;
    const hop = (await measure(coordinator, "thimble count:5")).ms;
    if (i >= 0) runs.push({ hop, direct });
  }
  return {
    hop: quantile(
      runs.map(({ hop }) => hop),
      0.5,
    ),
    direct: quantile(
      runs.map(({ direct }) => direct),
      0.5,
    ),
  };
}

const median = (runs: readonly Run[], of: (run: Run) => number): number => quantile(runs.map(of), 0.5);

/** Medians of a search with all matches: how fast it is, and what it costs. */
export async function hopDense({ alone, coordinator, leaf }: HopSite, rounds = 9) {
  const direct: Run[] = [];
  const hop: Run[] = [];
  for (let i = -warmUps; i < rounds; i++) {
    const one = await measure(alone, "needle count:all", [alone.pid]);
    const other = await measure(coordinator, "needle count:all", [coordinator.pid, leaf.pid]);
    if (i < 0) continue;
    direct.push(one);
    hop.push(other);
  }
  return { direct: summary(direct), hop: summary(hop) };
}

function summary(runs: readonly Run[]) {
  return {
    mib: median(runs, (run) => run.mib),
    mibPerSecond: median(runs, (run) => (1_000 * run.mib) / run.ms),
    cpuPerMib: runs[0].cpuMs.map((_, i) => median(runs, (run) => run.cpuMs[i] / run.mib)),
    mainPerMib: runs[0].cpuMs.map((_, i) => median(runs, (run) => run.mainMs[i] / run.mib)),
  };
}

/** `NODE_OPTIONS=--perf-basic-prof` lets perf name functions of the coordinator. */
function forProfilers(): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: process.env["NODE_OPTIONS"] ?? "" };
}

/** How fast a coordinator passes on results that are ready, and what it costs. */
export async function readyResults(owner: Owner, rounds = 9, resultMib = 100) {
  const authority = new TestAuthority(owner);
  const [rootPort, leafPort] = await freePorts(2);
  const nodes = [`root=127.0.0.1:${rootPort}`, `leaf=127.0.0.1:${leafPort}`];
  const files = authority.issue("URI:trawl://ready/leaf");
  const place = { fleetId: "ready", name: "leaf", index: 1, coordinator: "root", port: leafPort, files };
  const leaf = await forkReadyLeaf(owner, { ...place, resultBytes: resultMib * mib });
  const data = dataDirectory(owner);
  const config = `${data}.jsonc`;
  owner.teardown(() => removeFolder(config));
  const fleet = { node: "root", id: "ready", nodes, ...authority.issue("URI:trawl://ready/root") };
  writeFileSync(config, JSON.stringify({ fleet, repositories: [] }));
  const root = await DaemonProcess.start(data, ["--config", config], forProfilers());
  owner.teardown(() => root.kill());
  const runs: Run[] = [];
  for (let i = -warmUps; i < rounds; i++) {
    const run = await measure(root, "x count:all", [root.pid, leaf]);
    if (i >= 0) runs.push(run);
  }
  return summary(runs);
}

/** What is made for the test, and taken away in the end. */
export class Owned implements Owner {
  readonly #teardowns: (() => unknown)[] = [];

  teardown(work: () => unknown): void {
    this.#teardowns.push(work);
  }

  async end(): Promise<void> {
    for (const work of this.#teardowns.splice(0).reverse()) await work();
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const owner = new Owned();
  const load = (): string => `load ${loadavg()[0].toFixed(1)}`;
  const only = new RegExp(process.env["ONLY"] ?? "");
  const times = (list: readonly number[]): string => list.map((ms) => ms.toFixed(2)).join(" + ");
  print(`${cpus().length} processors, ${load()}`);
  try {
    if (only.test("ready")) {
      const ready = await readyResults(owner);
      print(
        `ready results: ${ready.mibPerSecond.toFixed(0)} MiB/s; coordinator + leaf ${times(ready.cpuPerMib)} ms a MiB, main threads ${times(ready.mainPerMib)}; ${load()}`,
      );
    }
    if (only.test("search")) {
      const site = await hopSite(owner);
      const { direct, hop } = await hopDense(site);
      print(
        `all matches, ${direct.mib.toFixed(1)} and ${hop.mib.toFixed(1)} MiB: direct ${direct.mibPerSecond.toFixed(0)} MiB/s, ${times(direct.cpuPerMib)} ms a MiB, main thread ${times(direct.mainPerMib)}; hop ${hop.mibPerSecond.toFixed(0)} MiB/s, coordinator + leaf ${times(hop.cpuPerMib)} ms a MiB, main threads ${times(hop.mainPerMib)}; ${load()}`,
      );
      const delay = await hopDelay(site);
      print(
        `one match, p50: direct ${delay.direct.toFixed(2)} ms, hop ${delay.hop.toFixed(2)} ms, + ${(delay.hop - delay.direct).toFixed(2)}; ${load()}`,
      );
    }
  } finally {
    await owner.end();
  }
}
