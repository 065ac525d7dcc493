import { stat } from "node:fs/promises";
import { join } from "node:path";
import { BoundedMap } from "../base/bounded-map.js";
import { TrawlError } from "../base/errors.js";
import { lazy } from "../base/lazy.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { openBlame } from "../git/history/blame-stream.js";
import { openArchive, openBlob } from "../git/objects/content.js";
import type { GitOutput } from "../git/run/run.js";
import { stopWhenSet } from "../base/stop-signal.js";
import { mirrorName, type Repository } from "../model/repository.js";
import type { ReadLimits, ReadPool } from "../pool/read-pool.js";
import type { ReadAnswer, ReadKinds } from "../protocol/read-messages.js";
import type {
  ListedRepositories,
  MirrorLimits,
  MirrorReadKind,
  OwnerQuestion,
  WantedOutput,
} from "./mirror-messages.js";
import type { FetchesElsewhere } from "./remote-mirrors.js";
import type { ListedElsewhere, RepositoryHolder, SearchFleet } from "../search/source/search-fleet.js";

export interface MirrorsSettings {
  /** Of this node. */
  readonly name: string;
  /** The folder of the mirrors of this node. */
  readonly folder: string;
  readonly reads: ReadPool;
  /** The record of a repository of this node, whoever may see it. */
  readonly record: (repositoryId: number) => Repository | undefined;
  /** Undefined on a single host, and where nodes do not ask one another. */
  readonly fleet: () => SearchFleet | undefined;
  /** Whether there are repositories in the catalog that another node has fetched. */
  readonly isShared: boolean;
  readonly log: Log;
  readonly metrics: Pick<Metrics, "fleetQuestions" | "fleetQuestionSeconds" | "fleetQuestionBytes">;
}

/** Mirrors of which it is known that they have what the catalog says. */
const readyMax = 100_000;

/**
 * The mirrors of all repositories, of which this node may have none: here, and only here, it is decided who reads one. What all interfaces
 * read comes through this; see `RemoteMirrors` for what another node is asked.
 */
