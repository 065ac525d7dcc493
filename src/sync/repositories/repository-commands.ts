import { TrawlError } from "../../base/errors.js";
import { checkCredential, isSameOrigin, splitSecret } from "../../git/mirror/url-secret.js";
import type { MetadataChange } from "../../model/repository.js";
import type { Repository, RepositoryAttributes, RepositoryConfig } from "../../model/repository.js";
import type { Catalog } from "../../catalog/catalog.js";
import type { Manifest } from "../../catalog/manifest.js";
import type { Compaction } from "../housekeeping/compaction.js";
import type { HistoryIndexing } from "../housekeeping/history-indexing.js";
import type { Quarantines } from "../runner/quarantines.js";
import type { RepositoryRemoval } from "../housekeeping/repository-removal.js";
import type { RepositorySecrets } from "../services/repository-secrets.js";
import { byPartition, type OwnShare, type SyncServices } from "../services/sync-settings.js";
import type { SyncResult } from "../queue/schedule.js";
import type { SyncQueue } from "../queue/sync-queue.js";

/** Commands for single repositories: add, change, sync, remove. */
export class RepositoryCommands {
  readonly #catalog: Catalog;
  readonly #manifest: Manifest;
  readonly #share: OwnShare;
  readonly #queue: SyncQueue;
  readonly #secrets: RepositorySecrets;
  readonly #quarantines: Quarantines;
  readonly #removal: RepositoryRemoval;
  readonly #history: Pick<HistoryIndexing, "request">;
  readonly #compaction: Pick<Compaction, "separate">;
  /** Called when names or URLs have changed, with a name that has become free. */
  readonly #onNamesChanged: (freed?: string) => Promise<void>;

  constructor(
    { catalog, manifest, share }: Pick<SyncServices, "catalog" | "manifest" | "share">,
    queue: SyncQueue,
    secrets: RepositorySecrets,
    quarantines: Quarantines,
    removal: RepositoryRemoval,
    history: Pick<HistoryIndexing, "request">,
    compaction: Pick<Compaction, "separate">,
    onNamesChanged: (freed?: string) => Promise<void>,
  ) {
    this.#catalog = catalog;
    this.#manifest = manifest;
    this.#share = share;
    this.#queue = queue;
    this.#secrets = secrets;
    this.#quarantines = quarantines;
    this.#removal = removal;
    this.#history = history;
    this.#compaction = compaction;
    this.#onNamesChanged = onNamesChanged;
  }

  /**
   * Adds a repository and waits until it is searchable. Rejects with `conflict`, or with the error of its first sync.
   */
  async add(config: RepositoryConfig): Promise<Repository> {
    // Before anything is stored: an existing repository of that name has its own secret.
    this.#catalog.requireFree(config.name);
    const { config: without } = await this.#secrets.moved(config);
    const {
      repositories: [repository],
    } = await this.#manifest.publish(() => ({ repositories: [this.#catalog.newRepository(without, false)] as const }));
    await this.#onNamesChanged();
    await this.#queue.sync(repository.id);
    return this.#catalog.repository(repository.id) ?? repository;
  }

  /**
   * Adds repositories in one step and queues their first sync, without waiting for it. Returns the names of those that
   * are new; a repository with the same name and URL is left as it is.
   */
  async addAll(
    configs: readonly RepositoryConfig[],
  ): Promise<{ readonly added: readonly string[]; readonly taken: readonly string[] }> {
    const isFree = ({ name }: RepositoryConfig) => this.#catalog.repositoryByName(name) === undefined;
    const taken = configs.filter((config) => !isFree(config) && !this.#isSame(config)).map(({ name }) => name);
    const { configs: moved } = await this.#secrets.movedAll(configs.filter(isFree));
    const groups = byPartition(moved, ({ name }) => this.#catalog.partitions.place(name));
    const repositories: Repository[] = [];
    for (const group of groups.values()) {
      const change = await this.#manifest.publish(() => ({
        repositories: group.filter(isFree).map((config) => this.#catalog.newRepository(config, false)),
      }));
      repositories.push(...change.repositories);
    }
    await this.#onNamesChanged();
    for (const { id } of repositories) this.#queue.enqueue(id, false);
    this.#queue.pump();
    return { added: repositories.map(({ name }) => name), taken };
  }

