import type { Readable, Writable } from "node:stream";
import { callAfter, callEvery, monotonicMs, type PendingCall, sleep } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { StopSignal } from "../../base/stop-signal.js";
import { type Ending, type ProcessLimits, type StartedProcess, startProcess } from "../../native/process/process.js";
import { redactUrl } from "./remote-url.js";
import { parseProgress } from "./fetch-watch.js";

/** Called every 50 ms while git runs. */
export { neverStop, type StopSignal } from "../../base/stop-signal.js";

export interface GitCommand {
  /** Arguments after `git`. References and URLs come after `--end-of-options`. */
  readonly args: readonly string[];
  /** The complete environment, from `localEnvironment` or `remoteEnvironment`. */
  readonly environment: Readonly<Record<string, string>>;
  /** Working directory. git writes nothing there unless `args` says so. */
  readonly directory: string;
}

export interface RunLimits {
  /** Milliseconds after which git is killed. */
  readonly timeoutMs: number;
  /** Milliseconds without output of any kind after which git is killed; use Infinity where silence is normal. */
  readonly silenceMs: number;
  readonly outputBytesMax: number;
  /** The resource limits of git and of each process that it starts. */
  readonly process: ProcessLimits;
  readonly stop: StopSignal;
  /**
   * Called once a second while git runs. A text is the end of a sentence that begins with git's name: why git is
   * killed.
   */
  readonly guard?: () => string | null;
}

export interface RunOptions extends GitCommand, RunLimits {
  readonly stdin: string | Uint8Array | null;
  /** Exit codes that are a result rather than a failure. */
  readonly exitCodes: readonly number[];
  /** Called with each line of standard error, including progress lines, as soon as it is complete. */
  readonly onErrorLine: ((line: string) => void) | null;
}

export interface RunResult {
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly code: number;
}

const pollMs = 50;

const guardMs = 1_000;

/** Time between SIGTERM and SIGKILL. */
const killGraceMs = 2_000;

/** How long to wait for pipes to close after git itself has exited: a descendant may hold them open. */
const closeGraceMs = 1_000;

/**
 * Runs git until it exits.
 *
 * On a timeout, silence, too much output or a stop, git and all its descendants get SIGTERM, then SIGKILL. Throws
 * `cancelled` if stopped, `git` if git fails, cannot be started or exceeds a limit.
 */
export async function runGit(options: RunOptions): Promise<RunResult> {
  const child = new GitChild(options, options, options.onErrorLine);
  const parts: Buffer[] = [];
  let bytes = 0;
  child.stdout.on("data", (part: Buffer) => {
    bytes += part.length;
    if (bytes <= options.outputBytesMax) parts.push(part);
    else child.fail(new TrawlError("git", `${child.name} wrote more than ${options.outputBytesMax} bytes`));
  });
  child.stdin.end(options.stdin ?? "");
  const code = await child.ended;
  if (code !== 0 && (child.limitHit !== null || !options.exitCodes.includes(code))) throw child.exitError(code);
  return { stdout: Buffer.concat(parts), stderr: child.errorText, code };
}

/** What a git process writes, here or at another node, at the pace at which it is read. */
export interface GitOutput {
  readonly stdout: Readable;
  /** How many bytes before the first one were left out. */
  readonly from: number;
  /** Resolves when all has been written; rejects with the reason if it was not all. */
  readonly ended: Promise<void>;
  /** See `GitChild`. */
  watchSilence(watch: boolean): void;
  /** Idempotent. */
  kill(): void;
}

/** The output of a process that should exit with 0. */
export function toGitOutput(child: GitChild): GitOutput {
  const ended = child.ended.then((code) => {
    if (code !== 0) throw child.exitError(code);
  });
  // Whoever kills it need not know.
  ended.catch(() => undefined);
  return {
    stdout: child.stdout,
    from: 0,
    ended,
    watchSilence: (watch) => child.watchSilence(watch),
    kill: () => child.kill(),
  };
}

/**
 * One running `git` in its own process group, monitored for stop, timeout and silence.
 *
 * `ended` settles once: with the exit code, or with the reason why git was killed or never started.
 */
export class GitChild {
  /** Its name in messages: `git fetch`. */
  readonly name: string;
  readonly ended: Promise<number>;
  readonly #process: StartedProcess;
  readonly #limits: Omit<RunLimits, "outputBytesMax">;
  readonly #startedMs = monotonicMs();
  readonly #errorLines: LineCollector;
  readonly #watch: PendingCall;
  #heardMs = monotonicMs();
  #guardedMs = monotonicMs();
  #watchesSilence = true;
  #failure: TrawlError | null = null;
  #exitCode: number | null = null;
  #signal: string | null = null;
  #openStreamCount = 2;
  #harderSignal: PendingCall | null = null;
  #settle: () => void = () => undefined;

