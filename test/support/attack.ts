/**
 * Measures what an attack costs a live daemon: the longest stall of its main thread, and the memory of its processes.
 */
import { readdirSync, readFileSync } from "node:fs";
import type { Test } from "tap";
import { callEvery } from "../../src/base/deadline.js";
import type { DaemonProcess } from "./daemon.js";
import { isFull } from "./full-run.js";

export interface AttackBounds {
  /**
   * Longest time for which the daemon's main thread may not respond. Asserted by `make faults` only: page faults, and
   * waits for threads that collect garbage, depend on what else the machine does.
   */
  readonly awayMsMax: number;
  /** Longest processor time that the main thread may use without running a timer. */
  readonly turnMsMax: number;
  /** Growth of the memory of the daemon and its children, in bytes. */
  readonly grownBytesMax: number;
  /**
   * The number of attempts for an act that stalls the main thread for too long, or takes too much memory. A full garbage
   * collection may fall into any act, or come late: an act exceeds a bound only if every attempt does.
   */
  readonly tryCount: number;
}

/** The bounds for a single request. */
export const usualBounds: AttackBounds = {
  awayMsMax: 100,
  // A core that shares its caches with a busy neighbour takes up to twice the processor time for the same work. What an
  // attack exploits takes seconds.
  turnMsMax: isFull ? 100 : 250,
  grownBytesMax: 400 * 1024 * 1024,
  tryCount: 1,
};

/**
 * The bounds for an act that starts processes and cannot be repeated. The main thread is blocked until a new process
 * executes its program, which waits for a processor on a busy machine: only processor time is compared closely.
 */
export const startingBounds: AttackBounds = { ...usualBounds, awayMsMax: 2_000 };

/** The bounds for an act that can be repeated. */
export const repeatedBounds: AttackBounds = { ...usualBounds, tryCount: 3 };

/** Interval at which memory is sampled. A longer one would miss child processes that end quickly. */
const sampleMs = 25;

export interface AttackCost {
  readonly awayMs: number;
  readonly turnMs: number;
  readonly grownBytes: number;
}

/**
 * Runs `act` against the daemon, and asserts that the daemon survives, responds, and stays within the bounds.
 * Excludes the time for which the main thread waited for a processor, so other work on the machine does not matter.
 */
export async function underAttack<T>(
  t: Test,
  daemon: DaemonProcess,
  bounds: AttackBounds,
  name: string,
  act: () => Promise<T>,
): Promise<T> {
  // Before the first attempt, so that what an attempt leaves behind counts for the next one.
  const beforeBytes = treeBytes(daemon.pid);
  let { result, cost } = await measured(daemon, act, beforeBytes);
  for (let i = 1; i < bounds.tryCount && isTooMuch(cost, bounds); i++)
    ({ result, cost } = await measured(daemon, act, beforeBytes));
  t.equal(daemon.hasExited, false, `${name}: the daemon lives`);
  if (isFull)
    t.ok(
      cost.awayMs <= bounds.awayMsMax,
      `${name}: the main thread was away for ${cost.awayMs.toFixed(1)} ms of ${bounds.awayMsMax}`,
    );
  t.ok(
    cost.turnMs <= bounds.turnMsMax,
    `${name}: a turn of the main thread took ${cost.turnMs.toFixed(1)} ms of ${bounds.turnMsMax} on a processor`,
  );
  t.ok(
    cost.grownBytes <= bounds.grownBytesMax,
    `${name}: memory grew by ${mebibytes(cost.grownBytes)} of ${mebibytes(bounds.grownBytesMax)} MiB`,
  );
  return result;
}

function isTooMuch(cost: AttackCost, bounds: AttackBounds): boolean {
  return (
    (isFull && cost.awayMs > bounds.awayMsMax) ||
    cost.turnMs > bounds.turnMsMax ||
    cost.grownBytes > bounds.grownBytesMax
  );
}

/** Like `underAttack`, without assertions. `beforeBytes` is the memory from which growth is counted. */
export async function measured<T>(
  daemon: DaemonProcess,
  act: () => Promise<T>,
  beforeBytes = treeBytes(daemon.pid),
): Promise<{ readonly result: T; readonly cost: AttackCost }> {
  let mostBytes = beforeBytes;
  const look = (): void => {
    mostBytes = Math.max(mostBytes, treeBytes(daemon.pid));
  };
  await daemon.startStallMeter();
  const sampling = callEvery(sampleMs, look);
  try {
    const result = await act();
    look();
    const [awayMs, turnMs] = [await daemon.longestStallMs(), await daemon.longestTurnMs()];
    return { result, cost: { awayMs, turnMs, grownBytes: mostBytes - beforeBytes } };
  } finally {
    sampling.cancel();
  }
}

/** Private memory of a process and all its descendants, excluding mapped files. */
export function treeBytes(pid: number): number {
  const children = childrenByParent();
  const sumOf = (id: number): number =>
    ownBytes(id) +
    (children.get(id) ?? []).reduce((sum, child) => sum + (sharesMemory(child, id) ? 0 : sumOf(child)), 0);
  return sumOf(pid);
}

/** The descendants of a process, excluding the process itself. */
export function descendants(pid: number): readonly number[] {
  const children = childrenByParent();
  const below = (id: number): number[] => (children.get(id) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

/** The parents of the processes at the last look. Only new processes are read, because `measured` looks every 25 ms. */
let parents = new Map<number, number>();

function childrenByParent(): ReadonlyMap<number, number[]> {
  const pids = new Set(readdirSync("/proc").map(Number).filter(Number.isInteger));
  const now = new Map<number, number>();
  const children = new Map<number, number[]>();
  for (const pid of pids) {
    const known = parents.get(pid);
    // A process whose parent has ended gets another parent.
    const parent = known !== undefined && pids.has(known) ? known : readParent(pid);
    if (!(parent > 0)) continue;
    now.set(pid, parent);
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  parents = now;
  return children;
}

function readParent(pid: number): number {
  // The command's name stands in parentheses, and may hold blanks and parentheses; then come the state and the parent.
  const stat = textOf(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
}

/** Until a child has executed its own program, it has its parent's memory, including the arguments. */
function sharesMemory(child: number, parent: number): boolean {
  return textOf(`/proc/${child}/cmdline`) === textOf(`/proc/${parent}/cmdline`);
}

function ownBytes(pid: number): number {
  const status = textOf(`/proc/${pid}/status`);
  const kibibytes = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return 1024 * (kibibytes("RssAnon") + kibibytes("RssShmem"));
}

/** Returns an empty string for a process that has ended. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function mebibytes(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(0);
}
