import { readFileSync } from "node:fs";

/**
 * Reserved for the stores, threads, git children and connections without a request, which uWebSockets.js closes after
 * 10 s.
 */
const reservedMax = 1_024;

/**
 * Limit on open responses, each on its own connection, which leaves descriptors for everything else that the daemon
 * does: without any, no repository can be fetched and no error can be sent. If there are few descriptors, half of them.
 */
export function openAnswersMax(descriptorLimit: number): number {
  return Math.max(1, descriptorLimit - Math.min(reservedMax, Math.ceil(descriptorLimit / 2)));
}

/** The descriptor limit of this process; Infinity if the system does not report it. */
export function descriptorLimit(): number {
  try {
    return limitIn(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return Infinity;
  }
}

/** The soft limit in the text of `/proc/self/limits`, which Node has raised as far as possible. */
export function limitIn(limits: string): number {
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
}
