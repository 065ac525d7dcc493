import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, readdirSync } from "node:fs";
import { type IncomingMessage, request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { callDaemon } from "../../src/cli/connection/control-client.js";
import { SseDecoder, type StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import { mirrorName } from "../../src/model/repository.js";
import type { RepositoryStatus } from "../../src/model/repository-status.js";
import type { Alert, Progress, StreamError, StreamMatch } from "../../src/model/stream-events.js";
import { isFull } from "./full-run.js";
import { loadingCli, loadingDaemon } from "./program.js";
import { removeFolder } from "./remove-folder.js";
import { type Owner, run } from "./shared.js";
import { until, within } from "./waiting.js";

const markMessage = "the log is written to here";

/**
 * Does the same as `bin/trawl`, with the code that was compiled with this test, or the bundle of it. SIGUSR2 ends its worker threads,
 * whatever they are doing. A message to the process starts its stall meter, requests the longest time for which the
 * event loop ran no timer or its memory after a garbage collection, marks the end of what was logged so far, or blocks
 * its main thread. The module named by `THREAD_HOOK` is loaded in each worker thread before the thread's own. With
 * `METERED_START` the meter runs from the start. From the moment at which it listens, the process may have as many
 * descriptors as `DESCRIPTOR_LIMIT` says.
 */
const entry = `if (process.env.THREAD_HOOK !== undefined) {
  const threads = require("node:worker_threads");
  threads.Worker = class extends threads.Worker {
    constructor(file, options) {
      super(file, { ...options, execArgv: ["--import", process.env.THREAD_HOOK] });
    }
  };
  require("node:module").syncBuiltinESMExports();
}
const { openSync, readSync } = require("node:fs");
const { setFlagsFromString } = require("node:v8");
const { runInNewContext } = require("node:vm");
const meterIntervalMs = 5;
const schedule = Buffer.alloc(64);
let schedulesFile, meter, longestMs = 0, longestRanMs = 0, lastMs = 0, lastRanMs = 0, lastWaitMs = 0;
// Scheduler statistics of this thread: how long it ran, and how long it waited for a processor.
function schedstat() {
  schedulesFile ??= openSync("/proc/self/task/" + process.pid + "/schedstat", "r");
  const [ranNs, waitedNs] = schedule.toString("latin1", 0, readSync(schedulesFile, schedule, 0, 64, 0)).split(" ");
  return { ranMs: ranNs / 1e6, waitedMs: waitedNs / 1e6 };
}
function look() {
  const [nowMs, { ranMs, waitedMs }] = [performance.now(), schedstat()];
  longestMs = Math.max(longestMs, nowMs - lastMs - meterIntervalMs - (waitedMs - lastWaitMs));
  longestRanMs = Math.max(longestRanMs, ranMs - lastRanMs);
  [lastMs, lastRanMs, lastWaitMs] = [nowMs, ranMs, waitedMs];
}
function startMeter() {
  const { ranMs, waitedMs } = schedstat();
  [longestMs, longestRanMs, lastMs, lastRanMs, lastWaitMs] = [0, 0, performance.now(), ranMs, waitedMs];
  meter ??= setInterval(look, meterIntervalMs).unref();
}
process.on("message", (message) => {
  if (message === "start") {
    startMeter();
    process.send({ started: true });
  } else if (message === "stall") {
    look();
    process.send({ longestMs, longestRanMs });
  } else if (message === "memory") {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc");
    collect();
    collect();
    const { heapUsed, external } = process.memoryUsage();
    process.send({ bytes: heapUsed + external });
  } else if (message === "mark") {
    process.stderr.write(${JSON.stringify(`{"msg":"${markMessage}"}\n`)});
  } else if (message.spinMs !== undefined) {
    const endMs = schedstat().ranMs + message.spinMs;
    while (schedstat().ranMs < endMs);
    process.send({ spun: true });
  }
});
// A test that is killed must not leave a daemon behind.
process.on("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.channel?.unref();
const workers = new Set();
require("node:diagnostics_channel").subscribe("worker_threads", ({ worker }) => {
  workers.add(worker);
  // The first message of Piscina, when its modules are loaded.
  worker.on("message", (message) => { if ("_WORKER_READY" in message) worker.hasStarted = true; });
  worker.once("exit", () => workers.delete(worker));
});
process.on("SIGUSR2", async () => {
  while ([...workers].some((worker) => !worker.hasStarted)) await new Promise((resolve) => setTimeout(resolve, 2));
  await Promise.all([...workers].map((worker) => worker.terminate()));
  process.stderr.write('{"msg":"the workers are dead"}\\n');
});
if (process.env.DESCRIPTOR_LIMIT !== undefined) {
  const { execFileSync } = require("node:child_process");
  const write = process.stdout.write.bind(process.stdout);
  process.stdout.write = (text, ...more) => {
    if (String(text).includes("listening"))
      execFileSync("prlimit", ["--pid", String(process.pid), "--nofile=" + process.env.DESCRIPTOR_LIMIT + ":"]);
    return write(text, ...more);
  };
}
void (async () => {
  const { run } = await ${loadingCli};
  if (process.env.METERED_START !== undefined) {
    await ${loadingDaemon};
    startMeter();
  }
  process.exitCode = await run(["node", "trawl", ...process.argv.slice(1)]);
  if (process.argv[1] === "serve") process.exit();
})();`;

/** The result of a command. */
export interface CommandResult {
  readonly exitCode: number | string;
  readonly out: string;
  readonly err: string;
}

/** Runs a `trawl` command and waits for its end. */
export async function runCommand(...args: string[]): Promise<CommandResult> {
  return await runCommandWith("", args);
}

/**
 * Like `runCommand`, with a text on standard input, and variables of the environment. `wrapper` is a program with its first
 * arguments that runs the command which follows.
 */
export async function runCommandWith(
  input: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
): Promise<CommandResult> {
  const child = spawnTrawl(args, "pipe", variables, wrapper);
  // A command that ends early leaves its input.
  child.stdin?.on("error", () => undefined).end(input);
  const texts = { out: "", err: "" };
  child.stdout?.on("data", (bytes) => {
    texts.out += bytes;
  });
  child.stderr?.on("data", (bytes) => {
    texts.err += bytes;
  });
  const exitCode = await within(exitOf(child), `trawl ${args.join(" ")}`);
  return { exitCode, ...texts };
}

/** Creates an empty data directory that is deleted with the test. Its path is short, because of the socket in it. */
export function dataDirectory(t: Owner): string {
  const data = mkdtempSync(join(tmpdir(), "trawl-"));
  t.teardown(() => removeFolder(data));
  return data;
}

/** The folder of the mirror that was made last. */
export function newestMirror(data: string): string {
  const mirrors = join(data, "mirrors");
  const numbers = readdirSync(mirrors)
    .filter((name) => name.endsWith(".git"))
    .map((name) => Number.parseInt(name, 10));
  return join(mirrors, mirrorName(Math.max(...numbers)));
}

/** The results of a search. */
export interface SearchAnswer {
  /** Each `repo:path:line` with a match, and `repo:path` for a match of the path alone; sorted. Lines are 1-based. */
  readonly found: readonly string[];
  /** The last progress event; undefined if the query was rejected. */
  readonly progress: Progress | undefined;
  /** The skip reasons of the last progress event. */
  readonly skipped: readonly string[];
  /** The title of the alert; "" if there was none. */
  readonly alert: string;
  readonly error: string;
}

/** A line of the daemon's log. */
export type LogLine = Readonly<Record<string, unknown>>;

/** The modules that have run in a daemon. */
export interface ExecutedFiles {
  readonly main: readonly string[];
  readonly threads: readonly string[];
}

/**
 * A daemon in a process of its own, on a free port. Every call returns within `waitMsMax` or throws. The caller that
 * starts it must stop it; `testDaemon` does so at the end of its test.
 */
export class DaemonProcess {
  readonly data: string;
  readonly url: string;
  readonly #child: ChildProcess;
  readonly #log: LogLine[];
  readonly #exited: Promise<number | string>;

  private constructor(data: string, url: string, child: ChildProcess, log: LogLine[]) {
    this.data = data;
    this.url = url;
    this.#child = child;
    this.#log = log;
    this.#exited = exitOf(child);
  }

  /**
   * Starts the daemon and waits until it listens; if it ends before that, throws an error with its output. `variables`
   * are added to its environment; `wrapper` as in `runCommandWith`.
   */
  static async start(
    data: string,
    args: readonly string[] = [],
    variables: Readonly<Record<string, string>> = {},
    wrapper: readonly string[] = [],
  ): Promise<DaemonProcess> {
    const child = spawnServe(data, args, variables, wrapper);
    const log: LogLine[] = [];
    let other = "";
    eachLine(child.stderr, (line) => {
      if (line.startsWith("{")) log.push(JSON.parse(line) as LogLine);
      else other += `${line}\n`;
    });
    const listening = new Promise<string>((resolve) =>
      eachLine(child.stdout, (line) => {
        const url = /^trawld: listening on (.*)$/.exec(line)?.[1];
        if (url !== undefined) resolve(url);
      }),
    );
    const ended = exitOf(child).then((code) => {
      throw new TrawlError("internal", `the daemon ended with ${code}: ${other}${JSON.stringify(log)}`);
    });
    ended.catch(() => undefined);
    const url = await within(Promise.race([listening, ended]), "the daemon's start");
    return new DaemonProcess(data, url, child, log);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** What has been read of the log. The line of something that was just answered may not be in it yet. */
  get log(): readonly LogLine[] {
    return this.#log.filter(({ msg }) => msg !== markMessage);
  }

  /** All that was logged before this call. */
  async wholeLog(): Promise<readonly LogLine[]> {
    const marks = (): number => this.#log.filter(({ msg }) => msg === markMessage).length;
    const before = marks();
    if (this.#child.connected) this.#child.send("mark");
    await until("the log is read", () => marks() > before || this.hasExited);
    return this.log;
  }

  get hasExited(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Resolves with the exit code, or with the name of the signal that ended it. */
  exit(): Promise<number | string> {
    return within(this.#exited, "the daemon's end");
  }

  /** Starts measuring the longest stall of the main thread. */
  async startStallMeter(): Promise<void> {
    await this.#ask("start");
  }

  /**
   * The longest time since the meter was started for which the main thread ran no timer, excluding the time for which
   * it waited for a processor.
   */
  async longestStallMs(): Promise<number> {
    return ((await this.#ask("stall")) as { longestMs: number }).longestMs;
  }

  /**
   * The longest processor time that the main thread has used since then without running a timer. It does not depend on
   * other work on the machine.
   */
  async longestTurnMs(): Promise<number> {
    return ((await this.#ask("stall")) as { longestRanMs: number }).longestRanMs;
  }

  /** Blocks the main thread for this long. */
  async stall(spinMs: number): Promise<void> {
    await this.#ask({ spinMs });
  }

  /** The size of the main thread's heap and of its buffers, after a garbage collection. */
  async heldBytes(): Promise<number> {
    return ((await this.#ask("memory")) as { bytes: number }).bytes;
  }

  /** The modules that have run since the last call, of a daemon that was started with `executed-files.ts`. */
  async executedFiles(): Promise<ExecutedFiles> {
    return (await this.#ask("executed")) as ExecutedFiles;
  }

  #ask(message: string | { readonly spinMs: number }): Promise<unknown> {
    const answer = new Promise((resolve) => this.#child.once("message", resolve));
    const ended = this.#exited.then((code) => {
      throw new TrawlError("internal", `the daemon ended with ${code}`);
    });
    this.#child.send(message);
    return within(Promise.race([answer, ended]), `an answer of the daemon to ${JSON.stringify(message)}`);
  }

  /** Ends all worker threads; resolves when they have ended. */
  async killWorkers(): Promise<void> {
    const deaths = (): number => this.#log.filter(({ msg }) => msg === "the workers are dead").length;
    const before = deaths();
    this.signal("SIGUSR2");
    await until("the workers are dead", () => deaths() > before || this.hasExited);
  }

  /** Sends SIGTERM; resolves with the exit code. Idempotent. */
  stop(): Promise<number | string> {
    this.signal("SIGTERM");
    return this.exit();
  }

  /** Kills the daemon with SIGKILL. May be called at any time. */
  async kill(): Promise<void> {
    this.signal("SIGKILL");
    await this.exit();
  }

  control(method: "GET" | "POST" | "DELETE", path: string, body?: unknown): Promise<unknown> {
    return within(callDaemon(this.data, { method, path, body, progress: () => undefined }), `${method} ${path}`);
  }

  /** Adds a repository; resolves when it can be searched. */
  async add(name: string, url: string, branches: readonly string[] = []): Promise<RepositoryStatus> {
    return (await this.control("POST", "/.api/repos", { name, url, branches })) as RepositoryStatus;
  }

  /** Creates a user without a password. */
  async addUser(name: string): Promise<void> {
    await this.control("POST", "/.api/users", { name });
  }

  /** Creates an access token of a user; returns its text. */
  async addToken(user: string, scopes: readonly string[] = []): Promise<string> {
    const token = { user, scopes: ["user:all", ...scopes], note: "", expires: "90d" };
    return ((await this.control("POST", "/.api/tokens", token)) as { readonly text: string }).text;
  }

  async sync(name: string): Promise<RepositoryStatus> {
    return (await this.control("POST", `/.api/repos/${encodeURIComponent(name)}/sync`)) as RepositoryStatus;
  }

  async remove(name: string): Promise<void> {
    await this.control("DELETE", `/.api/repos/${encodeURIComponent(name)}`);
  }

  /** The number of faults that a check of all data finds. */
  async countFaults(): Promise<number> {
    return ((await this.control("POST", "/check", {})) as { readonly faults: number }).faults;
  }

  async userNames(): Promise<readonly string[]> {
    const users = (await this.control("GET", "/.api/users")) as readonly { readonly name: string }[];
    return users.map(({ name }) => name);
  }

  async list(): Promise<readonly RepositoryStatus[]> {
    return (await this.control("GET", "/.api/repos")) as RepositoryStatus[];
  }

  async get(path: string): Promise<{ readonly status: number; readonly text: string }> {
    const response = await openGet(`${this.url}${path}`);
    const parts: Buffer[] = [];
    response.on("data", (part: Buffer) => parts.push(part));
    await within(new Promise((resolve) => response.on("close", resolve)), path);
    return { status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() };
  }

  /** The sum of a metric over all labels. Throws if metrics are refused, which must not look like a count of 0. */
  async metric(name: string): Promise<number> {
    const { status, text } = await this.get("/metrics");
    if (status !== 200) throw new Error(`/metrics answered ${status}: ${text}`);
    const rows = text.split("\n").filter((line) => line.startsWith(`${name} `) || line.startsWith(`${name}{`));
    return rows.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  /** Runs a case-sensitive search for a literal pattern, with `count:all` unless the query contains a count. */
  async search(query: string, patternType = "literal"): Promise<SearchAnswer> {
    return answerOf(await this.stream(query, patternType));
  }

  /** All events of a search stream. */
  async stream(
    query: string,
    patternType = "literal",
    more: Record<string, string> = {},
    patterns?: readonly string[],
  ): Promise<readonly StreamEvent[]> {
    const response = await this.openStream(query, patternType, more, patterns);
    const events = await within(eventsOf(response), `the end of the search ${query}`);
    if (response.statusCode !== 200)
      throw new TrawlError("internal", `the search ${query} was answered with ${response.statusCode}`);
    return events;
  }

  /** The response to a search, after its headers have arrived. With `patterns`, results are files that contain one of them. */
  openStream(
    query: string,
    patternType = "literal",
    more: Record<string, string> = {},
    patterns?: readonly string[],
  ): Promise<IncomingMessage> {
    const counted = /\bcount:/.test(query) ? query : `count:all ${query}`;
    const parameters = new URLSearchParams({
      q: `case:yes ${counted}`,
      v: "V3",
      t: patternType,
      display: "-1",
      ...more,
    });
    const url = `${this.url}/.api/search/stream?${parameters}`;
    return patterns === undefined ? openGet(url) : open(url, JSON.stringify({ patterns }));
  }
}

/** Reads all events of a stream that may have been paused. */
export async function eventsOf(stream: IncomingMessage): Promise<readonly StreamEvent[]> {
  const decoder = new SseDecoder();
  const events: StreamEvent[] = [];
  stream.on("data", (bytes: Buffer) => events.push(...decoder.push(bytes)));
  const closed = new Promise((resolve) => stream.on("close", resolve));
  stream.resume();
  await closed;
  return events;
}

/** Starts a daemon that is stopped at the end of the test. */
export async function testDaemon(
  t: Owner,
  args: readonly string[] = [],
  data: string = dataDirectory(t),
  variables: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
): Promise<DaemonProcess> {
  const daemon = await DaemonProcess.start(data, args, variables, wrapper);
  t.teardown(async () => {
    if (!daemon.hasExited) await daemon.kill();
  });
  return daemon;
}

/** Starts a daemon and kills it this many milliseconds later, whether or not it is listening by then. */
export async function killWhileStarting(data: string, args: readonly string[], afterMs: number): Promise<void> {
  const child = spawnServe(data, args);
  const exited = exitOf(child);
  await sleep(afterMs);
  child.kill("SIGKILL");
  await within(exited, "the end of a killed daemon");
}

const fixedOptions = [
  "search.warmPercent=0",
  "workers=1",
  "index.workers=1",
  "readers=2",
  ...(isFull ? [] : ["index.symbols=false"]),
].flatMap((option) => ["--set", option]);

/** Options of a daemon that prepares for its first requests after the start, as it does by default. */
export const preparedAhead = ["--set", "search.warmPercent=50"] as const;

/** Options of a daemon of which the symbols matter too. */
export const withSymbols: readonly string[] = ["--set", "index.symbols=true"];

/**
 * Options of a daemon of which only the texts matter. Histories take a thread, which starts in a quarter of a second of
 * processor time, again at each start of the daemon.
 */
export const textsOnly: readonly string[] = ["index.symbols=false", "index.historyBytes=0"].flatMap((option) => [
  "--set",
  option,
]);

/**
 * By default nothing is prepared ahead: that takes more processor time than most tests need for the rest. Nor are there
 * more threads than most tests need, each of which takes a quarter of a second to start; symbols take a thread that needs
 * twice as long.
 */
function spawnServe(
  data: string,
  args: readonly string[],
  variables: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
): ChildProcess {
  const fixed = ["--data", data, "--listen", "127.0.0.1:0", ...fixedOptions];
  return spawnTrawl(["serve", ...fixed, ...args], "ignore", variables, wrapper);
}

/** Those that run. One that a test has left behind, because something before its teardown failed, would keep this process for ever. */
const children = new Set<ChildProcess>();
let hasTeardown = false;

function spawnTrawl(
  args: readonly string[],
  input: "ignore" | "pipe",
  variables: Readonly<Record<string, string>> = {},
  wrapper: readonly string[] = [],
): ChildProcess {
  const words = [...wrapper, process.execPath, "-e", entry, "--", ...args];
  const child = spawn(words[0], words.slice(1), {
    stdio: [input, "pipe", "pipe", "ipc"],
    env: { PATH: process.env["PATH"], HOME: "/nonexistent", ...variables },
  });
  if (!hasTeardown)
    run.teardown(() => {
      for (const one of children) one.kill("SIGKILL");
    });
  hasTeardown = true;
  children.add(child);
  child.once("close", () => children.delete(child));
  return child;
}

function exitOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => child.on("close", (code, signal) => resolve(code ?? String(signal))));
}

function eachLine(stream: NodeJS.ReadableStream | null, take: (line: string) => void): void {
  let rest = "";
  stream?.on("data", (bytes: Buffer) => {
    const lines = (rest + bytes.toString()).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(take);
  });
}

function openGet(url: string): Promise<IncomingMessage> {
  return open(url, undefined);
}

/** With a body, it is posted. */
function open(url: string, body: string | undefined): Promise<IncomingMessage> {
  return within(
    new Promise((resolve, reject) => {
      const method = body === undefined ? "GET" : "POST";
      const asked = request(url, { agent: false, method }, (response) => {
        response.on("error", () => undefined);
        resolve(response);
      });
      asked.on("error", reject);
      asked.end(body);
    }),
    url,
  );
}

function answerOf(events: readonly StreamEvent[]): SearchAnswer {
  const found: string[] = [];
  let progress: Progress | undefined;
  let alert = "";
  let error = "";
  for (const { name, data } of events) {
    const value: unknown = JSON.parse(data);
    if (name === "matches") for (const match of value as StreamMatch[]) found.push(...linesOf(match));
    if (name === "progress") progress = value as Progress;
    if (name === "alert") alert = (value as Alert).title;
    if (name === "error") error = (value as StreamError).message;
  }
  if (events.at(-1)?.name !== "done") throw new TrawlError("internal", "the stream ended without `done`");
  return { found: found.sort(), progress, skipped: progress?.skipped.map(({ reason }) => reason) ?? [], alert, error };
}

function linesOf({ repository = "", path, lineMatches }: StreamMatch): string[] {
  if (path === undefined) return [repository];
  if (lineMatches === undefined) return [`${repository}:${path}`];
  return lineMatches.map(({ lineNumber }) => `${repository}:${path}:${lineNumber + 1}`);
}
