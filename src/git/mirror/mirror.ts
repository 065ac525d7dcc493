import { isAbsolute } from "node:path";
import { assert } from "../../base/assert.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { listLimits, readLimits, writeLimits } from "../run/child-limits.js";
import { copyObjects, sourceFingerprint, type CopyExtent } from "./copy-objects.js";
import { saysDamaged } from "./damage.js";
import { lackOfRoom } from "../run/disk-room.js";
import { localEnvironment, remoteEnvironment, type RemoteAccess } from "../run/environment.js";
import { progressReader, type FetchProgress } from "./fetch-progress.js";
import { FetchWatch } from "./fetch-watch.js";
import {
  adoptStaging,
  createStaging,
  hasRefs,
  mirrorFormat,
  objectFormatFromOid,
  objectStoreSize,
  readHead,
  readIncompleteness,
  removeLeftovers,
  trustedSourceFile,
  unfinishedPackBytes,
  writeHead,
  writeIncompleteness,
  writeMirrorConfig,
  writeRefs,
  type ObjectFormat,
} from "./mirror-directory.js";
import { arePackedRefsSorted } from "./packed-refs.js";
import {
  detachedHeadRef,
  headBranch,
  localRefFormat,
  parseLocalRefs,
  parseRemoteRefs,
  refState,
  sameRefs,
  type RefListing,
  type RefState,
} from "./refs.js";
import { withRemedy } from "../run/remedy.js";
import type { RemoteUrl } from "./remote-url.js";
import { runGit, type RunOptions, type RunResult, type StopSignal } from "../run/run.js";

export interface MirrorOptions {
  readonly access: RemoteAccess;
  /** Milliseconds that listing the remote's references may take. */
  readonly listTimeoutMs: number;
  /** Milliseconds that one fetch may take in all. */
  readonly fetchTimeoutMs: number;
  /** Milliseconds without progress after which a fetch is given up; see `FetchWatch`. */
  readonly silenceMs: number;
  /** Of each file that a fetch writes: a pack holds all that it received. */
  readonly fetchBytesMax: number;
  /** Memory of each process that fetches or repacks. */
  readonly memoryBytesMax: number;
  /** A fetch or repack stops when less of the disk is free. */
  readonly reserveBytes: number;
  readonly onProgress: ((progress: FetchProgress) => void) | null;
}

export interface SyncResult extends RefState {
  /** Whether any branch, any tag or HEAD differs from before. */
  readonly changed: boolean;
  /**
   * Whether a mirror that lacked objects was made anew: what is indexed of the same commits may be more than before.
   */
  readonly remade: boolean;
}

const localTimeoutMs = 60_000;
const maintainTimeoutMs = 3_600_000;

/**
 * A list of references: 800,000 of them. The largest that public code hosts list have 30 MB, nearly all of them
 * proposed changes.
 */
const refBytesMax = 64 << 20;

/**
 * Beyond these a mirror is repacked. git's own limits are 50 packs and 6,700 loose objects; ours come earlier, as
 * every reader process opens all packs.
 */
const packCountMax = 30;
const looseCountMax = 5_000;

/**
 * Our bare copy of one repository.
 *
 * Caller guarantees: one `Mirror` per directory at a time, and one call of it at a time. Readers (`listTree`,
 * `BlobReader`, `PackedObjects`) need only the directory and may work meanwhile, also during `maintain`: git keeps
 * objects that no ref reaches any more for two weeks.
 *
 * A process killed at any moment leaves a directory that `open` repairs.
 */
export class Mirror {
  readonly directory: string;
  readonly url: RemoteUrl;
  readonly #options: MirrorOptions;
  #format: ObjectFormat;

  private constructor(directory: string, url: RemoteUrl, options: MirrorOptions, format: ObjectFormat) {
    this.directory = directory;
    this.url = url;
    this.#options = options;
    this.#format = format;
  }