export class Mirrors {
  readonly #settings: MirrorsSettings;
  /** The folder of a mirror, and the commit that is known to be in it, as the catalog says. */
  readonly #ready = new BoundedMap<number, { readonly inode: number; readonly oid: string }>(readyMax, () => 1);
  /** Not loaded on a single host. */
  readonly #remote = lazy(async () => {
    const { RemoteMirrors } = await import("./remote-mirrors.js");
    return new RemoteMirrors(this.#settings.log, this.#settings.metrics);
  });

  constructor(settings: MirrorsSettings) {
    this.#settings = settings;
  }

  /**
   * One read of one mirror. Throws `overloaded` if the node that has it does not answer, or none has it at this moment, and otherwise like
   * `ReadPool`.
   */
  async run<Kind extends MirrorReadKind>(
    request: ReadKinds[Kind]["request"] & { readonly kind: Kind },
    limits: MirrorLimits,
  ): Promise<ReadAnswer<Kind>> {
    const repositoryId = "repositories" in request ? request.repositories[0].repositoryId : request.repositoryId;
    const holder = this.#settings.fleet()?.findReader(repositoryId);
    if (holder === undefined) return await this.runHere<Kind>(request, repositoryId, limits);
    const remote = await this.#remote();
    return await remote.read<Kind>(holder, repositoryId, request, limits);
  }

  /** The same, of a mirror of this node. */
  async runHere<Kind extends MirrorReadKind>(
    request: ReadKinds[Kind]["request"] & { readonly kind: Kind },
    repositoryId: number,
    limits: ReadLimits,
  ): Promise<ReadAnswer<Kind>> {
    await this.#requireReady(repositoryId, limits);
    return await this.#settings.reads.run<Kind>(request, limits);
  }

  /** What is read as bytes. Whoever reads it must kill it. Throws like `run`. */
  async open(repositoryId: number, wanted: WantedOutput, limits: MirrorLimits): Promise<GitOutput> {
    const holder = this.#settings.fleet()?.findReader(repositoryId);
    if (holder === undefined) return await this.openHere(repositoryId, wanted, limits);
    return (await this.#remote()).open(holder, repositoryId, wanted, limits);
  }

  async openHere(repositoryId: number, wanted: WantedOutput, limits: ReadLimits): Promise<GitOutput> {
    await this.#requireReady(repositoryId, limits);
    const directory = this.#directory(repositoryId);
    switch (wanted.kind) {
      case "blob":
        return openBlob(directory, wanted.oid);
      case "archive":
        return openArchive(directory, wanted.commit, wanted.format, wanted.path);
      case "blame": {
        const { ignored, timeoutMs } = wanted;
        return openBlame(directory, wanted, ignored, { timeoutMs, stop: stopWhenSet(limits.stop) });
      }
    }
  }

  /**
   * The record of a repository of another node that the viewer sees, where this node does not decide that itself. Undefined if there is
   * none; throws `overloaded` if whoever may have it does not answer.
   */
  async find(
    holders: readonly (readonly RepositoryHolder[])[],
    repository: string | number,
    limits: MirrorLimits,
  ): Promise<Repository | undefined> {
    return await (await this.#remote()).find(holders, repository, limits);
  }

  /** See `RemoteMirrors.askOwner`. */
  async askOwner(
    owner: RepositoryHolder,
    question: OwnerQuestion,
    limits: MirrorLimits,
  ): Promise<{ readonly version: number }> {
    return await (await this.#remote()).askOwner(owner, question, limits);
  }

  /** Has the nodes that fetch what this one does not do so with what has one of these addresses; undefined if there is no fleet to ask. */
  async requestFetches(addresses: readonly string[], limits: MirrorLimits): Promise<FetchesElsewhere | undefined> {
    const fleet = this.#settings.fleet();
    if (fleet === undefined) return undefined;
    return await (await this.#remote()).requestFetches(() => fleet.findOwners(), addresses, limits);
  }

  /** The repositories of other nodes that the viewer sees. */
  async list(
    lists: readonly ListedElsewhere[],
    names: readonly string[] | undefined,
    limits: MirrorLimits,
  ): Promise<ListedRepositories> {
    return await (await this.#remote()).list(lists, names, limits);
  }

  /**
   * A node that has taken over, or has never fetched the repository, knows its commits from the others, and has nothing of them: it must
   * not say that they do not exist. Throws `overloaded`.
   */
  async #requireReady(repositoryId: number, limits: ReadLimits): Promise<void> {
    const { isShared, record: findRecord } = this.#settings;
    if (!isShared) return;
    const record = findRecord(repositoryId);
    if (record === undefined) throw this.#noMirror(repositoryId, "the repository");
    const oid = record.indexedBranches.at(0)?.commit;
    // Nothing of it is indexed: it is empty, or nobody has fetched it.
    if (oid === undefined) return;
    // One that is not needed is deleted, and one that is made anew is another folder.
    const inode = await stat(this.#directory(repositoryId)).then(
      ({ ino }) => ino,
      () => undefined,
    );
    const known = this.#ready.get(repositoryId);
    const isSame = known !== undefined && known.inode === inode;
    if (isSame && known.oid === oid) return;
    const isFetched = inode !== undefined && (isSame || (await this.#hasRefs(repositoryId, limits)));
    if (isFetched && (await this.#hasCommit(repositoryId, oid, limits))) {
      this.#ready.set(repositoryId, { inode, oid });
      return;
    }
    throw this.#noMirror(repositoryId, record.name);
  }

  #noMirror(repositoryId: number, what: string): TrawlError {
    const { name, fleet } = this.#settings;
    const why =
      fleet()?.explainNoMirror(repositoryId) ??
      "nodes that share an index need fleet.listen, fleet.address and certificates to ask the one that has fetched it";
    return new TrawlError("overloaded", `node ${name} has no mirror of ${what}, because ${why}: try again later`);
  }

  #directory(repositoryId: number): string {
    return join(this.#settings.folder, mirrorName(repositoryId));
  }

  /** A fetch writes them last, when all objects are there. */
  async #hasRefs(repositoryId: number, limits: ReadLimits): Promise<boolean> {
    const { reads } = this.#settings;
    const list = { prefixes: ["refs/"], nameText: "", order: "name", skipCount: 0, countMax: 1 } as const;
    const listed = reads.run({ kind: "list-refs", repositoryId, ...list }, limits);
    if ((await unlessGitFails(listed, { totalCount: 0 })).totalCount > 0) return true;
    // Its HEAD may be all that it has.
    const specs = [{ kind: "name" as const, typed: "HEAD" }];
    const { repositories } = await reads.run(
      { kind: "resolve-revisions", repositories: [{ repositoryId, specs }] },
      limits,
    );
    return repositories[0].revisions.length > 0;
  }

  async #hasCommit(repositoryId: number, oid: string, limits: ReadLimits): Promise<boolean> {
    const { reads } = this.#settings;
    const { isStored } = await reads.run({ kind: "has-commit", repositoryId, oid }, limits);
    if (isStored) return true;
    // Not all can be read without git.
    const read = reads.run({ kind: "read-commits", repositoryId, oids: [oid] }, limits);
    return (await unlessGitFails(read, { commits: [] })).commits.length > 0;
  }
}

/** As it does where there is no mirror at all. */
async function unlessGitFails<T, Other>(read: Promise<T>, otherwise: Other): Promise<T | Other> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof TrawlError && error.code === "git") return otherwise;
    throw error;
  }
}
