import { TrawlError } from "../../base/errors.js";
import { saysRefused } from "../../base/refusal.js";
import type { StopSignal } from "../run/run.js";
import { copyObjects, sourceFingerprint, type CopyExtent } from "./copy-objects.js";
import type { MirrorCommands } from "./mirror-commands.js";
import {
  adoptStaging,
  createStaging,
  mirrorFormat,
  objectStoreSize,
  requireAccess,
  writeIncompleteness,
  writeRefs,
  type ObjectFormat,
} from "./mirror-directory.js";
import { detachedHeadRef, type RefListing } from "../objects/refs.js";
import { isDetached, remoteObjectFormat } from "./remote-refs.js";
import type { RemoteUrl } from "../run/remote-url.js";

/** A mirror with more packs is repacked. git's own limit is 50; this one is lower, as every reader opens all packs. */
export const packCountMax = 30;

/**
 * Builds a new mirror beside the existing one, and replaces that only when the new one is complete. So a failure at any
 * moment leaves the mirror as it was.
 */
export class MirrorRebuild {
  readonly #commands: MirrorCommands;
  readonly #directory: string;
  readonly #url: RemoteUrl;
  #format: ObjectFormat;

  constructor(commands: MirrorCommands, format: ObjectFormat) {
    this.#commands = commands;
    this.#directory = commands.directory;
    this.#url = commands.url;
    this.#format = format;
  }

  /** The object format of the mirror. */
  get format(): ObjectFormat {
    return this.#format;
  }

  /**
   * The references of the mirror, or null when it is damaged: a ref is unreadable, or the object it names is missing.
   */
  async listLocal(stop: StopSignal): Promise<RefListing | null> {
    const listing =
      mirrorFormat(this.#directory) === null ? null : await this.#commands.listRefs(this.#directory, stop);
    if (listing === null) requireAccess(this.#directory);
    return listing;
  }

  /** The references of the mirror after a fetch. */
  async listFetched(stop: StopSignal): Promise<RefListing> {
    const after = await this.listLocal(stop);
    if (after === null) throw new TrawlError("git", `the mirror of ${this.#url.text} is damaged right after a fetch`);
    return after;
  }

  /** Replaces the mirror by a copy of a local repository if possible, and otherwise by what a fetch returns. */
  async rebuild(remote: RefListing, stop: StopSignal): Promise<RefListing> {
    return this.withExistingObjects(
      remote,
      stop,
      async () => (await this.#byCopy(remote, stop, "whole")) ?? this.byFetch(remote, stop),
    );
  }

  /**
   * Runs `update`. If git cannot fetch from a local repository because objects are missing or damaged, replaces the
   * mirror by a copy of the objects that exist.
   */
  async withExistingObjects(
    remote: RefListing,
    stop: StopSignal,
    update: () => Promise<RefListing>,
  ): Promise<RefListing> {
    try {
      return await update();
    } catch (error) {
      if (this.#url.kind !== "local" || !(error instanceof TrawlError) || error.code !== "git") throw error;
      if (saysRefused(error.message)) throw error;
      const copied = await this.#byCopy(remote, stop, "what is there");
      if (copied === null) throw error;
      return copied;
    }
  }

  /** Fetches everything into the staging path, which replaces the mirror only when it is complete. */
  async byFetch(remote: RefListing, stop: StopSignal): Promise<RefListing> {
    const staging = this.#createStaging(remote);
    await this.#commands.fetchMany(staging, null, remote, stop);
    const fetched = await this.#commands.listRefs(staging, stop);
    if (remote.refs.size > 0 && fetched?.refs.size === 0 && fetched.fetchedHead === null)
      throw new TrawlError(
        "git",
        `${this.#url.text} listed ${remote.refs.size} references, and then sent none of them`,
      );
    await adoptStaging(this.#directory);
    return this.listFetched(stop);
  }

  /**
   * The same by copying a local repository's objects, with the refs that it had before the copy began. Returns null
   * when the copy is not possible or not complete; with `extent` "what is there", only when no ref can be read.
   */
  async #byCopy(remote: RefListing, stop: StopSignal, extent: CopyExtent): Promise<RefListing | null> {
    if (this.#url.kind !== "local" || remote.refs.size === 0) return null;
    const fingerprint = extent === "whole" ? "" : this.fingerprint(remote);
    const staging = this.#createStaging(remote);
    if (extent === "what is there") await this.#copyOwn(staging, stop);
    if (!(await copyObjects(this.#url.path, staging, stop, extent))) return null;
    const detached = isDetached(remote) && remote.headOid !== null ? [[detachedHeadRef, remote.headOid] as const] : [];
    const refs = new Map([...remote.refs, ...detached]);
    if (extent === "whole") {
      writeRefs(staging, refs, remote.peeled);
      return (await this.#commands.hasIndexable(staging, stop)) ? this.#adoptIfSound(staging, stop) : null;
    }
    const readable = await this.#commands.readableRefs(staging, refs, remote.peeled, stop);
    if (readable.size === 0) return null;
    writeRefs(staging, readable, remote.peeled);
    writeIncompleteness(staging, fingerprint);
    return this.#adoptIfSound(staging, stop);
  }

  /**
   * Copies the mirror's own objects, because its source may have lost some. Not when it has many packs, since git does
   * not repack a repository that lacks objects.
   */
  async #copyOwn(staging: string, stop: StopSignal): Promise<void> {
    if (mirrorFormat(this.#directory) !== this.#format || objectStoreSize(this.#directory).packCount > packCountMax)
      return;
    await copyObjects(this.#directory, staging, stop, "what is there");
  }

  async #adoptIfSound(staging: string, stop: StopSignal): Promise<RefListing | null> {
    const copied = await this.#commands.listRefs(staging, stop);
    if (copied !== null) await adoptStaging(this.#directory);
    return copied;
  }

  #createStaging(remote: RefListing): string {
    this.#format = remoteObjectFormat(remote) ?? this.#format;
    return createStaging(this.#directory, this.#format, this.#url);
  }

  /** Identifies the state of a source that lacks objects. */
  fingerprint(remote: RefListing): string {
    return sourceFingerprint(
      this.#url.kind === "local" ? this.#url.path : "",
      [...remote.refs].map(([name, oid]) => `${oid} ${name}`).concat(String(remote.headOid), String(remote.headTarget)),
    );
  }

  /** Whether the mirror has the object format of the remote. */
  formatFits(remote: RefListing): boolean {
    return (remoteObjectFormat(remote) ?? this.#format) === this.#format;
  }
}