  /**
   * Opens the mirror in `directory` (absolute), removes what killed commands left in it, and makes it anew, empty,
   * when it is missing or not whole. Does not reach for the remote.
   *
   * Throws `storage` when the disk refuses.
   */
  static async open(directory: string, url: RemoteUrl, options: MirrorOptions): Promise<Mirror> {
    assert(isAbsolute(directory), "the mirror's directory is an absolute path");
    return storageErrors(async () => {
      const format = mirrorFormat(directory);
      const mirror = new Mirror(directory, url, options, format ?? "sha1");
      if (format === null) await mirror.recreate();
      removeLeftovers(directory);
      writeMirrorConfig(directory, mirror.#format, url);
      return mirror;
    });
  }

  /** Empties the mirror; the next `sync` fetches everything. */
  async recreate(): Promise<void> {
    return storageErrors(async () => {
      createStaging(this.directory, this.#format, this.url);
      await adoptStaging(this.directory);
    });
  }

  /**
   * For a caller that finds objects missing: makes the mirror anew from its remote, and takes it only when that has
   * succeeded. Throws as `sync`; the mirror then keeps what it has.
   */
  async refetch(stop: StopSignal): Promise<SyncResult> {
    return storageErrors(async () =>
      this.#readResult(null, await this.#listRemote(stop), async (remote) => this.#remake(remote, stop)),
    );
  }

  /** Whether it lacks objects because its source does. */
  get isIncomplete(): boolean {
    return readIncompleteness(this.directory) !== null;
  }

  /** The references of the remote. Throws `git`, with git's message, when the remote cannot be reached or read. */
  async listRemote(stop: StopSignal): Promise<RefState> {
    return refState(await this.#listRemote(stop));
  }

  /** The references of the mirror, without asking the remote. */
  async state(stop: StopSignal): Promise<RefState> {
    const local = await this.#listLocal(stop);
    if (local === null) throw new TrawlError("git", `the mirror ${this.directory} is damaged; sync makes it anew`);
    return refState(local);
  }

  /**
   * Makes the mirror equal to the remote: branches and tags, deleted ones too, and HEAD. Fetches only when something
   * differs. A damaged mirror is made anew.
   *
   * Throws `git` when the remote cannot be reached, `cancelled` when stopped, `storage` when the disk refuses; the
   * mirror then keeps what it has.
   */
  async sync(stop: StopSignal): Promise<SyncResult> {
    return storageErrors(async () => {
      const [remote, before] = await Promise.all([this.#listRemote(stop), this.#listLocal(stop)]);
      return this.#readResult(before, remote, async () => {
        const isUpToDate = before !== null && this.#formatFits(remote) && this.#isCurrent(before, remote);
        return isUpToDate ? before : this.#update(before, remote, stop);
      });
    });
  }

  async #readResult(
    before: RefListing | null,
    remote: RefListing,
    update: (remote: RefListing) => Promise<RefListing>,
  ): Promise<SyncResult> {
    const incompleteness = readIncompleteness(this.directory);
    const after = await update(remote);
    const head = chooseHead(remote, after);
    const headChanged = this.#setHead(head);
    const changed = headChanged || before === null || !sameRefs(before, after);
    const remade = incompleteness !== null && readIncompleteness(this.directory) !== incompleteness;
    return { ...refState({ ...after, ...head }), changed, remade };
  }

  /**
   * Whether there is nothing to fetch. Of a source that lacks objects the mirror has what it had when it looked like
   * this.
   */
  #isCurrent(before: RefListing, remote: RefListing): boolean {
    const incompleteness = readIncompleteness(this.directory);
    return incompleteness === null ? isCurrent(before, remote) : incompleteness === this.#fingerprint(remote);
  }

  #fingerprint(remote: RefListing): string {
    return sourceFingerprint(
      this.url.kind === "local" ? this.url.path : "",
      [...remote.refs].map(([name, oid]) => `${oid} ${name}`).concat(String(remote.headOid), String(remote.headTarget)),
    );
  }

  /**
   * Repacks the mirror when it has many packs or loose objects. Returns whether it did. Safe beside readers; may take
   * minutes on a large repository.
   */
  async maintain(stop: StopSignal): Promise<boolean> {
    return storageErrors(async () => {
      const { packCount, looseCount } = objectStoreSize(this.directory);
      if (packCount <= packCountMax && looseCount <= looseCountMax) return false;
      await this.repack(stop);
      return true;
    });
  }

  /** Repacks the mirror at once, on one thread, and drops unreachable objects older than two weeks. */
  async repack(stop: StopSignal): Promise<void> {
    const config = ["-c", "pack.threads=1", "-c", "pack.windowMemory=256m", "-c", "gc.bigPackThreshold=1g"];
    await runGit({
      args: [...config, `--git-dir=${this.directory}`, "gc", "--quiet", "--prune=2.weeks.ago"],
      ...this.#localCommand(stop),
      timeoutMs: maintainTimeoutMs,
      process: writeLimits(this.#options.memoryBytesMax, Infinity, maintainTimeoutMs),
      guard: () => lackOfRoom(this.directory, this.#options.reserveBytes),
    });
  }

  /** Returns what the mirror holds then. */
  async #update(before: RefListing | null, remote: RefListing, stop: StopSignal): Promise<RefListing> {
    const isEmpty = before === null || (before.refs.size === 0 && before.headOid === null);
    if (isEmpty || !this.#formatFits(remote) || this.isIncomplete) return this.#remake(remote, stop);
    return this.#withWhatIsThere(remote, stop, () => this.#fetchOrRemake(remote, stop));
  }

  /** Everything into a new mirror. */
  async #remake(remote: RefListing, stop: StopSignal): Promise<RefListing> {
    return this.#withWhatIsThere(
      remote,
      stop,
      async () => (await this.#remakeByCopy(remote, stop, "whole")) ?? this.#remakeByFetch(remote, stop),
    );
  }

  /** Where git cannot fetch from a local repository, as it lacks objects or some are damaged, the others are copied. */
  async #withWhatIsThere(remote: RefListing, stop: StopSignal, update: () => Promise<RefListing>): Promise<RefListing> {
    try {
      return await update();
    } catch (error) {
      if (this.url.kind !== "local" || !(error instanceof TrawlError) || error.code !== "git") throw error;
      const copied = await this.#remakeByCopy(remote, stop, "what is there");
      if (copied === null) throw error;
      return copied;
    }
  }

