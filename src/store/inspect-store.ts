import { mkdirSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { callAfter } from "../base/deadline.js";
import { errorMessage } from "../base/errors.js";
import { saysRefused, withLimit } from "../base/refusal.js";
import { type Ending, startProcess, waitForEnding } from "../native/process/process.js";
import { refusedCode, startedLine, unfinishedFolder, type ProbedStore, type ProbeResult } from "./probe-result.js";

const probeFile = new URL("./store-probe.js", import.meta.url);

/**
 * A probe that takes longer is terminated; the store is then used without having been checked. Twenty shards of 64 MiB
 * take 0.1 s, most of which is Node's startup.
 */
const probeTimeoutMs = 60_000;

const messageLengthMax = 300;

/** The probe's memory is the map of a store, which a limit on data does not include; nothing else in it grows. */
const noLimits = {
  dataBytesMax: Infinity,
  cpuSecondsMax: Infinity,
  fileBytesMax: Infinity,
  descriptorCountMax: Infinity,
};

/**
 * Signals that terminate a process when LMDB encounters invalid pages. Any other signal comes from outside, for example
 * from the kernel when memory is short, and says nothing about the store.
 */
const crashSignals: readonly string[] = ["SIGSEGV", "SIGBUS", "SIGABRT", "SIGILL", "SIGFPE", "SIGTRAP"];

export type StoreState =
  | { readonly kind: "whole"; readonly count: number; readonly unwritten?: string }
  | { readonly kind: "absent" }
  /** It could not be read completely, for a reason outside the store. */
  | { readonly kind: "unknown"; readonly reason: string }
  | { readonly kind: "damaged"; readonly reason: string };

/**
 * Checks in a separate process whether all of a store can be read, because reading a damaged store may crash the
 * process. An intact record store can then be rewritten, so that its file no longer contains changed or deleted data,
 * such as secrets. `upgrade` also rewrites it, and adds checksums to the records of version 1 of the data directory.
 * Caller guarantees: nobody has the store open.
 */
export async function inspectStore(
  kind: ProbedStore["kind"],
  folder: string,
  mode: ProbedStore["mode"] = "look",
): Promise<StoreState> {
  return whyUnprobed(folder) ?? (await inspectAlone({ kind, folder, mode }));
}

/**
 * Checks stores as `inspectStore` does each, in one process: most of its time is Node's start. If any of them is not whole,
 * each is checked again in a process of its own, which shows which one ended it.
 */
export async function inspectStores(stores: readonly ProbedStore[]): Promise<readonly StoreState[]> {
  const unprobed = stores.map(({ folder }) => whyUnprobed(folder));
  const there = stores.filter((_, i) => unprobed[i] === undefined);
  const { code, out } = there.length > 1 ? await runProbe(there) : { code: undefined, out: "" };
  const results = code === 0 ? [...resultsIn(out)] : undefined;
  return await Promise.all(
    stores.map(async (store, i) => {
      const result = unprobed[i] === undefined ? results?.shift() : undefined;
      return unprobed[i] ?? (result === undefined ? await inspectAlone(store) : { kind: "whole" as const, ...result });
    }),
  );
}

function whyUnprobed(folder: string): StoreState | undefined {
  try {
    const isThere = statSync(join(folder, "data.mdb"), { throwIfNoEntry: false }) !== undefined;
    return isThere ? undefined : { kind: "absent" };
  } catch (error) {
    return { kind: "unknown", reason: errorMessage(error) };
  }
}

/** The last line of a probe that has ended well. */
function resultsIn(out: string): readonly ProbeResult[] {
  return JSON.parse(out.split("\n").at(-2) ?? "") as ProbeResult[];
}

async function inspectAlone(store: ProbedStore): Promise<StoreState> {
  const { kind, folder, mode } = store;
  const { code, signal, out, err } = await runProbe([store]);
  if (code === 0) return { kind: "whole", ...resultsIn(out)[0] };
  const isStarted = out.startsWith(`${startedLine}\n`);
  const lines = out.slice(isStarted ? startedLine.length + 1 : 0).split("\n");
  if (mode !== "look") rmSync(join(folder, unfinishedFolder), { recursive: true, force: true });
  // It had read all of it, and was writing the new file.
  if (lines.length === 2) return { kind: "whole", ...(JSON.parse(lines[0]) as ProbeResult) };
  if (signal === "SIGALRM") return { kind: "unknown", reason: "it takes too long" };
  // Node may run out of memory, or not even start.
  if (saysRefused(err)) return { kind: "unknown", reason: withLimit(lastLine(err)) };
  if (signal === null)
    return code === refusedCode || !isStarted
      ? { kind: "unknown", reason: withLimit(lastLine(err)) }
      : { kind: "damaged", reason: lastLine(err) };
  const reason = `reading it was terminated by ${signal}`;
  if (!crashSignals.includes(signal)) return { kind: "unknown", reason };
  if (await canProbe(kind, signal === "SIGBUS" ? join(folder, "probe") : undefined)) return { kind: "damaged", reason };
  return {
    kind: "unknown",
    reason: withLimit(`${reason}, and an empty store cannot be read either: memory or the disk is full`),
  };
}

/**
 * Whether an empty store can be made and read. It cannot where a limit keeps LMDB from mapping a store, as lmdb does not check that.
 * After SIGBUS it is made in this folder of the store: on a full disk, the first write to a new file of locks raises it.
 */
async function canProbe(kind: ProbedStore["kind"], beside: string | undefined): Promise<boolean> {
  let folder = beside ?? "";
  try {
    if (beside === undefined) folder = mkdtempSync(join(tmpdir(), "trawl-probe-"));
    else {
      rmSync(folder, { recursive: true, force: true });
      mkdirSync(folder, { mode: 0o700 });
    }
    return (await runProbe([{ kind, folder, mode: "look" }])).signal === null;
  } catch {
    return false;
  } finally {
    if (folder !== "") rmSync(folder, { recursive: true, force: true });
  }
}

interface ProbeEnd extends Ending {
  readonly out: string;
  readonly err: string;
}

/**
 * The probe is terminated with this process: otherwise it would hold LMDB's locks on a store that the next daemon opens.
 */
async function runProbe(stores: readonly ProbedStore[]): Promise<ProbeEnd> {
  const described = stores.flatMap(({ kind, folder, mode }) => [kind, folder, mode]);
  const child = startProcess({
    name: basename(process.execPath),
    args: [probeFile.pathname, String(process.pid), ...described],
    environment: { PATH: dirname(process.execPath) },
    directory: process.cwd(),
    limits: noLimits,
  });
  child.stdin.on("error", () => undefined);
  child.stdin.end();
  const texts = { out: "", err: "" };
  child.stdout.on("data", (bytes: Buffer) => {
    texts.out += bytes.toString();
  });
  child.stderr.on("data", (bytes: Buffer) => {
    texts.err = (texts.err + bytes.toString()).slice(-4096);
  });
  const closed = Promise.all(
    [child.stdout, child.stderr].map((stream) => new Promise((end) => stream.once("close", end))),
  );
  const timer = callAfter(probeTimeoutMs, () => {
    if (child.ending() === null) process.kill(child.pid, "SIGALRM");
  });
  await closed;
  // A process closes its streams right before it ends.
  const ending = await waitForEnding(child);
  timer.cancel();
  return { ...ending, ...texts };
}

/** Finds the line that names the error in Node's error output. */
function lastLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.includes("Error") || saysRefused(line));
  return (lines.at(0) ?? text).trim().slice(0, messageLengthMax) || "it cannot be read";
}
