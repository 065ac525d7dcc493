/**
 * Repositories that an operator adds, changes, syncs and removes while the daemon is ended at the worst moments, and
 * the invariants after each crash. The remotes are hidden, so that only the data on the disk can be seen. Then every
 * repository is at the commits of its last acknowledged sync or of a later attempt, both branches at the same one;
 * search results are what git has at these commits, and each of their commits is found once; every shard is intact; and every acknowledged account exists.
 */
import { execFileSync } from "node:child_process";
import { renameSync } from "node:fs";
import type { Test } from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import { monotonicMs } from "../../src/base/deadline.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import type { DaemonProcess } from "./daemon.js";
import { GitFixture } from "./git-fixture.js";
import { linesWith, readCommit } from "./git-oracle.js";

const needle = "needle";
const branches = ["main", "dev"] as const;

/** The state of a branch as text; "" if nothing is indexed. */
type State = string;

type Random = (below: number) => number;

/** A repository, and the states of it that the daemon may have. */
class Source {
  readonly name: string;
  readonly #git = GitFixture.create();
  readonly #away: string;
  readonly #random: Random;
  /** All states since the start. */
  readonly #history: State[] = [];
  /** The states that are allowed after a crash. The first is the one that was acknowledged last. */
  allowed: State[] = [""];
  /** Whether the repository is in the daemon's list. */
  isListed = false;

