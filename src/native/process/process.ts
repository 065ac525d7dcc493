import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { accessSync, constants, existsSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { constants as system } from "node:os";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { sleep } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import { withLimit } from "../../base/refusal.js";
import { lazy } from "../../base/lazy.js";
import { encodePath } from "../../base/path-text.js";
import { addonIfBuilt, type Addon } from "../kernel/addon.js";
import { forgetChild, recordChild } from "./child-registry.js";

export interface ProcessCommand {
  /** An absolute path, or a name that is looked up in the `PATH` of the environment. */
  readonly name: string;
  /** Paths that are not UTF-8 are as `decodePath` returns them; without the addon, no process can be started with them. */
  readonly args: readonly string[];
  /** The complete environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly directory: string;
  readonly limits: ProcessLimits;
}

/**
 * Resource limits of a process, and of each one that it starts. Infinity for no limit. Enforced by the operating
 * system.
 */
export interface ProcessLimits {
  /** Memory other than mapped files, such as git's packs. An allocation beyond it fails. */
  readonly dataBytesMax: number;
  /** SIGXCPU ends a process that exceeds it. */
  readonly cpuSecondsMax: number;
  /** For each file that is written; SIGXFSZ ends a process that writes more. Pipes are not files. */
  readonly fileBytesMax: number;
  readonly descriptorCountMax: number;
}

export interface Ending {
  readonly code: number | null;
  readonly signal: string | null;
}

/**
 * A running process in its own session, with pipes for its streams. If memory is short, the kernel kills it before this
 * process.
 */
export interface StartedProcess {
  readonly pid: number;
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  /** Its exit status; null while it runs. Should be polled when the streams have closed. */
  ending(): Ending | null;
}

/**
 * Starts a process. Throws `internal`, with the system's error name, if that is not possible.
 *
 * Node forks, and a fork copies the page tables of the whole daemon and makes each of its threads fault on every page
 * that it writes next: with 300 MB resident this takes 25 ms, with 530 MB 57 ms on a busy machine. The addon avoids
 * that.
 */
export function startProcess(command: ProcessCommand): StartedProcess {
  const addon = addonIfBuilt();
  return addon === undefined ? forkProcess(command) : spawned(command, addon);
}

function spawned({ name, args, environment, directory, limits }: ProcessCommand, addon: Addon): StartedProcess {
  const variables = Object.entries(environment).map(([key, value]) => `${key}=${value}`);
  const strings = [findExecutable(name, environment["PATH"] ?? ""), directory, name, ...args, ...variables];
  if (strings.some((text) => text.includes("\0"))) throw failure(name, "ERR_INVALID_ARG_VALUE");
  const out = new Uint32Array(4);
  const error = addon.startProcess(
    Buffer.from(encodePath(`${strings.join("\0")}\0`)),
    args.length + 1,
    variables.length,
    limitWords(limits),
    out,
  );
  if (error !== 0) throw failure(name, nameOfError(error));
  const [pid, stdin, stdout, stderr] = out;
  recordChild(pid);
  let ending: Ending | null = null;
  return {
    pid,
    stdin: new Socket({ fd: stdin, readable: false, writable: true }),
    stdout: new Socket({ fd: stdout, readable: true, writable: false }),
    stderr: new Socket({ fd: stderr, readable: true, writable: false }),
    ending: () => (ending ??= readEnding(pid, addon)),
  };
}

/** Longest time between two looks at a process that is to end. */
const pollMsMax = 50;

/** Resolves when it has ended. */
export async function waitForEnding(process: Pick<StartedProcess, "ending">): Promise<Ending> {
  for (let delayMs = 1; ; delayMs = Math.min(2 * delayMs, pollMsMax)) {
    const ending = process.ending();
    if (ending !== null) return ending;
    await sleep(delayMs);
  }
}

function limitWords({ dataBytesMax, cpuSecondsMax, fileBytesMax, descriptorCountMax }: ProcessLimits): Uint32Array {
  const values = [dataBytesMax / mebibyte, cpuSecondsMax, fileBytesMax / mebibyte, descriptorCountMax];
  return Uint32Array.from(values, (value) => (value < unlimitedWord ? Math.ceil(value) : unlimitedWord));
}

const mebibyte = 1 << 20;
const unlimitedWord = 2 ** 32 - 1;

function readEnding(pid: number, addon: Addon): Ending | null {
  const out = new Uint32Array(2);
  if (!addon.hasEnded(pid, out)) return null;
  forgetChild(pid);
  const [code, signal] = out;
  return signal === 0 ? { code, signal: null } : { code: null, signal: nameOfSignal(signal) };
}

function findExecutable(name: string, path: string): string {
  for (const folder of name.startsWith("/") ? [""] : path.split(":")) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder, or not executable.
    }
  }
  throw failure(name, "ENOENT");
}

