/** Waits for other processes, sockets and threads: long enough for a busy machine, but not forever. */
import { isDeepStrictEqual } from "node:util";
import type { Test } from "tap";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";

/** Generous, since on an idle machine waits end almost immediately. */
export const waitMsMax = 120_000;

/** The first pause between two looks. A look that costs work needs a longer one, or it delays what it waits for. */
const pauseMsUsual = 5;

/**
 * Each pause is longer than the one before, up to `pauseMsMax`, so that a wait ends at most a quarter later than it could,
 * and long waits on a busy machine take no processor time from what they wait for: a look is often a whole search.
 */
const pauseGrowth = 1.25;
const pauseMsMax = 250;

/** Waits until `holds` resolves with true; throws if it does not in time, with `what` as it is then. */
export async function until(
  what: string | (() => string),
  holds: () => Promise<boolean> | boolean,
  waitMs: number = waitMsMax,
  pauseMs: number = pauseMsUsual,
): Promise<void> {
  const endMs = monotonicMs() + waitMs;
  for (let pause = pauseMs; !(await holds()); pause = Math.max(pauseMs, Math.min(pause * pauseGrowth, pauseMsMax))) {
    if (monotonicMs() > endMs)
      throw new TrawlError("internal", `timed out after ${waitMs} ms: ${typeof what === "string" ? what : what()}`);
    await sleep(pause);
  }
}

/** The value of `promise`, or an error if it takes too long. */
export async function within<T>(promise: Promise<T>, what: string, waitMs: number = waitMsMax): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TrawlError("internal", `${what}: timed out after ${waitMs} ms`)), waitMs);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Asserts that `get` returns `expected`, immediately or after a while. */
export async function becomes<T>(t: Test, get: () => Promise<T> | T, expected: T, what: string): Promise<void> {
  t.same(await firstThat(get, (value) => isDeepStrictEqual(value, expected), what), expected, what);
}

/** Asserts that what `get` returns matches `pattern`, immediately or after a while. */
export async function comesToMatch(t: Test, get: () => Promise<string>, pattern: RegExp, what: string): Promise<void> {
  t.match(await firstThat(get, (value) => pattern.test(value), what), pattern, what);
}

/** The first value for which `holds`: what comes after it may be another one. What there is in the end if none comes in time. */
async function firstThat<T>(get: () => Promise<T> | T, holds: (value: T) => boolean, what: string): Promise<T> {
  const found: T[] = [];
  const look = async (): Promise<boolean> => {
    const value = await get();
    if (holds(value)) found.push(value);
    return found.length > 0;
  };
  await until(what, look).catch(() => undefined);
  const [value = await get()] = found;
  return value;
}
