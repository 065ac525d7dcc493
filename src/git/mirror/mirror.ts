import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { isAbsolute } from "node:path";
import { assert } from "../../base/assert.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { withLimit } from "../../base/refusal.js";
import type { StopSignal } from "../run/run.js";
import { saysDamaged } from "../objects/damage.js";
import { readSourceBoundary } from "./copy-objects.js";
import { MirrorCommands, type MirrorOptions } from "./mirror-commands.js";
import {
  adoptStaging,
  countLooseRefs,
  createStaging,
  hasCommitGraph,
  mirrorFormat,
  objectStoreSize,
  readBoundary,
  readIncompleteness,
  removeLeftovers,
  requireAccess,
  writeHead,
  writeMirrorConfig,
} from "./mirror-directory.js";
import { MirrorRebuild, packCountMax } from "./mirror-rebuild.js";
import { refState, sameRefs, type RefListing, type RefState } from "../objects/refs.js";
import { chooseHead, differMuch, isCurrent, isDetached, manyRefs, type Head } from "./remote-refs.js";
import type { RemoteUrl } from "../run/remote-url.js";

export interface SyncResult extends RefState {
  /** Whether any branch, any tag or HEAD differs from before. */
  readonly changed: boolean;
  /** Whether a mirror that lacked objects was rebuilt: the same commits may now have more documents to index. */
  readonly recreated: boolean;
}

/**
 * Called with what a remote lists, before anything of the mirror is deleted; throws if the mirror must stay as it is.
 * `hadRefs`: whether the mirror has references. `isReallyEmpty` asks the remote once more, see `MirrorCommands`.
 */
export type Admit = (listed: RefState, hadRefs: boolean, isReallyEmpty: () => Promise<boolean>) => Promise<void>;

const admitAll: Admit = () => Promise.resolve();

/** The mirrors that this thread has opened; those beyond the limit are searched for leftovers again. */
const opened = new BoundedMap<string, true>(20_000, () => 1);

/** A mirror with more loose objects is repacked. git's own limit is 6,700. */
const looseCountMax = 5_000;

/**
 * Our bare copy of one repository.
 *
 * Caller guarantees: one `Mirror` per directory at a time, and one call of it at a time. Readers (`listTree`,
 * `BlobReader`, `StoredObjects`) need only the directory and may run at the same time, even during `maintain`: git keeps
 * unreachable objects for two weeks.
 *
 * A process killed at any moment leaves a directory that `open` repairs.
 */
export class Mirror {
  readonly directory: string;
  readonly url: RemoteUrl;
  readonly #commands: MirrorCommands;
  readonly #rebuild: MirrorRebuild;

  private constructor(commands: MirrorCommands, rebuild: MirrorRebuild) {
    this.directory = commands.directory;
    this.url = commands.url;
    this.#commands = commands;
    this.#rebuild = rebuild;
  }

  /**
   * Opens the mirror in `directory` (absolute) and removes what killed commands left in it; incomplete loose objects
   * only if this thread opens it for the first time. Creates an empty one when it is missing or incomplete. Does not
   * contact the remote.
   *
   * Throws `storage` when the file system fails.
   */
  static async open(directory: string, url: RemoteUrl, options: MirrorOptions): Promise<Mirror> {
    assert(isAbsolute(directory), "the mirror's directory is an absolute path");
    return storageErrors(async () => {
      const format = mirrorFormat(directory);
      const commands = new MirrorCommands(directory, url, options);
      const mirror = new Mirror(commands, new MirrorRebuild(commands, format ?? "sha1"));
      if (format === null) await mirror.recreate();
      removeLeftovers(directory, opened.get(directory) === undefined);
      opened.set(directory, true);
      writeMirrorConfig(directory, mirror.#rebuild.format, url);
      return mirror;
    });
  }

  /** Empties the mirror; the next `sync` fetches everything. */
  async recreate(): Promise<void> {
    return storageErrors(async () => {
      createStaging(this.directory, this.#rebuild.format, this.url);
      await adoptStaging(this.directory);
    });
  }

  /**
   * Rebuilds the mirror from its remote, for a caller that finds objects missing. Throws like `sync`; the mirror is
   * then unchanged.
   */
  async refetch(stop: StopSignal, admit: Admit = admitAll): Promise<SyncResult> {
    return storageErrors(async () => {
      const before = await this.#rebuild.listLocal(stop).catch((error: unknown) => {
        if (error instanceof TrawlError && error.code === "git") return null;
        throw error;
      });
      const listed = await this.#commands.listRemote(stop);
      await this.#admit(listed, before, admit, stop);
      return this.#readResult(null, listed, async (remote) => this.#rebuild.rebuild(remote, stop));
    });
  }

  #admit(listed: RefListing, before: RefListing | null, admit: Admit, stop: StopSignal): Promise<void> {
    const hadRefs = before !== null && before.refs.size > 0;
    return admit(refState(listed), hadRefs, () => this.#commands.isReallyEmpty(stop));
  }

