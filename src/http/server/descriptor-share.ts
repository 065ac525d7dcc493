import { readFileSync } from "node:fs";

/** For the stores, threads, children of git and connections without a request, which uWebSockets.js ends after 10 s. */
const reservedMax = 1_024;

/**
 * Answers that may be open at a time, each on a connection of its own, so that descriptors are left for what else the
 * daemon does: without any, no repository is fetched and nobody can be told why. Of few descriptors it is half.
 */
export function openAnswersMax(descriptorLimit: number): number {
  return Math.max(1, descriptorLimit - Math.min(reservedMax, Math.ceil(descriptorLimit / 2)));
}

/** How many descriptors the system lets this process have; Infinity where it does not tell. */
export function descriptorLimit(): number {
  try {
    return limitIn(readFileSync("/proc/self/limits", "utf8"));
  } catch {
    return Infinity;
  }
}

/** The soft limit in the text of `/proc/self/limits`, to which Node has raised it as far as it may. */
export function limitIn(limits: string): number {
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
}