  #isSame({ name, url }: RepositoryConfig): boolean {
    const known = this.#catalog.repositoryByName(name);
    return known?.removedAt === "" && known.url === splitSecret(url).url;
  }

  /**
   * Changes attributes of a repository. Rejects with `conflict` if the configuration file sets them. New readers are in
   * force at once; resolves when no shard has text of the repository beside text with other viewers: see Compaction.
   */
  async setAttributes(name: string, attributes: Partial<RepositoryAttributes>): Promise<void> {
    const {
      repositories: [{ id }],
    } = await this.#manifest.publish(() => ({
      repositories: [{ ...this.#addedByHand(name), ...attributes }] as const,
    }));
    this.#history.request(id);
    if (attributes.private !== undefined || attributes.readers !== undefined) await this.#compaction.separate(id);
  }

  /** Adds or removes one of the readers of a repository, beside others that are changed at the same time. Like `setAttributes`. */
  async setReader(name: string, reader: string, isReader: boolean): Promise<void> {
    const isOther = (one: string): boolean => one.toLowerCase() !== reader.toLowerCase();
    const {
      repositories: [{ id }],
    } = await this.#manifest.publish(() => {
      const repository = this.#addedByHand(name);
      const others = repository.readers.filter(isOther);
      return { repositories: [{ ...repository, readers: isReader ? [...others, reader] : others }] as const };
    });
    await this.#compaction.separate(id);
  }

  /**
   * The searchable state is kept until the new remote has been fetched. Undefined arguments leave their property
   * unchanged, except for the secret of another host. Rejects like `setFacts`, and with the error of the fetch.
   */
  async setRemote(name: string, url: string | undefined, credential: string | undefined): Promise<SyncResult> {
    const known = this.#addedByHand(name);
    const isKept = url === undefined || isSameOrigin(known.url, url);
    const wanted = { name, url: url ?? known.url, credential: credential ?? "" };
    checkCredential(wanted.url, wanted.credential);
    const { config } = await this.#secrets.moved(wanted);
    const remote = {
      url: config.url,
      credential: credential === undefined && config.credential === "" && isKept ? known.credential : config.credential,
      // The operator has named the new URL.
      ...(url === undefined ? {} : { source: undefined }),
    };
    const {
      repositories: [{ id }],
    } = await this.#manifest.publish(() => ({
      repositories: [{ ...this.#addedByHand(name), ...remote, vanished: undefined }] as const,
    }));
    if (remote.credential !== known.credential) await this.#secrets.forget(known.credential);
    await this.#onNamesChanged();
    return await this.#queue.sync(id);
  }

  /**
   * Changes one pair of a repository's metadata. Rejects with `conflict` if the configuration file sets the pair or an
   * added key already exists, and with `not-found` if the key does not exist.
   */
  async changeMetadata(name: string, change: MetadataChange): Promise<void> {
    await this.#manifest.publish(() => {
      const repository = this.#named(name);
      const metadata = changedMetadata(repository, change);
      const addedMetadata = repository.configured
        ? withChange(repository.addedMetadata, change)
        : repository.addedMetadata;
      return { repositories: [{ ...repository, metadata, addedMetadata }] };
    });
  }

  /** Removes a name from the readers of repositories; readers in the configuration file are not changed. */
  async removeReader(name: string): Promise<void> {
    const isOther = (reader: string): boolean => reader.toLowerCase() !== name.toLowerCase();
    const { partitions } = this.#catalog;
    const all = Array.from({ length: partitions.count }, (_, partition) => partition);
    // What other nodes own this one may not know completely. The first id of a partition is the one after its number.
    const other = all.find((partition) => !this.#share.partitions().includes(partition));
    if (other !== undefined && all.length > 1) throw this.#share.refusal(other + 1);
    for (const partition of all) {
      const isThere = ({ id }: Repository): boolean => partitions.find(id) === partition;
      const { repositories } = await this.#manifest.publish(() => ({
        repositories: [...this.#catalog.repositories()]
          .filter((one) => isThere(one) && !one.configured && !one.readers.every(isOther))
          .map((repository) => ({ ...repository, readers: repository.readers.filter(isOther) })),
      }));
      for (const { id } of repositories) await this.#compaction.separate(id);
    }
  }

  /** Removes a repository with its documents and its mirror. One that is listed and was left out gets a name that is freed. */
  async remove(name: string): Promise<void> {
    const repository = this.#named(name);
    await this.#removal.remove(repository);
    await this.#onNamesChanged(repository.configured ? undefined : name);
  }

  /**
   * Fetches and indexes now; resolves when the fetched state is searchable. With `acceptsLoss`, that may be nothing, where
   * there was something before.
   */
  async sync(name: string, acceptsLoss = false): Promise<SyncResult> {
    const { id } = this.#named(name);
    if (acceptsLoss) this.#queue.schedule(id).acceptsLoss = true;
    return await this.#queue.sync(id);
  }

  /** Like `sync`, but returns immediately: see SyncQueue.request. */
  request(repositoryId: number): void {
    this.#queue.request(repositoryId);
  }

  /** Indexes all of it again from its mirror. Does not wait, like `request`. */
  requestIndexing(repositoryId: number): void {
    if (this.#catalog.repository(repositoryId) !== undefined) this.#queue.schedule(repositoryId).rebuild = true;
    this.#quarantines.lift(repositoryId);
    this.request(repositoryId);
  }

  /**
   * Empties its mirror and fetches everything; the searchable state is kept meanwhile. Does not wait, like `request`.
   */
  requestCloning(repositoryId: number): void {
    if (this.#catalog.repository(repositoryId) !== undefined) this.#queue.schedule(repositoryId).recreate = true;
    this.#quarantines.lift(repositoryId);
    this.request(repositoryId);
  }

  #addedByHand(name: string): Repository {
    const repository = this.#named(name);
    if (!repository.configured) return repository;
    const { source } = repository;
    const place = source?.connection
      ? `by connection ${source.connection}`
      : "in the configuration file or on the command line";
    throw new TrawlError("conflict", `${JSON.stringify(name)} is listed ${place}: change it there`);
  }

  #named(name: string): Repository {
    const repository = this.#catalog.repositoryByName(name);
    if (repository !== undefined) return repository;
    const partition = this.#catalog.partitions.place(name);
    const mayBeElsewhere = this.#catalog.partitions.count > 1 && !this.#share.partitions().includes(partition);
    // The first id of a partition is the one after its number.
    if (mayBeElsewhere) throw this.#share.refusal(partition + 1);
    throw new TrawlError(
      "not-found",
      `there is no repository named ${JSON.stringify(name)}; \`trawl repo list\` lists the existing ones`,
    );
  }
}