  /** Identifies the directory of the mirror, which is another one after everything was fetched again. */
  get identity(): string {
    const { ino, birthtimeNs } = statSync(this.directory, { bigint: true });
    return `${ino} ${birthtimeNs}`;
  }

  /** Whether the mirror lacks objects because its source does. */
  get isIncomplete(): boolean {
    return readIncompleteness(this.directory) !== null;
  }

  /**
   * Throws `storage` if the system refuses to read a file of the mirror, for a caller that finds objects missing: they are
   * probably there.
   */
  async requireAccess(): Promise<void> {
    await storageErrors(() => Promise.resolve().then(() => requireAccess(this.directory)));
  }

  /** The references of the remote. Throws `git`, with git's message, when the remote cannot be reached or read. */
  async listRemote(stop: StopSignal): Promise<RefState> {
    return refState(await this.#commands.listRemote(stop));
  }

  /** The references of the mirror, without asking the remote. */
  async state(stop: StopSignal): Promise<RefState> {
    const local = await this.#rebuild.listLocal(stop);
    if (local === null) throw new TrawlError("git", `the mirror ${this.directory} is damaged; sync builds it again`);
    return refState(local);
  }

  /**
   * Updates the mirror to the remote's branches and tags, including deleted ones, and its HEAD. Fetches only when
   * something differs, or at once if `isLikely`: then the remote is asked for its references at the same time, which
   * saves a connection's time. Rebuilds a damaged mirror.
   *
   * What the remote lists is passed to `admit` first, see there. During a fetch at once, `onListed` is called with what the remote lists, if that differs: the state that the mirror
   * will probably have. git may not have received or verified it yet.
   *
   * Throws `git` when the remote cannot be reached, `cancelled` when stopped, `storage` when the file system fails; the
   * mirror is then unchanged.
   */
  async sync(
    stop: StopSignal,
    isLikely = false,
    onListed?: (state: RefState) => void,
    admit: Admit = admitAll,
  ): Promise<SyncResult> {
    return storageErrors(async () => {
      const before = await this.#rebuild.listLocal(stop);
      const isEarly = isLikely && before !== null && this.#mayFetchAtOnce(before);
      const [early, listed] = await Promise.allSettled([
        isEarly ? this.#tryToFetch(before, stop) : null,
        this.#listRemote(before, isEarly ? onListed : undefined, admit, stop),
      ]);
      // Neither must go on to access the mirror after this has failed.
      if (early.status === "rejected") throw early.reason;
      if (listed.status === "rejected") throw listed.reason;
      return this.#readResult(before, listed.value, async (remote) => {
        if (early.value !== null && !isDetached(remote)) return this.#prune(early.value, remote, stop);
        const isUpToDate = before !== null && this.#rebuild.formatFits(remote) && this.#isCurrent(before, remote);
        return isUpToDate && !this.#mayDeepen() ? before : this.#update(before, remote, stop);
      });
    });
  }

  /** The references of the remote, which `onListed` gets too if they differ from those at the start of a fetch. */
  async #listRemote(
    before: RefListing | null,
    onListed: ((state: RefState) => void) | undefined,
    admit: Admit,
    stop: StopSignal,
  ): Promise<RefListing> {
    const remote = await this.#commands.listRemote(stop);
    await this.#admit(remote, before, admit, stop);
    if (before !== null && !isCurrent(before, remote) && !isDetached(remote) && this.#rebuild.formatFits(remote))
      onListed?.(refState({ ...remote, ...chooseHead(remote, remote) }));
    return remote;
  }

  /**
   * Identifies where the history of the mirror is cut because its source is shallow; "" if it is not. The source's
   * references do not tell when it gets more of its history.
   */
  get cut(): string {
    const boundary = readBoundary(this.directory);
    return boundary.length === 0 ? "" : createHash("sha1").update(boundary.join()).digest("hex");
  }

  /** Whether the source may have more of the history than the mirror: over a network, only a fetch tells. */
  #mayDeepen(): boolean {
    const boundary = readBoundary(this.directory);
    if (boundary.length === 0 || this.url.kind !== "local") return boundary.length > 0;
    return readSourceBoundary(this.url.path).join() !== boundary.join();
  }

  /** Whether a fetch needs to know nothing of the remote but its URL. */
  #mayFetchAtOnce(before: RefListing): boolean {
    return before.headTarget !== null && before.refs.size > 0 && !this.isIncomplete;
  }

  /** The references after a fetch; null if it failed, which is then examined with what the remote lists. */
  async #tryToFetch(before: RefListing, stop: StopSignal): Promise<RefListing | null> {
    try {
      await this.#commands.fetch(this.directory, before, stop);
      return await this.#rebuild.listLocal(stop);
    } catch (error) {
      if (error instanceof TrawlError && error.code === "git") return null;
      throw error;
    }
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
    const recreated = incompleteness !== null && readIncompleteness(this.directory) !== incompleteness;
    const { isHeadKnown, headRef } = refState(remote);
    return { ...refState({ ...after, ...head }), isHeadKnown, headRef, changed, recreated };
  }

  /**
   * Whether there is nothing to fetch. From a source that lacks objects, the mirror was copied when the source had this
   * fingerprint.
   */
  #isCurrent(before: RefListing, remote: RefListing): boolean {
    const incompleteness = readIncompleteness(this.directory);
    return incompleteness === null ? isCurrent(before, remote) : incompleteness === this.#rebuild.fingerprint(remote);
  }

  /**
   * Repacks the mirror when it has many packs or loose objects, packs many loose references, and writes its commit graph when it has been repacked or
   * has no graph. Returns whether it did either. Safe beside readers; may take minutes on a large repository.
   */
  async maintain(stop: StopSignal): Promise<boolean> {
    return storageErrors(async () => {
      const { packCount, looseCount } = objectStoreSize(this.directory);
      const isSmall = packCount <= packCountMax && looseCount <= looseCountMax;
      // Reading 50,000 files takes seconds.
      const hasManyRefs = countLooseRefs(this.directory) > manyRefs;
      if (hasManyRefs) await this.#commands.packRefs(this.directory, stop);
      if (isSmall && (this.isIncomplete || hasCommitGraph(this.directory))) return hasManyRefs;
      if (!isSmall) await this.#commands.repack(stop);
      // Trees may be missing, without which the graph cannot be written.
      if (!this.isIncomplete) await this.#commands.writeCommitGraph(stop);
      return true;
    });
  }

  /** Repacks the mirror, whatever its size. */
  async repack(stop: StopSignal): Promise<void> {
    await this.#commands.repack(stop);
  }

  /** Updates the mirror; returns its references afterwards. */
  async #update(before: RefListing | null, remote: RefListing, stop: StopSignal): Promise<RefListing> {
    const isEmpty = before === null || (before.refs.size === 0 && before.headOid === null);
    if (isEmpty || !this.#rebuild.formatFits(remote) || this.isIncomplete) return this.#rebuild.rebuild(remote, stop);
    return this.#rebuild.withExistingObjects(remote, stop, () => this.#fetchOrRemake(before, remote, stop));
  }

  /** Deletes the references that the remote does not list; returns those that are left. */
  async #prune(local: RefListing, remote: RefListing, stop: StopSignal): Promise<RefListing> {
    const { gone, left } = withoutGone(local, remote);
    await this.#commands.deleteRefs(gone, stop);
    return left;
  }

  /** Fetches into the mirror; if git reports that it is damaged, rebuilds it. */
  async #fetchOrRemake(before: RefListing, remote: RefListing, stop: StopSignal): Promise<RefListing> {
    try {
      if (differMuch(before, remote)) {
        await this.#commands.fetchMany(this.directory, before, remote, stop);
        return await this.#rebuild.listFetched(stop);
      }
      const { gone, left } = withoutGone(before, remote);
      if (isCurrent(left, remote) && !this.#mayDeepen()) {
        await this.#commands.deleteRefs(gone, stop);
        return left;
      }
      // The others only after the fetch: a remote may list what it then does not send.
      const conflicting = findConflicting(gone, remote);
      await this.#commands.deleteRefs([...conflicting], stop);
      await this.#commands.fetch(this.directory, remote, stop);
      const rest = gone.filter((name) => !conflicting.has(name));
      await this.#commands.deleteRefs(rest, stop);
      return await this.#rebuild.listFetched(stop);
    } catch (error) {
      if (!saysDamaged(errorMessage(error))) throw error;
      requireAccess(this.directory);
      // The source may be the damaged one; a fetch detects that, a copy does not.
      return this.#rebuild.byFetch(remote, stop);
    }
  }

  /** Returns whether HEAD pointed elsewhere. */
  #setHead({ headTarget, headOid }: Head): boolean {
    if (headTarget !== null) return writeHead(this.directory, { branch: headTarget });
    return headOid !== null && writeHead(this.directory, { commit: headOid });
  }
}

