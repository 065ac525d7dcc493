import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { readDescendants, readTasks } from "./processes.js";
import { callEvery, monotonicMs, sleep } from "../../src/base/deadline.js";

/** The spread of measured values, in their unit. */
export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
  readonly count: number;
}

export function computeSpread(values: readonly number[]): Spread {
  const at = (share: number): number => quantile(values, share);
  return { min: at(0), median: at(0.5), max: at(1), count: values.length };
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/**
 * The value that this share of the values does not exceed: always a measured one, never one between two. NaN of none.
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

/**
 * Measures all of them in turn, round after round, so that other load on the machine affects each of them alike. Returns
 * the values of each.
 */
export async function alternate<Value>(
  rounds: number,
  measures: readonly (() => Promise<Value>)[],
): Promise<Value[][]> {
  const values = measures.map((): Value[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [i, measure] of measures.entries()) values[i]?.push(await measure());
  }
  return values;
}

/** The same after one round that does not count. */
export async function alternateWarm<Value>(
  rounds: number,
  measures: readonly (() => Promise<Value>)[],
): Promise<Value[][]> {
  return (await alternate(rounds + 1, measures)).map((values) => values.slice(1));
}

export interface Memory {
  readonly residentBytes: number;
  /** Without mapped files, which the system reclaims when it needs memory. */
  readonly anonymousBytes: number;
}

export function readMemory(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const readField = (field: string): number =>
    Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) * 1024;
  return { residentBytes: readField("VmRSS"), anonymousBytes: readField("RssAnon") };
}

/** The maximum of each, not at one moment. */
export interface PeakMemory extends Memory {
  /**
   * Resident memory of all child processes: git, while it reads a repository. A child that has not executed its program
   * yet does not count: between vfork and exec it has no memory of its own, and the system reports its parent's.
   */
  readonly childrenBytes: number;
  /** Resident memory of the process and its children at one moment. */
  readonly togetherBytes: number;
}

/** Watches a process, ten times a second, until the returned function is called. The process may end before. */
export function watchMemory(pid: number): () => PeakMemory {
  const peak = { residentBytes: 0, anonymousBytes: 0, childrenBytes: 0, togetherBytes: 0 };
  const ownCommand = readCommand(pid);
  const sample = (): void => {
    const memory = memoryIfAlive(pid);
    if (memory === undefined) return;
    const childrenBytes = readDescendants(pid).reduce((sum, child) => sum + ownResidentBytes(child, ownCommand), 0);
    const now = { ...memory, childrenBytes, togetherBytes: memory.residentBytes + childrenBytes };
    for (const field of Object.keys(peak) as (keyof PeakMemory)[]) peak[field] = Math.max(peak[field], now[field]);
  };
  const timer = callEvery(100, sample);
  return () => {
    timer.cancel();
    sample();
    return peak;
  };
}

/** 0 for a process that has ended, or that still runs the command of its parent, in its parent's memory. */
function ownResidentBytes(pid: number, parentCommand: string | undefined): number {
  // The command is read first: a process that executes another program in between is then not counted at all.
  const command = readCommand(pid);
  if (command === undefined || command === parentCommand) return 0;
  return memoryIfAlive(pid)?.residentBytes ?? 0;
}

/** Undefined for a process that has ended. */
function readCommand(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1");
  } catch {
    return undefined;
  }
}

/** Undefined for a process that has ended. */
function memoryIfAlive(pid: number): Memory | undefined {
  try {
    return readMemory(pid);
  } catch {
    return undefined;
  }
}

/**
 * Waits until the process has used less than 2 % of a core for two seconds, at most `limitMs`. Returns whether it became
 * idle.
 */
export async function waitForIdle(pid: number, limitMs: number): Promise<boolean> {
  const startedMs = monotonicMs();
  while (monotonicMs() - startedMs < limitMs) {
    const before = readThreadsCpuMs(pid);
    await sleep(2000);
    if (readThreadsCpuMs(pid) - before < 40) return true;
  }
  return false;
}

/** Processor time of the threads that a process has now. */
export function readThreadsCpuMs(pid: number): number {
  return sumOfTasks(pid, "schedstat", /^(\d+)/) / 1e6;
}

/** How often the threads that a process has now have waited, and so been woken. */
export function readWakeups(pid: number): number {
  return sumOfTasks(pid, "status", /^voluntary_ctxt_switches:\s+(\d+)$/m);
}

function sumOfTasks(pid: number, file: string, pattern: RegExp): number {
  return readTasks(pid).reduce((sum, task) => {
    try {
      return sum + Number(pattern.exec(readFileSync(`/proc/${pid}/task/${task}/${file}`, "utf8"))?.[1] ?? 0);
    } catch {
      return sum;
    }
  }, 0);
}

/** User and system seconds of a process and of its children that have ended. */
export function readTreeCpuSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / 100;
}

/** The size of a folder on disk. */
export function diskBytes(path: string): number {
  const stat = lstatSync(path);
  const own = stat.blocks * 512;
  return stat.isDirectory() ? readdirSync(path).reduce((sum, name) => sum + diskBytes(join(path, name)), own) : own;
}

/** With a larger share of all processors in use, other processes are busy and only ratios mean something. */
export const quietShareMax = 0.05;

/** The share in use is measured over this time. */
const windowMs = 2_000;

/**
 * Waits until the machine is quiet, at most `limitMs`, and reports that it waits: a build or a run before may take a while
 * to end. Returns the share of all processors that was in use at last.
 */
export async function waitForQuiet(limitMs: number, say: (text: string) => void): Promise<number> {
  const startedMs = monotonicMs();
  for (;;) {
    const share = await shareInUse();
    const leftMs = limitMs - (monotonicMs() - startedMs);
    if (share <= quietShareMax || leftMs <= 0) return share;
    say(
      `waiting for a quiet machine, ${Math.ceil(leftMs / 1000)} s at most: ${Math.round(share * 100)} % of it is in use`,
    );
  }
}

async function shareInUse(): Promise<number> {
  const before = readCpuTimes();
  await sleep(windowMs);
  const after = readCpuTimes();
  return 1 - (after.idle - before.idle) / Math.max(1, after.all - before.all);
}

function readCpuTimes(): { readonly idle: number; readonly all: number } {
  const times = cpus().map((cpu) => cpu.times);
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    idle: sum(times.map(({ idle }) => idle)),
    all: sum(times.map(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq)),
  };
}
