/**
 * Runs fuzz targets. An input is made from a number, so that the number alone reproduces it; what fails is made smaller
 * as long as it fails.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { randomOfInput, type Random } from "./inputs.js";

/** A reader of untrusted bytes. */
export interface FuzzTarget {
  readonly name: string;
  /** Processor time of one input. */
  readonly cpuMsMax: number;
  /** Inputs in `make test`, which has a second for each target. */
  readonly testCount: number;
  readonly make: (random: Random) => Buffer;
  /** Throws when the reader does what it must not. What the reader says of a bad input is no failure. */
  readonly run: (input: Buffer) => void;
}

export interface FuzzFailure {
  readonly target: string;
  /** Makes the input again; undefined for one of the committed inputs. */
  readonly seed: number | undefined;
  readonly reason: string;
  /** As small as it was made. */
  readonly input: Buffer;
}

export interface FuzzBounds {
  readonly seed: number;
  readonly countMax: number;
  readonly ms: number;
}

/** Of a target that failed so often, no further input is tried. */
const failuresMax = 3;

/** An input that is over its time is tried again: its least time counts. */
const timingsMax = 4;

/** How often, and how long, a failing input is made smaller. */
const shrinkTries = { thrown: 2000, slow: 40 } as const;
const shrinkMs = 10_000;

/** After this time the process is ended, with the seed of the input that it works on. */
const hangMs = 30_000;

/** Folder of inputs that failed once, by target. They are small, and stay. */
const regressionFolder = "test/fuzz/regressions";

/** Inputs with the numbers from `seed` on. */
export function fuzz(
  target: FuzzTarget,
  { seed, countMax, ms }: FuzzBounds,
): { readonly count: number; readonly failures: readonly FuzzFailure[] } {
  const failures: FuzzFailure[] = [];
  const startedMs = performance.now();
  let count = 0;
  for (; count < countMax && failures.length < failuresMax && performance.now() - startedMs < ms; count++) {
    watchedSeed = seed + count;
    const input = target.make(randomOfInput(seed + count));
    const failure = failureOf(target, input);
    if (failure !== undefined)
      failures.push({
        target: target.name,
        seed: seed + count,
        reason: failure.reason,
        input: shrunk(target, input, failure),
      });
  }
  return { count, failures };
}

/** Runs the inputs that failed once. */
export function runRegressions(target: FuzzTarget): readonly FuzzFailure[] {
  return regressionsOf(target.name).flatMap((input) => {
    const failure = failureOf(target, input);
    return failure === undefined ? [] : [{ target: target.name, seed: undefined, reason: failure.reason, input }];
  });
}

function regressionsOf(name: string): Buffer[] {
  const folder = join(regressionFolder, name);
  try {
    return readdirSync(folder)
      .sort()
      .map((file) => readFileSync(join(folder, file)));
  } catch {
    // Most targets have none.
    return [];
  }
}

export function printFailure({ target, seed, reason, input }: FuzzFailure): string {
  const again = seed === undefined ? "a committed input" : `make fuzz TARGET=${target} SEED=${seed} INPUTS=1`;
  const text =
    input.length > 600
      ? `${JSON.stringify(input.toString("latin1", 0, 300))}… (${input.length} bytes)`
      : JSON.stringify(input.toString("latin1"));
  return `${target}: ${reason}\n  ${again}\n  latin1: ${text}\n`;
}

interface Failure {
  readonly kind: keyof typeof shrinkTries;
  readonly reason: string;
}

function failureOf(target: FuzzTarget, input: Buffer): Failure | undefined {
  tellWatchdog(target.name);
  try {
    const startedMs = performance.now();
    target.run(input);
    if (performance.now() - startedMs <= target.cpuMsMax) return undefined;
    const ms = leastCpuMs(target, input);
    return ms > target.cpuMsMax
      ? { kind: "slow", reason: `took ${ms.toFixed(0)} ms of ${target.cpuMsMax}` }
      : undefined;
  } catch (error) {
    return { kind: "thrown", reason: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  } finally {
    tellWatchdog("");
  }
}

function leastCpuMs(target: FuzzTarget, input: Buffer): number {
  let leastMs = Infinity;
  for (let i = 0; i < timingsMax && leastMs > target.cpuMsMax; i++) {
    const before = process.cpuUsage();
    target.run(input);
    const { user, system } = process.cpuUsage(before);
    leastMs = Math.min(leastMs, (user + system) / 1000);
  }
  return leastMs;
}

/** Leaves out halves, then smaller parts, while it still fails the same way. */
function shrunk(target: FuzzTarget, input: Buffer, { kind }: Failure): Buffer {
  let smallest = input;
  let tries: number = shrinkTries[kind];
  const untilMs = performance.now() + shrinkMs;
  for (let part = input.length >> 1; part > 0; part >>= 1) {
    for (let at = 0; at < smallest.length && tries > 0 && performance.now() < untilMs; tries--) {
      const without = Buffer.concat([smallest.subarray(0, at), smallest.subarray(at + part)]);
      if (failureOf(target, without)?.kind === kind) smallest = without;
      else at += part;
    }
  }
  return smallest;
}

/** What the watchdog reads: a counter, the number of the input, and the name of the target, empty between inputs. */
const watched = { words: new Int32Array(new SharedArrayBuffer(8)), name: new Uint8Array(new SharedArrayBuffer(64)) };
let watchedSeed = 0;

function tellWatchdog(name: string): void {
  watched.name.fill(0);
  watched.name.set(Buffer.from(name).subarray(0, watched.name.length));
  Atomics.store(watched.words, 1, watchedSeed);
  Atomics.add(watched.words, 0, 1);
}

const watchdogCode = `const { workerData: { words, name, hangMs } } = require("node:worker_threads");
for (;;) {
  const count = Atomics.load(words, 0);
  // Nobody wakes it: it sleeps for all of the time.
  Atomics.wait(words, 0, count, hangMs);
  const target = Buffer.from(name).toString().replaceAll("\\0", "");
  if (Atomics.load(words, 0) !== count || target === "") continue;
  require("node:fs").writeSync(2, target + ": an input takes longer than " + hangMs + " ms\\n  make fuzz TARGET=" + target + " SEED=" + words[1] + " INPUTS=1\\n");
  process.kill(process.pid, "SIGKILL");
}`;

/**
 * Ends the process when an input takes very long: nothing else ends a loop without end. Resolves with what stops the
 * watch.
 */
export function startWatchdog(): () => Promise<number> {
  const worker = new Worker(watchdogCode, { eval: true, workerData: { ...watched, hangMs } });
  worker.unref();
  return () => worker.terminate();
}
