import { cpus } from "node:os";
import { monotonicMs, sleep } from "../../src/base/deadline.js";

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