type Metadata = Repository["metadata"];

const keyCharsMax = 255;
const valueCharsMax = 4096;
const pairCountMax = 1000;

/** The metadata of a repository after a change. Throws if the change is not allowed. */
function changedMetadata(repository: Repository, change: MetadataChange): Metadata {
  const { name, configured, metadata, addedMetadata } = repository;
  const isThere = Object.hasOwn(metadata, change.key);
  const keyText = JSON.stringify(change.key.slice(0, keyCharsMax));
  if (change.kind === "add" && isThere)
    throw new TrawlError("conflict", `${name} already has metadata with the key ${keyText}; update it`);
  if (change.kind !== "add" && !isThere)
    throw new TrawlError("not-found", `${name} has no metadata with the key ${keyText}`);
  if (configured && isThere && !Object.hasOwn(addedMetadata, change.key)) {
    throw new TrawlError("conflict", `the configuration file sets the metadata ${keyText} of ${name}: change it there`);
  }
  if (change.kind !== "delete") checkPair(change.key, change.value);
  const changed = withChange(metadata, change);
  if (Object.keys(changed).length > pairCountMax)
    throw new TrawlError("bad-request", `a repository can have at most ${pairCountMax} metadata pairs`);
  return changed;
}

/** The pairs with one added, changed or removed. */
function withChange(metadata: Metadata, change: MetadataChange): Metadata {
  if (change.kind !== "delete") return { ...metadata, [change.key]: change.value };
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => key !== change.key));
}

function checkPair(key: string, value: string | null): void {
  if (key === "" || key.length > keyCharsMax || /[\u0000-\u001f\u007f]/.test(key) || key === "__proto__") {
    throw new TrawlError(
      "bad-request",
      `a metadata key must have 1 to ${keyCharsMax} characters, and no control characters`,
    );
  }
  if (value !== null && value.length > valueCharsMax)
    throw new TrawlError("bad-request", `a metadata value must have at most ${valueCharsMax} characters`);
}