/** Like `startProcess`, without the addon. If the system has no `prlimit`, there are no limits. */
export function forkProcess({ name, args, environment, directory, limits }: ProcessCommand): StartedProcess {
  const file = findExecutable(name, environment["PATH"] ?? "");
  const [program, ...words] = [...limitingCommand(limits), file, ...args];
  let child: ChildProcessWithoutNullStreams;
  try {
    child = spawn(program, words, {
      cwd: directory,
      env: environment,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
  } catch (error) {
    throw failure(name, (error as NodeJS.ErrnoException).code ?? String(error));
  }
  child.on("error", () => undefined);
  const { pid, stdin, stdout, stderr } = child;
  // Node reports the reason later; if no file descriptor is left, there are no streams either, contrary to their type.
  if (pid === undefined || stdin === undefined || stdout === undefined)
    throw failure(name, "failed: no such directory, or no file descriptor left");
  recordChild(pid);
  child.on("exit", () => forgetChild(pid));
  raiseOomScore(pid);
  return {
    pid,
    stdin,
    stdout,
    stderr,
    ending: () =>
      child.exitCode === null && child.signalCode === null ? null : { code: child.exitCode, signal: child.signalCode },
  };
}

/** Time between the signal for the CPU limit and the one that cannot be ignored. */
const cpuGraceSeconds = 5;

/** util-linux's `prlimit`, which executes the command that follows it. */
function limitingCommand({ dataBytesMax, cpuSecondsMax, fileBytesMax, descriptorCountMax }: ProcessLimits): string[] {
  const program = prlimit();
  if (program === undefined) return [];
  const rows: readonly (readonly [name: string, soft: number, hard: number])[] = [
    ["data", dataBytesMax, dataBytesMax],
    ["cpu", cpuSecondsMax, cpuSecondsMax + cpuGraceSeconds],
    ["fsize", fileBytesMax, fileBytesMax],
    ["nofile", descriptorCountMax, descriptorCountMax],
    ["core", 0, 0],
  ];
  return [
    program,
    ...rows.flatMap(([option, soft, hard]) => (soft === Infinity ? [] : [`--${option}=${soft}:${hard}`])),
    "--",
  ];
}

const prlimit = lazy(() => ["/usr/bin/prlimit", "/bin/prlimit"].find((path) => existsSync(path)));

/** The kernel kills the process with the highest score first: its share of memory in thousandths, plus this. */
const oomScoreAdjustment = 500;

function raiseOomScore(pid: number): void {
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, String(oomScoreAdjustment));
  } catch {
    // It has exited, or the system has no such file: then it is killed like any other process.
  }
}

function failure(name: string, reason: string): TrawlError {
  return new TrawlError("internal", withLimit(`spawn ${name} ${reason}`));
}

function nameOfError(number: number): string {
  return Object.entries(system.errno).find(([, value]) => value === number)?.[0] ?? `error ${number}`;
}

function nameOfSignal(number: number): string {
  return Object.entries(system.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}
