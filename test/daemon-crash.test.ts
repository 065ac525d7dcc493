/**
 * kill -9 at random moments of starting, indexing, syncing, merging, adding and removing. After each, with all remotes
 * away, so that only what the disk had can be seen: every repository stands at the commits of its last acknowledged sync
 * or at those of a later attempt, both branches at the same one; what is found is what git has at these commits; and
 * every shard is whole.
 *
 * `CRASH_POINTS=200` for the long run, `SEED` for another one.
 */
import { readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { monotonicMs, sleep } from "../src/base/deadline.js";
import { ShardStore } from "../src/store/shard-store.js";
import { dataDirectory, DaemonProcess, killWhileStarting } from "./support/daemon.js";
import { GitFixture } from "./support/git-fixture.js";
import { linesWith, readCommit } from "./support/git-oracle.js";
import { randomFrom } from "./support/random.js";
import { until } from "./support/waiting.js";
import { seed } from "./support/property.js";

const crashCount = Number(process.env["CRASH_POINTS"] ?? 12);
const random = randomFrom(seed);
const needle = "needle";
const branches = ["main", "dev"] as const;

/** A commit of each branch, as text; "" when nothing is indexed. */
type State = string;

/** A repository, and what the daemon may know of it. */
class Source {
  readonly name: string;
  readonly #git = GitFixture.create();
  readonly #away: string;
  /** All states since the beginning. */
  readonly #history: State[] = [];
  /** States that a crash may leave. The first is the one that was acknowledged last. */
  allowed: State[] = [""];
  /** Whether the daemon's list has it. */
  isListed = false;

  constructor(name: string) {
    this.name = name;
    this.#away = this.#git.sibling("away");
    for (const branch of branches) {
      const files = Array.from({ length: 30 }, (_, i) => [`d${i % 3}/${i}.txt`, `${needle} ${branch} ${i}\n`]);
      this.#git.commit({ branch, files: Object.fromEntries(files) });
    }
    this.#history.push(this.state);
  }

  get path(): string {
    return this.#git.path;
  }

  get state(): State {
    return branches.map((branch) => this.#git.git("rev-parse", branch)).join(" ");
  }

  /** Changes both branches at once. */
  change(): void {
    const count = this.#history.length;
    for (const branch of branches) {
      const path = `d${random(3)}/${random(30)}.txt`;
      this.#git.updateRef(`refs/heads/next-${branch}`, this.#git.git("rev-parse", branch));
      this.#git.commit({ branch: `next-${branch}`, files: { [path]: `${needle} ${count}\n${needle} of ${branch}\n`, "count.txt": `${needle} ${count}\n` } });
    }
    this.#git.git("push", "-q", "--atomic", ".", ...branches.map((branch) => `next-${branch}:${branch}`));
    this.#history.push(this.state);
  }

  /** A state for people: which change it is of. */
  print(state: State): string {
    return state === "" ? "nothing" : `change ${this.#history.indexOf(state)} of ${this.#history.length - 1} (${state})`;
  }

  /** The daemon syncs by itself too, so a listed repository may have any state after those that are allowed. */
  allows(state: State): boolean {
    return this.allowed.includes(state) || (this.isListed && this.#history.indexOf(state) > this.#history.indexOf(this.allowed[0]!));
  }

  hide(): void {
    renameSync(this.path, this.#away);
  }

  show(): void {
    renameSync(this.#away, this.path);
  }

  /** What a search finds on each branch. Call it while the repository is hidden. */
  linesAt(state: State): string[][] {
    return state === "" ? branches.map(() => []) : state.split(" ").map((commit) => linesWith(this.name, readCommit(this.#away, commit), needle));
  }

  remove(): void {
    this.#git.remove();
  }
}

const sources = ["host/one", "host/two", "host/three"].map((name) => new Source(name));

/** One thing that an operator does; `states` are those that it may lead to, the last when it succeeds. */
interface Operation {
  readonly source: Source;
  readonly states: readonly State[];
  run(daemon: DaemonProcess): Promise<unknown>;
}

function chooseOperation(): Operation {
  const source = sources[random(sources.length)]!;
  if (!source.isListed) return { source, states: [source.state], run: (daemon) => daemon.add(source.name, source.path, ["dev"]) };
  if (random(8) === 0) return { source, states: [""], run: (daemon) => daemon.remove(source.name) };
  source.change();
  return { source, states: [source.state], run: (daemon) => daemon.sync(source.name) };
}

/** Durations of acknowledged operations: the kill falls somewhere into the time that one takes. */
const durationsMs = [200];

async function acknowledge(daemon: DaemonProcess, { source, states, run }: Operation): Promise<void> {
  const startedMs = monotonicMs();
  await run(daemon);
  durationsMs.push(monotonicMs() - startedMs);
  source.allowed = [states.at(-1)!];
  source.isListed = source.allowed[0] !== "";
}

/** Begins an operation and kills the daemon in the middle of it, or a little after. */
async function crash(daemon: DaemonProcess, operation: Operation): Promise<void> {
  const { source, states } = operation;
  source.allowed.push(...states);
  const recent = durationsMs.slice(-9).sort((a, b) => a - b);
  const ended = acknowledge(daemon, operation).catch(() => undefined);
  await sleep(random(Math.ceil(recent[Math.floor(recent.length / 2)]! * 1.2)));
  await daemon.kill();
  await ended;
}

/** Compares one repository with git, and takes the state that it has for the one it must keep from here on. */
async function checkSource(t: Test, daemon: DaemonProcess, source: Source, what: string): Promise<void> {
  const status = (await daemon.list()).find((other) => other.name === source.name);
  const state = branches.map((name) => status?.branches.find((branch) => branch.name === name)?.commit ?? "").join(" ").trim();
  if (!source.allows(state)) {
    t.fail(`${what}: ${source.name} is at ${source.print(state)}`, { allowed: source.allowed.map((other) => source.print(other)), status });
  }
  const expected = source.linesAt(state);
  for (const [i, branch] of branches.entries()) {
    const { found, skipped } = await daemon.search(`repo:^${source.name}$@${branch} ${needle}`);
    if (JSON.stringify(found) !== JSON.stringify(expected[i])) t.same(found, expected[i], `${what}: ${source.name}@${branch} (${skipped.join()})`);
  }
  source.allowed = [state];
  source.isListed = status !== undefined;
}

async function checkAll(t: Test, daemon: DaemonProcess, what: string): Promise<void> {
  for (const source of sources) await checkSource(t, daemon, source, what);
  const { faults } = await daemon.control("POST", "/check", {}) as { faults: number };
  if (faults > 0) t.fail(`${what}: ${faults} damaged shards`);
}

t.test(`${crashCount} crashes`, { timeout: 3_000_000 }, async (t) => {
  t.comment(`SEED=${seed}`);
  t.teardown(() => sources.forEach((source) => source.remove()));
  const data = dataDirectory(t);
  // One worker of each kind starts faster, and does the same.
  const options = ["--set", "workers=1", "--set", "index.workers=1", "--set", "log.level=debug"];
  const after = { older: 0, newer: 0, merges: 0 };
  sources.forEach((source) => source.hide());
  let daemon = await DaemonProcess.start(data, options);
  for (let point = 0; point < crashCount; point++) {
    sources.forEach((source) => source.show());
    for (let count = random(4); count > 0; count--) await acknowledge(daemon, chooseOperation());
    const last = chooseOperation();
    await crash(daemon, last);
    after.merges += daemon.log.filter((line) => line["msg"] === "shards merged").length;
    const older = last.source.allowed[0];
    const isOpen = last.source.allowed.length > 1;
    sources.forEach((source) => source.hide());
    if (random(4) === 0) await killWhileStarting(data, options, random(1_000));
    daemon = await DaemonProcess.start(data, options);
    await checkAll(t, daemon, `crash ${point}`);
    if (isOpen) after[last.source.allowed[0] === older ? "older" : "newer"]++;
  }
  t.comment(`of the operations that were cut short ${after.newer} had taken effect and ${after.older} had not; ${after.merges} merges`);

  sources.forEach((source) => source.show());
  for (const source of sources) {
    if (source.isListed) await daemon.sync(source.name);
    source.allowed = [source.isListed ? source.state : ""];
  }
  sources.forEach((source) => source.hide());
  await checkAll(t, daemon, "at the end");
  t.equal(await daemon.stop(), 0);
  daemon = await DaemonProcess.start(data, options);
  await until("only live shards are stored", async () =>
    new ShardStore(join(data, "shards")).ids().length === await daemon.metric("trawl_index_shards"));
  const listed = sources.filter((source) => source.isListed).length;
  await until("only mirrors of known repositories are kept", () => readdirSync(join(data, "mirrors")).length === listed);
  t.equal(await daemon.stop(), 0);
});
