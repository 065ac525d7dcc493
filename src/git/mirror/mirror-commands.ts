import { errorMessage, TrawlError } from "../../base/errors.js";
import { RateLimitError } from "../../base/rate-limit.js";
import { listLimits, longReadLimits, readLimits, writeLimits } from "../run/child-limits.js";
import { lackOfRoom } from "../run/disk-room.js";
import { localEnvironment, type RemoteAccess, remoteEnvironment } from "../run/environment.js";
import { withRemedy } from "../run/remedy.js";
import { GitChild, runGit, type RunOptions, type RunResult, type StopSignal } from "../run/run.js";
import { saysDamaged } from "../objects/damage.js";
import { type FetchProgress, progressReader, FetchWatch } from "../run/fetch-watch.js";
import { HttpTrace } from "./http-trace.js";
import {
  admitCommitGraph,
  readBoundary,
  readHead,
  removeLeftovers,
  trustedSourceFile,
  unfinishedPackBytes,
  writeRefs,
  arePackedRefsSorted,
} from "./mirror-directory.js";
import { readRefs } from "./read-refs.js";
import { detachedHeadRef, localRefFormat, parseLocalRefs, parseRemoteRefs, type RefListing } from "../objects/refs.js";
import { isDetached, onlyMirrored } from "./remote-refs.js";
import type { RemoteUrl } from "../run/remote-url.js";

export interface MirrorOptions {
  readonly access: RemoteAccess;
  /** Milliseconds that listing the remote's references may take. */
  readonly listTimeoutMs: number;
  /** Milliseconds that one fetch may take in all. */
  readonly fetchTimeoutMs: number;
  /** Milliseconds without progress after which a fetch is abandoned; see `FetchWatch`. */
  readonly silenceMs: number;
  /** Size of each file that a fetch writes: a pack holds everything that was received. */
  readonly fetchBytesMax: number;
  /** Memory of each process that fetches or repacks. */
  readonly memoryBytesMax: number;
  /** A fetch or repack stops when less of the disk is free. */
  readonly reserveBytes: number;
  readonly onProgress: ((progress: FetchProgress) => void) | null;
}

/** The remote redirects, which git does not follow. */
export class RedirectError extends TrawlError {
  /** As the remote has sent it: a URL, perhaps without its beginning. */
  readonly location: string;

  constructor(message: string, location: string, options: { readonly cause: unknown }) {
    super("git", message, options);
    this.location = location;
  }
}

const localTimeoutMs = 60_000;
const maintainTimeoutMs = 3_600_000;

/**
 * Size of a list of references: 800,000 of them. The largest lists of public code hosts have 30 MB, nearly all of it
 * for proposed changes.
 */
const refBytesMax = 64 << 20;

/** The git commands that a mirror runs, with their limits. They throw `cancelled` when stopped. */
export class MirrorCommands {
  /** Of the mirror. */
  readonly directory: string;
  readonly url: RemoteUrl;
  readonly #options: MirrorOptions;
  /** The file that makes git trust a local source. */
  readonly #trusted: string;

  constructor(directory: string, url: RemoteUrl, options: MirrorOptions, trusted = trustedSourceFile(directory)) {
    this.directory = directory;
    this.url = url;
    this.#options = options;
    this.#trusted = trusted;
  }

  /** The refs whose objects exist in `directory`. */
  async readableRefs(
    directory: string,
    refs: ReadonlyMap<string, string>,
    peeled: ReadonlyMap<string, string>,
    stop: StopSignal,
  ): Promise<Map<string, string>> {
    const rows = [...refs].map(([name, oid]) => ({ name, oid, target: peeled.get(name) ?? oid }));
    const { stdout } = await runGit({
      ...this.#localCommand(stop),
      args: [`--git-dir=${directory}`, "cat-file", "--batch-check=%(objecttype)"],
      stdin: rows.map(({ oid, target }) => `${oid}\n${target}\n`).join(""),
    });
    const kinds = stdout.toString("latin1").split("\n");
    const isThere = (kind: string | undefined): boolean => kind === "commit" || kind === "tag";
    return new Map(
      rows.flatMap(({ name, oid }, i) => (isThere(kinds[2 * i]) && kinds[2 * i + 1] === "commit" ? [[name, oid]] : [])),
    );
  }

