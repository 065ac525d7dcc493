import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { callAfter } from "../base/deadline.js";

const probeFile = new URL("./store-probe.js", import.meta.url);

/**
 * A probe that takes longer is ended; the store is then taken as it is. Twenty shards of 64 MiB take 0.1 s, most of it
 * Node's start.
 */
const probeTimeoutMs = 60_000;

const messageLengthMax = 300;

/** What the probe prints. `unwritten`: why the store was not written anew, as was asked. */
export interface ProbeResult {
  readonly count: number;
  readonly unwritten?: string;
}

export type StoreState =
  | { readonly kind: "whole"; readonly count: number; readonly unwritten?: string }
  | { readonly kind: "absent" }
  /** Reading it to the end took too long to wait for. */
  | { readonly kind: "unknown" }
  | { readonly kind: "damaged"; readonly reason: string };

/**
 * Whether all of a store can be read, found out by a process of its own, as reading a damaged one may end the process.
 * A whole store of records can then be rewritten: its file holds no longer what was changed or deleted, such as
 * secrets. `upgrade` does so, too, and takes records of version 1 of the data directory, to which it gives checksums.
 * Caller guarantees: nobody has the store open.
 */
export async function inspectStore(
  kind: "records" | "shards",
  folder: string,
  mode: "look" | "rewrite" | "upgrade" = "look",
): Promise<StoreState> {
  if (!existsSync(join(folder, "data.mdb"))) return { kind: "absent" };
  const { code, signal, out, err } = await runProbe(kind, folder, mode);
  if (signal === "SIGALRM") return { kind: "unknown" };
  if (code === 0) return { kind: "whole", ...(JSON.parse(out) as ProbeResult) };
  return { kind: "damaged", reason: signal === null ? lastLine(err) : `reading it ends with ${signal}` };
}

interface ProbeEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly out: string;
  readonly err: string;
}

function runProbe(kind: string, folder: string, mode: string): Promise<ProbeEnd> {
  const child = spawn(process.execPath, [probeFile.pathname, kind, folder, mode, String(process.pid)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {},
  });
  const texts = { out: "", err: "" };
  child.stdout.on("data", (bytes: Buffer) => {
    texts.out += bytes.toString();
  });
  child.stderr.on("data", (bytes: Buffer) => {
    texts.err = (texts.err + bytes.toString()).slice(-4096);
  });
  const timer = callAfter(probeTimeoutMs, () => child.kill("SIGALRM"));
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => {
      timer.cancel();
      resolve({ code, signal, ...texts });
    });
  });
}

/** The line that names the error, of what Node prints of one. */
function lastLine(text: string): string {
  const lines = text.split("\n").filter((line) => line.includes("Error"));
  return (lines.at(0) ?? text).trim().slice(0, messageLengthMax) || "it cannot be read";
}
