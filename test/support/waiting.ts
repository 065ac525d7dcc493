/** Waits for what other processes, sockets and threads do: as long as a busy machine needs, and not for ever. */
import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";

/** Generous, since what is waited for comes at once on a quiet machine. */
export const waitMsMax = 120_000;

/** Waits until `holds` resolves with true; throws when it does not in time. */
export async function until(
  what: string,
  holds: () => Promise<boolean> | boolean,
  waitMs: number = waitMsMax,
): Promise<void> {
  const endMs = monotonicMs() + waitMs;
  while (!(await holds())) {
    if (monotonicMs() > endMs) throw new TrawlError("internal", `waited ${waitMs} ms in vain: ${what}`);
    await sleep(5);
  }
}

/** The value of `promise`, or an error when it takes too long. */
export async function within<T>(promise: Promise<T>, what: string, waitMs: number = waitMsMax): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TrawlError("internal", `${what}: not within ${waitMs} ms`)), waitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asserts that `get` gives `expected`, at once or after a while. */
export async function becomes<T>(t: Test, get: () => Promise<T> | T, expected: T, what: string): Promise<void> {
  await until(what, async () => isDeepStrictEqual(await get(), expected)).catch(() => undefined);
  t.same(await get(), expected, what);
}
