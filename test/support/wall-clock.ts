import type { Test } from "tap";

/** Sets the wall clock of this process until the end of the test; the monotonic clock does not change. */
export function wallClock(t: Test): { set(ms: number): void } {
  const Real = Date;
  let shownMs: number | undefined;
  class Shown extends Real {
    constructor(...given: [] | [number | string | Date]) {
      if (given.length === 0) super(Shown.now());
      else super(given[0]);
    }

    static override now(): number {
      return shownMs ?? Real.now();
    }
  }
  globalThis.Date = Shown as DateConstructor;
  t.teardown(() => {
    globalThis.Date = Real;
  });
  return {
    set: (ms) => {
      shownMs = ms;
    },
  };
}