  /** Whether everything that can be indexed exists: the trees and blobs of every branch and of a detached HEAD. */
  async hasIndexable(directory: string, stop: StopSignal): Promise<boolean> {
    const args = [
      `--git-dir=${directory}`,
      "rev-list",
      "--objects",
      "--quiet",
      "--no-walk",
      "--branches",
      "--glob=refs/trawl/*",
    ];
    const { fetchTimeoutMs, memoryBytesMax } = this.#options;
    // On a large repository this takes long and prints nothing.
    const process = writeLimits(memoryBytesMax, 0, fetchTimeoutMs);
    const { code } = await runGit({
      args,
      ...this.#localCommand(stop),
      timeoutMs: fetchTimeoutMs,
      process,
      exitCodes: [1, 128],
    });
    return code === 0;
  }

  /**
   * Fetches branches, tags and a detached HEAD into the repository `directory`. No ref is deleted: the remote may list
   * other refs to the fetch than it has listed before, for example none.
   */
  async fetch(directory: string, remote: RefListing, stop: StopSignal, options: readonly string[] = []): Promise<void> {
    const refspecs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
    const flags = ["--no-tags", "--update-shallow", "--update-head-ok", "--progress"];
    if (isDetached(remote)) refspecs.push(`+HEAD:${detachedHeadRef}`);
    // As much of the history as the remote has: it may have got more of it for the same references.
    if (readBoundary(directory).length > 0) flags.push("--unshallow");
    await this.#fetch(directory, ["fetch", ...flags, ...options], refspecs, stop);
  }

  /**
   * Fetches these commits with their histories, and sets no reference. `known` are commits of the mirror that the remote probably
   * has; no other is named to it.
   */
  async fetchCommits(oids: readonly string[], known: readonly string[], stop: StopSignal): Promise<void> {
    const config = known.length === 0 ? ["-c", "fetch.negotiationAlgorithm=noop"] : [];
    const tips = known.map((oid) => `--negotiation-tip=${oid}`);
    await this.#fetch(this.directory, [...config, "fetch", "--no-tags", "--progress", ...tips], oids, stop);
  }