  /** Fetches; when git finds the mirror broken on the way, everything into a new one. */
  async #fetchOrRemake(remote: RefListing, stop: StopSignal): Promise<RefListing> {
    try {
      await this.#fetch(this.directory, remote, stop);
      return await this.#listFetched(stop);
    } catch (error) {
      if (!saysDamaged(errorMessage(error))) throw error;
      // It may as well be the source that is broken; only a fetch, not a copy, finds that out.
      return this.#remakeByFetch(remote, stop);
    }
  }

  /** Fetches all into the staging path, which takes the place of the mirror only when it is complete. */
  async #remakeByFetch(remote: RefListing, stop: StopSignal): Promise<RefListing> {
    await this.#fetch(this.#createStaging(remote), remote, stop);
    await adoptStaging(this.directory);
    return this.#listFetched(stop);
  }

  /**
   * The same by a copy of a local repository's objects, with the refs that it had before the copy began. Null where
   * only a fetch will do: unless objects may be missing, and then where no ref can be read.
   */
  async #remakeByCopy(remote: RefListing, stop: StopSignal, extent: CopyExtent): Promise<RefListing | null> {
    if (this.url.kind !== "local" || remote.refs.size === 0) return null;
    const fingerprint = extent === "whole" ? "" : this.#fingerprint(remote);
    const staging = this.#createStaging(remote);
    if (extent === "what is there") await this.#copyOwn(staging, stop);
    if (!(await copyObjects(this.url.path, staging, stop, extent))) return null;
    const detached = isDetached(remote) && remote.headOid !== null ? [[detachedHeadRef, remote.headOid] as const] : [];
    const refs = new Map([...remote.refs, ...detached]);
    if (extent === "whole") {
      writeRefs(staging, refs, remote.peeled);
      return (await this.#hasIndexable(staging, stop)) ? this.#adoptIfSound(staging, stop) : null;
    }
    const readable = await this.#readable(staging, refs, remote.peeled, stop);
    if (readable.size === 0) return null;
    writeRefs(staging, readable, remote.peeled);
    writeIncompleteness(staging, fingerprint);
    return this.#adoptIfSound(staging, stop);
  }

  /**
   * What the mirror has and its source may have lost. With many packs it goes: git does not repack what lacks objects.
   */
  async #copyOwn(staging: string, stop: StopSignal): Promise<void> {
    if (mirrorFormat(this.directory) !== this.#format || objectStoreSize(this.directory).packCount > packCountMax)
      return;
    await copyObjects(this.directory, staging, stop, "what is there");
  }

  async #adoptIfSound(staging: string, stop: StopSignal): Promise<RefListing | null> {
    const copied = await this.#listRefs(staging, stop);
    if (copied !== null) await adoptStaging(this.directory);
    return copied;
  }

  /** The refs whose objects are there. */
  async #readable(
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

  /** Whether all that can be indexed is there: the trees and blobs of every branch and of a detached HEAD. */
  async #hasIndexable(directory: string, stop: StopSignal): Promise<boolean> {
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
    // On a large repository this is silent for as long as it takes.
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

  #createStaging(remote: RefListing): string {
    this.#format = remoteObjectFormat(remote) ?? this.#format;
    return createStaging(this.directory, this.#format, this.url);
  }

  async #fetch(directory: string, remote: RefListing, stop: StopSignal): Promise<void> {
    const refspecs = ["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
    if (isDetached(remote)) refspecs.push(`+HEAD:${detachedHeadRef}`);
    const flags = ["--prune", "--no-tags", "--update-shallow", "--update-head-ok", "--progress"];
    const quiet = ["--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules"];
    const { fetchTimeoutMs, silenceMs, fetchBytesMax, memoryBytesMax, reserveBytes, onProgress } = this.#options;
    const lack = lackOfRoom(directory, reserveBytes);
    if (lack !== null) throw new TrawlError("git", `git fetch ${lack}`);
    const watch = new FetchWatch(silenceMs);
    const report = onProgress === null ? null : progressReader(onProgress);
    await this.#cleanly(directory, () =>
      this.#remote(
        [`--git-dir=${directory}`, "fetch", ...flags, ...quiet],
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
   * Frees the disk of what a fetch that failed has received. git only says "invalid index-pack output" of a pack that
   * was too large.
   */
  async #cleanly(directory: string, fetch: () => Promise<unknown>): Promise<void> {
    const { fetchBytesMax } = this.#options;
    try {
      await fetch();
    } catch (error) {
      const isTooLarge = unfinishedPackBytes(directory) >= fetchBytesMax;
      removeLeftovers(this.directory);
      if (!isTooLarge) throw error;
      throw new TrawlError(
        "git",
        `git fetch received more than ${fetchBytesMax} bytes; raise git.maxFetchBytes if the repository is as large as that`,
        { cause: error },
      );
    }
  }

  async #listRemote(stop: StopSignal): Promise<RefListing> {
    const limits = { timeoutMs: this.#options.listTimeoutMs, process: listLimits, onErrorLine: null };
    const { stdout } = await this.#remote(["ls-remote", "--symref"], [this.url.text], limits, stop);
    return onlyMirrored(parseRemoteRefs(stdout));
  }

  /** Null when the mirror is damaged: a ref is unreadable, or the object it names is missing. */
  async #listLocal(stop: StopSignal): Promise<RefListing | null> {
    return mirrorFormat(this.directory) === null ? null : this.#listRefs(this.directory, stop);
  }

  async #listFetched(stop: StopSignal): Promise<RefListing> {
    const after = await this.#listLocal(stop);
    if (after === null) throw new TrawlError("git", `the mirror of ${this.url.text} is damaged right after a fetch`);
    return after;
  }

  async #listRefs(directory: string, stop: StopSignal): Promise<RefListing | null> {
    if (!hasRefs(directory)) return parseLocalRefs(Buffer.alloc(0), readHead(directory));
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

  /** Returns whether HEAD pointed elsewhere. */
  #setHead({ headTarget, headOid }: Head): boolean {
    if (headTarget !== null) return writeHead(this.directory, { branch: headTarget });
    return headOid !== null && writeHead(this.directory, { commit: headOid });
  }

  #formatFits(remote: RefListing): boolean {
    return (remoteObjectFormat(remote) ?? this.#format) === this.#format;
  }

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

  async #remote(
    args: readonly string[],
    operands: readonly string[],
    limits: Pick<RunOptions, "timeoutMs" | "process" | "guard" | "onErrorLine">,
    stop: StopSignal,
  ): Promise<RunResult> {
    const environment = remoteEnvironment(this.url, this.#options.access);
    try {
      return await runGit({
        args: [...args, "--end-of-options", ...operands],
        environment: { ...environment, GIT_CONFIG_GLOBAL: trustedSourceFile(this.directory) },
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
      throw new TrawlError("git", `cannot read ${this.url.text}: ${withRemedy(errorMessage(error), this.url)}`, {
        cause: error,
      });
    }
  }
}

/** Whether `local` has all that `remote` has, HEAD's commit included where no branch holds it. */
function isCurrent(local: RefListing, remote: RefListing): boolean {
  return sameRefs(local, remote) && (!isDetached(remote) || local.headOid === remote.headOid);
}

function isDetached(listing: RefListing): boolean {
  return headBranch(listing) === null && listing.headOid !== null;
}

type Head = Pick<RefListing, "headTarget" | "headOid">;

/** Where HEAD shall be once `local` holds what was fetched from `remote`. */
function chooseHead(remote: RefListing, local: RefListing): Head {
  // HEAD may have moved on between the listing and the fetch; what was fetched is what we have.
  if (isDetached(remote)) return { headTarget: null, headOid: local.fetchedHead ?? remote.headOid };
  const headTarget = headBranch({ ...local, headTarget: remote.headTarget, headOid: null });
  return { headTarget, headOid: headTarget === null ? null : (local.refs.get(headTarget) ?? null) };
}

/** Turns what the file system says into our error. */
async function storageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("storage", `the mirror's directory: ${errorMessage(error)}`, { cause: error });
  }
}

/** Null: an empty remote does not tell. */
function remoteObjectFormat(remote: RefListing): ObjectFormat | null {
  const oid = remote.headOid ?? remote.refs.values().next().value;
  return oid === undefined ? null : objectFormatFromOid(oid);
}

/** Without the references that a mirror does not keep, such as `refs/pull`. */
function onlyMirrored(listing: RefListing): RefListing {
  const refs = new Map([...listing.refs].filter(([name]) => /^refs\/(heads|tags)\//.test(name)));
  return { ...listing, refs };
}
