import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { isOid } from "../objects/refs.js";
import { longReadLimits } from "../run/child-limits.js";
import { bigBlobBytes, localEnvironment } from "../run/environment.js";
import { runGit, type StopSignal } from "../run/run.js";
import type { PatchFile } from "./patch-file.js";

/** Enough for 10 million commits. The largest public histories have 1.5 million. */
const outputBytesMax = 512 << 20;

/**
 * Commits in the order of results: descending by committer date, ascending by oid where dates are equal. In shared
 * memory, so that threads read parts of it.
 */
export interface CommitList {
  readonly count: number;
  /** Bytes of one oid: 20 or 32. */
  readonly oidBytes: number;
  readonly oids: Uint8Array;
  /** Unix seconds. */
  readonly dates: Float64Array;
}

/** The oids `[from, to)` of the list, as hex. */
export function listedOids({ oids, oidBytes }: CommitList, from: number, to: number): string[] {
  const bytes = Buffer.from(oids.buffer, oids.byteOffset, oids.length);
  return Array.from({ length: to - from }, (_, i) =>
    bytes.toString("hex", (from + i) * oidBytes, (from + i + 1) * oidBytes),
  );
}

/**
 * The commits that are reachable from `from` and not from `without`, both oids. Throws `git` if the mirror is damaged or
 * has too many commits, `cancelled` if stopped.
 */
export async function listCommits(
  directory: string,
  from: readonly string[],
  without: readonly string[],
  stop: StopSignal,
): Promise<CommitList> {
  assert([...from, ...without].every(isOid), "a history is read by oid");
  if (stop()) throw new TrawlError("cancelled", "listing commits was stopped");
  if (from.length === 0) return sortList(Buffer.alloc(0), new Float64Array(0), 20);
  const { stdout } = await runGit({
    args: [`--git-dir=${directory}`, "rev-list", "--timestamp", "--stdin"],
    environment: localEnvironment(),
    directory: "/",
    stdin: [...from, ...without.map((oid) => `^${oid}`)].map((line) => `${line}\n`).join(""),
    exitCodes: [],
    onErrorLine: null,
    timeoutMs: Infinity,
    silenceMs: Infinity,
    outputBytesMax,
    process: longReadLimits,
    stop,
  });
  return parseList(stdout, from[0].length);
}

const newline = 10;
const space = 32;

/** Lines of `git rev-list --timestamp`: a date, a space and an oid. */
function parseList(output: Buffer, oidLength: number): CommitList {
  const countMax = Math.ceil(output.length / (oidLength + "0 \n".length));
  const oids = Buffer.alloc((countMax * oidLength) / 2);
  const dates = new Float64Array(countMax);
  let count = 0;
  for (let at = 0; at < output.length; ) {
    const oidAt = output.indexOf(space, at) + 1;
    const end = output.indexOf(newline, at);
    if (oidAt === 0 || end !== oidAt + oidLength) throw new TrawlError("git", "git rev-list wrote an invalid line");
    dates[count] = readDate(output.toString("latin1", at, oidAt - 1));
    oids.write(output.toString("latin1", oidAt, end), (count * oidLength) / 2, "hex");
    count++;
    at = end + 1;
  }
  return sortList(oids, dates.subarray(0, count), oidLength / 2);
}

/** As in the header of the commit: git writes 0 there for dates that do not fit into a signed number. */
function readDate(digits: string): number {
  if (digits.length < "9000000000000000".length) return Number(digits);
  return BigInt(digits) >= 2n ** 63n ? 0 : Math.min(Number(digits), 2 ** 53);
}

function sortList(oids: Buffer, dates: Float64Array, oidBytes: number): CommitList {
  const count = dates.length;
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  const compare = (a: number, b: number): number =>
    dates[b] - dates[a] || oids.compare(oids, b * oidBytes, (b + 1) * oidBytes, a * oidBytes, (a + 1) * oidBytes);
  // git writes nearly all in this order.
  if (order.some((at) => at > 0 && compare(at - 1, at) > 0)) order.sort(compare);
  const sorted = new Uint8Array(new SharedArrayBuffer(count * oidBytes));
  const sortedDates = new Float64Array(new SharedArrayBuffer(count * 8));
  order.forEach((at, i) => {
    sorted.set(oids.subarray(at * oidBytes, (at + 1) * oidBytes), i * oidBytes);
    sortedDates[i] = dates[at];
  });
  return { count, oidBytes, oids: sorted, dates: sortedDates };
}

const blobListBytesMax = 256 << 20;

/**
 * Finds out which of the files that git reports as binary are too large: git does not look whether those are binary, and
 * reports no changes. Files are known by a number, such as that of their entry in a history shard.
 */
export class LargeBlobs {
  readonly #files: number[] = [];
  readonly #oids: string[] = [];

  add(file: PatchFile, number: number): void {
    if (!file.isBinary) return;
    for (const oid of file.oids) {
      if (!isOid(oid) || /^0+$/.test(oid)) continue;
      this.#files.push(number);
      this.#oids.push(oid);
    }
  }

  /** The files with a blob that is too large, ascending. Throws `git` if the mirror is damaged, `cancelled` if stopped. */
  async find(directory: string, stop: StopSignal): Promise<number[]> {
    if (this.#oids.length === 0) return [];
    const { stdout } = await runGit({
      args: [`--git-dir=${directory}`, "cat-file", "--buffer", "--batch-check=%(objectsize)"],
      environment: localEnvironment(),
      directory: "/",
      stdin: `${this.#oids.join("\n")}\n`,
      exitCodes: [],
      onErrorLine: null,
      timeoutMs: Infinity,
      silenceMs: Infinity,
      outputBytesMax: blobListBytesMax,
      process: longReadLimits,
      stop,
    });
    const sizes = stdout.toString("latin1").split("\n");
    // Of a missing object the line is "OID missing".
    const found = this.#files.filter((_, i) => Number(sizes[i]) > bigBlobBytes);
    return [...new Set(found)];
  }
}