/** The names that the remote does not list, and the listing without them. */
function withoutGone(local: RefListing, remote: RefListing): { readonly gone: string[]; readonly left: RefListing } {
  const gone = [...local.refs.keys()].filter((name) => !remote.refs.has(name));
  const refs = new Map([...local.refs].filter(([name]) => remote.refs.has(name)));
  return { gone, left: { ...local, refs } };
}

/** The names that cannot exist beside the listed references: `a` beside `a/b`, or `a/b` beside `a`. */
function findConflicting(names: readonly string[], { refs }: RefListing): ReadonlySet<string> {
  if (names.length === 0) return new Set();
  const folders = new Set<string>();
  for (const name of refs.keys()) for (const folder of foldersAbove(name)) folders.add(folder);
  return new Set(names.filter((name) => folders.has(name) || foldersAbove(name).some((folder) => refs.has(folder))));
}

function foldersAbove(name: string): string[] {
  const folders: string[] = [];
  for (let end = name.lastIndexOf("/"); end > 0; end = name.lastIndexOf("/", end - 1)) folders.push(name.slice(0, end));
  return folders;
}

/** Converts errors of the file system to `storage`. */
async function storageErrors<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("storage", withLimit(`the mirror's directory: ${errorMessage(error)}`), { cause: error });
  }
}