  constructor(name: string, random: Random) {
    this.name = name;
    this.#random = random;
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

  /** Changes both branches at the same time. */
  change(): void {
    const count = this.#history.length;
    for (const branch of branches) {
      const path = `d${this.#random(3)}/${this.#random(30)}.txt`;
      this.#git.updateRef(`refs/heads/next-${branch}`, this.#git.git("rev-parse", branch));
      this.#git.commit({
        branch: `next-${branch}`,
        files: { [path]: `${needle} ${count}\n${needle} of ${branch}\n`, "count.txt": `${needle} ${count}\n` },
      });
    }
    this.#git.git("push", "-q", "--atomic", ".", ...branches.map((branch) => `next-${branch}:${branch}`));
    this.#history.push(this.state);
  }

  /** A readable form of a state: the number of the change that created it. */
  print(state: State): string {
    return state === ""
      ? "nothing"
      : `change ${this.#history.indexOf(state)} of ${this.#history.length - 1} (${state})`;
  }

  /** The daemon also syncs on its own, so a listed repository may have any state after the allowed ones. */
  allows(state: State): boolean {
    return (
      this.allowed.includes(state) ||
      (this.isListed && this.#history.indexOf(state) > this.#history.indexOf(this.allowed[0]!))
    );
  }

  hide(): void {
    renameSync(this.path, this.#away);
  }

  show(): void {
    renameSync(this.#away, this.path);
  }

  /** The commits of each branch in this state, sorted. Call it while the repository is hidden. */
  commitsAt(state: State): string[][] {
    if (state === "") return branches.map(() => []);
    const list = (commit: string): string =>
      execFileSync("git", [`--git-dir=${this.#away}`, "rev-list", commit], { encoding: "utf8" });
    return state.split(" ").map((commit) => list(commit).trim().split("\n").sort());
  }

  /** The results that a search must find on each branch in this state. Call it while the repository is hidden. */
  linesAt(state: State): string[][] {
    return state === ""
      ? branches.map(() => [])
      : state.split(" ").map((commit) => linesWith(this.name, readCommit(this.#away, commit), needle));
  }

  remove(): void {
    this.#git.remove();
  }
}

/** One operation of an operator. `states` are its possible outcomes; the last one is success. */
interface Operation {
  readonly source: Source;
  readonly states: readonly State[];
  run(daemon: DaemonProcess): Promise<unknown>;
}

/** Ends the daemon during an operation that takes about this many milliseconds. */
export type Ending = (daemon: DaemonProcess, usualMs: number, ended: Promise<void>) => Promise<void>;

export class CrashSite {
  readonly #random: Random;
  readonly #sources: readonly Source[];
  readonly #users: string[] = [];
  #triedUserCount = 0;
  /** Durations of acknowledged operations. */
  readonly #durationsMs = [200];
  #areHidden = false;
  #last: Operation | undefined;
  /** The outcomes of the operations that were interrupted. */
  readonly outcomes = { older: 0, newer: 0 };
  /**
   * Whether mirrors may have lost objects that no other file names. Histories are then not searched until the mirror is
   * fetched again, and the response says so.
   */
  mirrorsMayLose = false;

  /** The repositories are deleted with the test. */
  constructor(t: Test, random: Random) {
    this.#random = random;
    this.#sources = ["host/one", "host/two", "host/three"].map((name) => new Source(name, random));
    t.teardown(() => this.#sources.forEach((source) => source.remove()));
  }

  get listedCount(): number {
    return this.#sources.filter((source) => source.isListed).length;
  }

  hide(): void {
    if (!this.#areHidden) this.#sources.forEach((source) => source.hide());
    this.#areHidden = true;
  }

  show(): void {
    if (this.#areHidden) this.#sources.forEach((source) => source.show());
    this.#areHidden = false;
  }

  /** Runs a few operations that are acknowledged, and one during which `end` ends the daemon. */
  async crash(daemon: DaemonProcess, end: Ending): Promise<void> {
    this.show();
    for (let count = this.#random(4); count > 0; count--) await this.#acknowledge(daemon, this.#choose());
    this.#last = this.#choose();
    this.#last.source.allowed.push(...this.#last.states);
    const recent = this.#durationsMs.slice(-9).sort((a, b) => a - b);
    const ended = this.#acknowledge(daemon, this.#last).catch(() => undefined);
    await end(daemon, recent[Math.floor(recent.length / 2)]!, ended);
    await ended;
    this.hide();
  }

  /** Compares everything with git. The state that is found becomes the one that must be kept from then on. */
  async check(t: Test, daemon: DaemonProcess, what: string): Promise<void> {
    const last = this.#last?.source;
    const [older] = last?.allowed ?? [];
    const isOpen = last !== undefined && last.allowed.length > 1;
    for (const source of this.#sources) await checkSource(t, daemon, source, what, this.mirrorsMayLose);
    if (isOpen) this.outcomes[last.allowed[0] === older ? "older" : "newer"]++;
    this.#last = undefined;
    const faults = await daemon.countFaults();
    if (faults > 0) t.fail(`${what}: ${faults} damaged shards`);
    const users = await daemon.userNames();
    for (const name of this.#users) if (!users.includes(name)) t.fail(`${what}: the user ${name} is lost`);
  }

  /** All repositories as they are now. */
  async syncAll(daemon: DaemonProcess): Promise<void> {
    this.show();
    for (const source of this.#sources) {
      if (source.isListed) await daemon.sync(source.name);
      source.allowed = [source.isListed ? source.state : ""];
    }
    this.hide();
  }

  #choose(): Operation {
    const source = this.#sources[this.#random(this.#sources.length)]!;
    if (!source.isListed)
      return { source, states: [source.state], run: (daemon) => daemon.add(source.name, source.path, ["dev"]) };
    if (this.#random(8) === 0) return { source, states: [""], run: (daemon) => daemon.remove(source.name) };
    source.change();
    return { source, states: [source.state], run: (daemon) => daemon.sync(source.name) };
  }

  async #acknowledge(daemon: DaemonProcess, { source, states, run }: Operation): Promise<void> {
    const startedMs = monotonicMs();
    await run(daemon);
    this.#durationsMs.push(monotonicMs() - startedMs);
    source.allowed = [states.at(-1)!];
    source.isListed = source.allowed[0] !== "";
    if (this.#users.length >= 50) return;
    // A user whose creation was not acknowledged may exist.
    const name = `user${this.#triedUserCount++}`;
    await daemon.control("POST", "/.api/users", { name, siteAdmin: false });
    this.#users.push(name);
  }
}

/** Compares one repository with git. Its state becomes the one that must be kept from then on. */
async function checkSource(
  t: Test,
  daemon: DaemonProcess,
  source: Source,
  what: string,
  mirrorMayLose: boolean,
): Promise<void> {
  const status = (await daemon.list()).find((other) => other.name === source.name);
  const state = branches
    .map((name) => status?.branches.find((branch) => branch.name === name)?.commit ?? "")
    .join(" ")
    .trim();
  if (!source.allows(state)) {
    t.fail(`${what}: ${source.name} is at ${source.print(state)}`, {
      allowed: source.allowed.map((other) => source.print(other)),
      status,
    });
  }
  const expected = source.linesAt(state);
  const commits = source.commitsAt(state);
  for (const [i, branch] of branches.entries()) {
    const { found, skipped } = await daemon.search(`repo:^${source.name}$@${branch} ${needle}`);
    if (JSON.stringify(found) !== JSON.stringify(expected[i]))
      t.same(found, expected[i], `${what}: ${source.name}@${branch} (${skipped.join()})`, {
        status,
        after: (await daemon.list()).find((other) => other.name === source.name),
        log: daemon.log.map(({ msg }) => msg),
      });
    // Each of its commits changes lines with the needle. None may be lost, and none found twice.
    for (const type of ["type:commit", `type:diff ${needle}`]) {
      const { oids, isIncomplete } = await commitsFound(daemon, `repo:^${source.name}$@${branch} ${type} count:all`);
      if (mirrorMayLose && isIncomplete && oids.every((oid) => commits[i].includes(oid))) continue;
      if (oids.sort().join() !== commits[i].join())
        t.same(oids, commits[i], `${what}: ${source.name}@${branch} ${type}`);
    }
  }
  source.allowed = [state];
  source.isListed = status !== undefined;
}

/** The commits that a search of histories finds, in its order, and whether it says that part of a history was not searched. */
async function commitsFound(daemon: DaemonProcess, query: string): Promise<{ oids: string[]; isIncomplete: boolean }> {
  const { text } = await daemon.get(`/.api/search/stream?${new URLSearchParams({ q: query, t: "standard" })}`);
  const oids = new SseDecoder()
    .push(Buffer.from(text))
    .filter(({ name }) => name === "matches")
    .flatMap(({ data }) => (JSON.parse(data) as StreamMatch[]).map(({ oid }) => oid ?? ""));
  return {
    oids,
    isIncomplete: text.includes('"reason":"repository-missing"') || text.includes("of histories not searched"),
  };
}