  constructor(
    command: GitCommand,
    limits: Omit<RunLimits, "outputBytesMax">,
    onErrorLine: ((line: string) => void) | null,
  ) {
    this.name = `git ${subcommand(command.args)}`;
    this.#limits = limits;
    this.#errorLines = new LineCollector(onErrorLine);
    this.#process = start(this.name, command, limits.process);
    this.ended = this.#end();
    // A caller that only reads the output gets the error there; nobody needs to await `ended`.
    this.ended.catch(() => undefined);
    this.#watch = callEvery(pollMs, () => this.#check());
  }

  get stdout(): Readable {
    return this.#process.stdout;
  }

  get stdin(): Writable {
    return this.#process.stdin;
  }

  /** The last lines that git wrote to standard error, without passwords. */
  get errorText(): string {
    return redactUrl(this.#errorLines.text);
  }

  /** Which resource limit ended git or a process that it started, as the end of a sentence; null if none did. */
  get limitHit(): string | null {
    return limitHit(this.#signal, this.errorText, this.#limits.process);
  }

  /**
   * Switches the monitoring for silence, which is on initially: a caller that neither requests nor reads output
   * switches it off.
   */
  watchSilence(watch: boolean): void {
    this.#heardMs = monotonicMs();
    this.#watchesSilence = watch;
  }

  /** Kills git; `ended` rejects with `error`, unless it has settled. */
  fail(error: TrawlError): void {
    if (this.#failure !== null) return;
    this.#failure = error;
    // It may have exited before what it wrote was read, and what it started may go on writing.
    if (this.#exitCode !== null) return this.#cutOff();
    this.#send("SIGTERM");
    this.#harderSignal = callAfter(killGraceMs, () => this.#send("SIGKILL"));
  }

  /** Kills git immediately. Idempotent. */
  kill(): void {
    this.#failure ??= new TrawlError("cancelled", `${this.name} was closed`);
    this.#send("SIGKILL");
  }

  exitError(code: number): TrawlError {
    const hit = this.limitHit;
    if (hit !== null) return new TrawlError("git", `${this.name} ${hit}`);
    const text = this.errorText;
    return new TrawlError("git", `${this.name} failed: ${text === "" ? `exit code ${code}` : text}`);
  }

  #end(): Promise<number> {
    const { stdin, stdout, stderr } = this.#process;
    return new Promise((resolve, reject) => {
      this.#settle = () => {
        this.#watch.cancel();
        if (this.#failure !== null) reject(this.#failure);
        else resolve(this.#exitCode ?? -1);
      };
      // git may exit before it has read all its input; the exit code is sufficient.
      stdin.on("error", () => undefined);
      stdout.on("data", () => (this.#heardMs = monotonicMs()));
      stderr.on("data", (part: Buffer) => {
        this.#heardMs = monotonicMs();
        this.#errorLines.add(part);
      });
      for (const stream of [stdout, stderr]) stream.on("close", () => this.#streamClosed());
    });
  }

  /** A process closes its streams right before it exits. */
  #streamClosed(): void {
    if (--this.#openStreamCount === 0) this.#awaitEnding(1);
  }

  #awaitEnding(delayMs: number): void {
    this.#lookForEnding();
    if (this.#exitCode !== null) this.#settle();
    else void sleep(delayMs).then(() => this.#awaitEnding(Math.min(2 * delayMs, pollMs)));
  }

  #lookForEnding(): void {
    const ending = this.#exitCode === null ? this.#process.ending() : null;
    if (ending !== null) this.#exited(ending);
  }

  #exited({ code, signal }: Ending): void {
    this.#exitCode = code ?? -1;
    this.#signal = signal;
    this.#harderSignal?.cancel();
    // A pipe for writing does not report that its reader has exited: if it were not destroyed, its descriptor would
    // leak.
    this.#process.stdin.destroy();
    if (signal !== null)
      this.#failure ??= new TrawlError("git", `${this.name} ${this.limitHit ?? `was killed by ${signal}`}`);
    if (this.#failure !== null) this.#send("SIGKILL");
    this.#closeWhenQuiet();
  }

  /** Ends what git has left behind, and the wait for its output. */
  #cutOff(): void {
    this.#send("SIGKILL");
    this.stdout.destroy();
    this.#process.stderr.destroy();
  }

  /**
   * Ends the wait for "close" once a second passes without output that can be read, or a second after a failure. Until then, the time
   * limit and a stop still count (`#check`): a process that git has left behind may write for ever.
   */
  #closeWhenQuiet(): void {
    const heardMs = this.#heardMs;
    callAfter(closeGraceMs, () => {
      // After a long synchronous task the timer fires before waiting output is read; the immediate runs after that.
      setImmediate(() => {
        const isWaiting = this.#heardMs !== heardMs || this.stdout.isPaused();
        if (isWaiting && this.#failure === null && !this.stdout.destroyed) return this.#closeWhenQuiet();
        this.stdout.destroy();
        this.#process.stderr.destroy();
        return this.#settle();
      });
    });
  }

  #check(): void {
    this.#lookForEnding();
    const nowMs = monotonicMs();
    const { stop, timeoutMs, silenceMs } = this.#limits;
    if (stop()) this.fail(new TrawlError("cancelled", `${this.name} was stopped`));
    else if (nowMs - this.#startedMs > timeoutMs) {
      this.fail(new TrawlError("git", `${this.name} took longer than ${timeoutMs} ms`));
    } else if (this.#exitCode !== null) return;
    else if (this.#watchesSilence && nowMs - this.#heardMs > silenceMs) {
      this.fail(new TrawlError("git", `${this.name} was silent for more than ${silenceMs} ms`));
    } else if (nowMs - this.#guardedMs >= guardMs) this.#askGuard(nowMs);
  }

  #askGuard(nowMs: number): void {
    this.#guardedMs = nowMs;
    const reason = this.#limits.guard?.() ?? null;
    if (reason !== null) this.fail(new TrawlError("git", `${this.name} ${reason}`));
  }

  /** Signals the whole process group, including ssh, index-pack and others. */
  #send(signal: "SIGTERM" | "SIGKILL"): void {
    // As long as the group exists, no new process gets its number. So if there is one, the group is another one's.
    if (this.#exitCode !== null && exists(this.#process.pid)) return;
    try {
      process.kill(-this.#process.pid, signal);
    } catch {
      // The group no longer exists.
    }
  }
}

function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

/**
 * Throws `git` if git cannot be started: it does not exist, no file descriptor is left, or an argument contains a NUL.
 */
function start(name: string, { args, environment, directory }: GitCommand, limits: ProcessLimits): StartedProcess {
  try {
    return startProcess({ name: "git", args, environment, directory, limits });
  } catch (error) {
    throw new TrawlError("git", `cannot run ${name}: ${errorMessage(error)}`, { cause: error });
  }
}

/** The first argument that is not a global option: `--git-dir=…` and `-c NAME=VALUE` precede the subcommand. */
function subcommand(args: readonly string[]): string {
  return args.find((argument, i) => !argument.startsWith("-") && args[i - 1] !== "-c") ?? "";
}

/** Messages of git and the C library for failed allocations. Each is a plain text. */
const outOfMemoryTexts = [
  "out of memory",
  "memory exhausted",
  "cannot allocate memory",
  "unable to create thread",
  "failed to allocate",
  "virtual memory exhausted",
  // Messages of xdiff and zlib for the same.
  "unable to generate diff",
  "zlib: out of memory",
  "inflateinit: out of memory",
];

/** How git reports a child process that was killed; 9 is the signal that the kernel sends after 24. Linux numbers. */
const diedOf = {
  cpu: ["died of signal 24", "killed by signal 24"],
  file: ["died of signal 25", "killed by signal 25"],
};

/**
 * Which limit ended git, as the end of a sentence that begins with git's name, with a remedy. Null if git ended for
 * another reason, as far as its signal and its last messages (`errorText`) reveal.
 */
function limitHit(signal: string | null, errorText: string, limits: ProcessLimits): string | null {
  const text = errorText.toLowerCase();
  const says = (parts: readonly string[]): boolean => parts.some((part) => text.includes(part));
  if (signal === "SIGXCPU" || says(diedOf.cpu)) {
    return `used more than ${limits.cpuSecondsMax} s of CPU time; request less history or fewer files`;
  }
  if (signal === "SIGXFSZ" || says(diedOf.file)) {
    return `was writing a file of more than ${limits.fileBytesMax} bytes; raise git.maxFetchBytes if the repository is that large`;
  }
  if (says(outOfMemoryTexts)) {
    return `needed more than ${Math.floor(limits.dataBytesMax / (1 << 20))} MiB of memory; request less, or raise git.maxMemoryBytes if a fetch needs it`;
  }
  return null;
}

const keptErrorLines = 20;

/** Splits standard error into lines at LF and CR (progress), passes them on and keeps the last meaningful ones. */
class LineCollector {
  readonly #onLine: ((line: string) => void) | null;
  readonly #kept: string[] = [];
  #rest = "";

  constructor(onLine: ((line: string) => void) | null) {
    this.#onLine = onLine;
  }

  get text(): string {
    return [...this.#kept, this.#rest].filter((line) => line !== "").join("\n");
  }

  add(part: Buffer): void {
    const lines = (this.#rest + part.toString("utf8")).split(/[\r\n]/);
    this.#rest = (lines.pop() ?? "").slice(-4096);
    for (const line of lines) {
      if (line === "") continue;
      this.#onLine?.(line);
      if (parseProgress(line) !== null) continue;
      this.#kept.push(line.slice(0, 4096));
      if (this.#kept.length > keptErrorLines) this.#kept.shift();
    }
  }
}