  async #fetch(
    directory: string,
    command: readonly string[],
    refspecs: readonly string[],
    stop: StopSignal,
  ): Promise<void> {
    const quiet = ["--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"];
    const { fetchTimeoutMs, silenceMs, fetchBytesMax, memoryBytesMax, reserveBytes, onProgress } = this.#options;
    const lack = lackOfRoom(directory, reserveBytes);
    if (lack !== null) throw new TrawlError("git", `git fetch ${lack}`);
    const watch = new FetchWatch(silenceMs);
    const report = onProgress === null ? null : progressReader(onProgress);
    await this.#cleanly(directory, () =>
      this.#remote(
        [`--git-dir=${directory}`, ...command, ...quiet],
        [this.url.text, ...refspecs],
        {
          timeoutMs: fetchTimeoutMs,
          process: writeLimits(memoryBytesMax, fetchBytesMax, fetchTimeoutMs),
          guard: () => watch.complaint() ?? lackOfRoom(directory, reserveBytes),
          onErrorLine: (line) => {
            watch.note(line);
            report?.(line);
          },
        },
        stop,
      ),
    );
  }

  /**
   * Runs a fetch, and deletes what it has received if it fails. For a pack that was too large, git only reports
   * "invalid index-pack output".
   */
  async #cleanly(directory: string, fetch: () => Promise<unknown>): Promise<void> {
    const { fetchBytesMax } = this.#options;
    try {
      await fetch();
    } catch (error) {
      const isTooLarge = unfinishedPackBytes(directory) >= fetchBytesMax;
      removeLeftovers(this.directory, true);
      if (!isTooLarge) throw error;
      throw new TrawlError(
        "git",
        `git fetch received more than ${fetchBytesMax} bytes; raise git.maxFetchBytes if the repository is that large`,
        { cause: error },
      );
    }
  }

  /** The references of the remote that a mirror keeps. Throws `git` when the remote cannot be reached or read. */
  async listRemote(stop: StopSignal): Promise<RefListing> {
    const limits = { timeoutMs: this.#options.listTimeoutMs, process: listLimits, onErrorLine: null };
    const { stdout } = await this.#remote(["ls-remote", "--symref"], [this.url.text], limits, stop);
    return onlyMirrored(parseRemoteRefs(stdout));
  }

  /**
   * Whether the remote lists no references in git's own protocol. Over http(s), git takes any other answer for the file
   * `info/refs` of a plain web server: if that is a sign-in page of one line, `OK` or nothing, for a list without
   * references.
   */
  async isReallyEmpty(stop: StopSignal): Promise<boolean> {
    if (this.url.kind !== "http") return true;
    let isSpoken = false;
    const limits = {
      timeoutMs: this.#options.listTimeoutMs,
      process: listLimits,
      onErrorLine: (line: string) => (isSpoken ||= /packet: +git< (# service=git-upload-pack|version [12])/.test(line)),
    };
    const { stdout } = await this.#remote(["ls-remote"], [this.url.text], limits, stop, { GIT_TRACE_PACKET: "1" });
    return isSpoken && stdout.length === 0;
  }

  /** Deletes references of the mirror. Full names, one character per byte. */
  async deleteRefs(names: readonly string[], stop: StopSignal): Promise<void> {
    if (names.length === 0) return;
    await runGit({
      ...this.#localCommand(stop),
      args: [`--git-dir=${this.directory}`, "update-ref", "--no-deref", "-z", "--stdin"],
      stdin: Buffer.from(names.map((name) => `delete ${name}\0\0`).join(""), "latin1"),
      process: writeLimits(this.#options.memoryBytesMax, Infinity, localTimeoutMs),
    });
  }

  /**
   * The references of the repository `directory`, or null when a ref is unreadable or the object it names is missing.
   */
  async listRefs(directory: string, stop: StopSignal): Promise<RefListing | null> {
    const listing = readRefs(directory, stop);
    if (listing !== undefined) return listing;
    if (!arePackedRefsSorted(directory)) return null;
    const format = `--format=${localRefFormat}`;
    const { stdout, stderr, code } = await runGit({
      args: [`--git-dir=${directory}`, "for-each-ref", format, "refs/heads", "refs/tags", detachedHeadRef],
      ...this.#localCommand(stop),
      exitCodes: [128],
    });
    if (saysDamaged(stderr)) return null;
    if (code !== 0) throw new TrawlError("git", `git for-each-ref failed: ${stderr}`);
    return parseLocalRefs(stdout, readHead(directory));
  }

  /**
   * Like `fetch`, for many references that differ from those of the repository, `local`, which may have none: git writes each
   * to a file of its own, which takes minutes for tens of thousands. So git only receives and verifies the objects, and all
   * references are written into one file. Those that the remote does not list are deleted.
   */
  async fetchMany(directory: string, local: RefListing | null, remote: RefListing, stop: StopSignal): Promise<void> {
    if (local !== null) await this.packRefs(directory, stop);
    await this.fetch(directory, remote, stop, ["--dry-run"]);
    const readable = await this.readableRefs(directory, remote.refs, remote.peeled, stop);
    const refs = new Map(readable);
    for (const [name, oid] of local?.refs ?? []) if (remote.refs.has(name) && !refs.has(name)) refs.set(name, oid);
    const fetchedHead = local?.fetchedHead ?? null;
    if (fetchedHead !== null) refs.set(detachedHeadRef, fetchedHead);
    // The peeled oids are what the remote says; git finds out.
    writeRefs(directory, refs, null);
    // Others have moved since the remote listed them, or are tags of blobs, or HEAD.
    if (readable.size < remote.refs.size || isDetached(remote)) await this.fetch(directory, remote, stop);
    await this.packRefs(directory, stop);
  }

  /** Writes all references into one file, of which git and `readRefs` read tens of thousands in a fraction of a second. */
  async packRefs(directory: string, stop: StopSignal): Promise<void> {
    await runGit({
      ...this.#localCommand(stop),
      args: [`--git-dir=${directory}`, "pack-refs", "--all"],
      timeoutMs: maintainTimeoutMs,
      process: writeLimits(this.#options.memoryBytesMax, Infinity, maintainTimeoutMs),
    });
  }

  /** Repacks the mirror on one thread, and drops unreachable objects older than two weeks. */
  async repack(stop: StopSignal): Promise<void> {
    const config = [
      ...["pack.threads=1", "pack.windowMemory=256m", "gc.bigPackThreshold=1g", "gc.writeCommitGraph=false"],
      // Unreachable objects stay in a pack. Before release 2.41, git writes each to a file of its own by default.
      "gc.cruftPacks=true",
    ];
    await this.#maintain(
      config.flatMap((option) => ["-c", option]),
      ["gc", "--quiet", "--prune=2.weeks.ago"],
      stop,
    );
  }

  /**
   * Writes the parents, dates and changed paths of all commits, with which git reads long histories, and histories of one
   * path, several times as fast. Commits that are fetched later are read from their objects. A mirror with dates that the
   * graph does not hold gets none: git would take wrong dates from it.
   */
  async writeCommitGraph(stop: StopSignal): Promise<void> {
    const isAdmitted = !(await hasFarDates(this.directory, stop));
    admitCommitGraph(this.directory, isAdmitted);
    if (!isAdmitted) return;
    await this.#maintain([], ["commit-graph", "write", "--reachable", "--changed-paths", "--no-progress"], stop);
  }

  async #maintain(options: readonly string[], command: readonly string[], stop: StopSignal): Promise<void> {
    await runGit({
      args: [...options, `--git-dir=${this.directory}`, ...command],
      ...this.#localCommand(stop),
      timeoutMs: maintainTimeoutMs,
      process: writeLimits(this.#options.memoryBytesMax, Infinity, maintainTimeoutMs),
      guard: () => lackOfRoom(this.directory, this.#options.reserveBytes),
    });
  }

  /** Options of a command that does not contact the remote. */
  #localCommand(stop: StopSignal) {
    return {
      environment: localEnvironment(),
      directory: "/",
      timeoutMs: localTimeoutMs,
      silenceMs: Infinity,
      outputBytesMax: refBytesMax,
      process: readLimits,
      stop,
      stdin: null,
      exitCodes: [],
      onErrorLine: null,
    };
  }

  /** Runs a command that contacts the remote. */
  async #remote(
    args: readonly string[],
    operands: readonly string[],
    limits: Pick<RunOptions, "timeoutMs" | "process" | "guard" | "onErrorLine">,
    stop: StopSignal,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<RunResult> {
    const environment = remoteEnvironment(this.url, this.#options.access);
    const trace = this.url.kind === "http" ? new HttpTrace(this.directory) : null;
    try {
      return await runGit({
        args: [...args, "--end-of-options", ...operands],
        environment: {
          ...environment,
          ...trace?.variables,
          ...variables,
          GIT_CONFIG_GLOBAL: this.#trusted,
        },
        directory: "/",
        silenceMs: Infinity,
        ...limits,
        outputBytesMax: refBytesMax,
        stop,
        stdin: null,
        exitCodes: [],
      });
    } catch (error) {
      if (error instanceof TrawlError && error.code === "cancelled") throw error;
      const limit = trace?.findRateLimit(errorMessage(error));
      if (limit !== undefined && this.url.kind === "http")
        throw new RateLimitError(new URL(this.url.origin).host, limit);
      const redirect = trace?.findRedirect();
      const message = `cannot read ${this.url.text}: ${withRemedy(errorMessage(error), this.url)}`;
      if (redirect !== undefined) throw new RedirectError(message, redirect, { cause: error });
      throw new TrawlError("git", message, { cause: error });
    } finally {
      trace?.remove();
    }
  }
}

const newline = 10;
const space = 32;

/** A commit graph holds the lowest 34 bits of a date, which is 11 digits from here on. */
const farDate = 2 ** 34;
const farDigits = String(farDate).length;

/**
 * Whether any commit of the mirror has a committer date that a commit graph does not hold; a negative date is one of them.
 * Reads every commit, at 100,000 per second. Throws `git` if the mirror is damaged, `cancelled` if stopped.
 */
async function hasFarDates(directory: string, stop: StopSignal): Promise<boolean> {
  const args = ["-c", "core.commitGraph=false", `--git-dir=${directory}`, "rev-list", "--timestamp", "--all"];
  const limits = { timeoutMs: Infinity, silenceMs: Infinity, process: longReadLimits, stop };
  const child = new GitChild({ args, environment: localEnvironment(), directory: "/" }, limits, null);
  let isFound = false;
  // The beginning of a line that is not complete.
  let rest: Buffer = Buffer.alloc(0);
  child.stdin.end();
  child.stdout.on("data", (chunk: Buffer) => {
    const data = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let at = 0;
    for (let end = data.indexOf(newline); end >= 0; end = data.indexOf(newline, at)) {
      const dateEnd = data.indexOf(space, at);
      if (dateEnd - at >= farDigits && Number(data.toString("latin1", at, dateEnd)) >= farDate) isFound = true;
      at = end + 1;
    }
    rest = data.subarray(at);
    if (isFound) child.kill();
  });
  const code = await child.ended.catch((error: unknown) => {
    if (isFound) return 0;
    throw error;
  });
  if (!isFound && code !== 0) throw child.exitError(code);
  return isFound;
}
