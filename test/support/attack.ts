/** What an attack costs a live daemon: how long its main thread was away, and how much memory its processes took. */
import { readdirSync, readFileSync } from "node:fs";
import type { Test } from "tap";
import { callEvery } from "../../src/base/deadline.js";
import type { DaemonProcess } from "./daemon.js";

export interface AttackBounds {
  /** Longest time in which the daemon's main thread may serve nobody. */
  readonly awayMsMax: number;
  /** Growth of the memory of the daemon and its children, in bytes. */
  readonly grownBytesMax: number;
  /**
   * How often an act is tried that keeps the main thread away for too long. The main thread waits for threads that
   * collect garbage or end, and those wait for processors where other work takes them: what is slow each time is slow.
   */
  readonly tryCount: number;
}

/** What any single request may cost. */
export const usualBounds: AttackBounds = { awayMsMax: 100, grownBytesMax: 400 * 1024 * 1024, tryCount: 1 };

/** The same for an act that can be repeated. */
export const repeatedBounds: AttackBounds = { ...usualBounds, tryCount: 3 };

/** Memory is sampled this often: less often would miss a child that lives shortly. */
const sampleMs = 25;

export interface AttackCost {
  readonly awayMs: number;
  readonly grownBytes: number;
}

/**
 * Runs `act` against the daemon, and asserts that the daemon lives, answers, and stayed within the bounds meanwhile.
 * The time that the main thread waited for a processor is not counted, so other work on the machine does not matter.
 */
export async function underAttack<T>(
  t: Test,
  daemon: DaemonProcess,
  bounds: AttackBounds,
  name: string,
  act: () => Promise<T>,
): Promise<T> {
  let { result, cost } = await measured(daemon, act);
  for (let i = 1; i < bounds.tryCount && cost.awayMs > bounds.awayMsMax; i++)
    ({ result, cost } = await measured(daemon, act));
  t.equal(daemon.hasExited, false, `${name}: the daemon lives`);
  t.ok(
    cost.awayMs <= bounds.awayMsMax,
    `${name}: the main thread was away for ${cost.awayMs.toFixed(1)} ms of ${bounds.awayMsMax}`,
  );
  t.ok(
    cost.grownBytes <= bounds.grownBytesMax,
    `${name}: memory grew by ${mebibytes(cost.grownBytes)} of ${mebibytes(bounds.grownBytesMax)} MiB`,
  );
  return result;
}

/** The same without assertions. */
export async function measured<T>(
  daemon: DaemonProcess,
  act: () => Promise<T>,
): Promise<{ readonly result: T; readonly cost: AttackCost }> {
  const beforeBytes = treeBytes(daemon.pid);
  let mostBytes = beforeBytes;
  const look = (): void => {
    mostBytes = Math.max(mostBytes, treeBytes(daemon.pid));
  };
  await daemon.startStallMeter();
  const sampling = callEvery(sampleMs, look);
  try {
    const result = await act();
    look();
    return { result, cost: { awayMs: await daemon.longestStallMs(), grownBytes: mostBytes - beforeBytes } };
  } finally {
    sampling.cancel();
  }
}

/** Memory that a process and all its descendants have for themselves: mapped files are not counted. */
export function treeBytes(pid: number): number {
  const children = childrenByParent();
  const sumOf = (id: number): number =>
    ownBytes(id) +
    (children.get(id) ?? []).reduce((sum, child) => sum + (sharesMemory(child, id) ? 0 : sumOf(child)), 0);
  return sumOf(pid);
}

/** Descendants of a process, itself left out. */
export function descendants(pid: number): readonly number[] {
  const children = childrenByParent();
  const below = (id: number): number[] => (children.get(id) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

function childrenByParent(): ReadonlyMap<number, number[]> {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    // The command's name stands in parentheses, and may hold blanks and parentheses; then come the state and the
    // parent.
    const stat = textOf(`/proc/${pid}/stat`);
    const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
    if (parent > 0) children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  return children;
}

/** A child that has not come to its own program yet has its parent's memory, arguments included. */
function sharesMemory(child: number, parent: number): boolean {
  return textOf(`/proc/${child}/cmdline`) === textOf(`/proc/${parent}/cmdline`);
}

function ownBytes(pid: number): number {
  const status = textOf(`/proc/${pid}/status`);
  const kibibytes = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return 1024 * (kibibytes("RssAnon") + kibibytes("RssShmem"));
}

/** Empty for a process that has ended. */
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
