import { defaultBranchBit, type Repository } from "../model/repository.js";
import type { StreamMatch } from "../model/stream-events.js";
import { globalId } from "./ids.js";
import { linkMarkdown, plainMarkdown, type Markdown } from "./markdown.js";
import { parseCodeHost, repositoryUrl } from "./urls.js";

/** Cached as long as the record exists: creating an id and a path takes as long as a dozen other fields of a list. */
const sources = new WeakMap<Repository, RepositorySource>();

/** A repository without a revision. */
export function toRepositorySource(record: Repository): RepositorySource {
  let source = sources.get(record);
  if (source === undefined) {
    source = new RepositorySource(record, undefined);
    sources.set(record, source);
  }
  return source;
}

/** A repository of another node, of which only what a result says is known. `idsFrom` is added to ids of such repositories. */
export function remoteRecord(match: StreamMatch, idsFrom: number): Repository {
  return {
    id: idsFrom + (match.repositoryID ?? 0),
    name: match.repository ?? "",
    url: "",
    credential: "",
    fork: match.fork === true,
    archived: match.archived === true,
    // Only results for repositories say it; whoever shows less of private ones must not show too much of this one.
    private: match.type !== "repo" || match.private === true,
    readers: [],
    stars: match.repoStars ?? 0,
    description: match.description ?? "",
    topics: match.topics ?? [],
    metadata: match.metadata ?? {},
    addedMetadata: {},
    history: "",
    branches: [],
    indexedBranches: [],
    intervalSeconds: 0,
    generation: 1,
    defaultBranch: "",
    lastFetched: match.repoLastFetched ?? "",
    lastChanged: "",
    lastError: "",
    documentCount: 0,
    contentBytes: 0,
    skippedCounts: {},
    configured: false,
    removedAt: "",
  };
}

/** A repository from the catalog, and the revision that a search specified. */
export class RepositorySource {
  readonly __typename = "Repository";
  readonly record: Repository;
  readonly #revision: string | undefined;
  #id: string | undefined;
  #url: string | undefined;

  constructor(record: Repository, revision: string | undefined) {
    this.record = record;
    this.#revision = revision;
  }

  get id(): string {
    return (this.#id ??= globalId("Repository", this.record.id));
  }

  get name(): string {
    return this.record.name;
  }

  get uri(): string {
    return this.record.name;
  }

  get sourceType(): "GIT_REPOSITORY" {
    return "GIT_REPOSITORY";
  }

  get description(): string {
    return this.record.description;
  }

  get createdAt(): string {
    return this.record.lastChanged || this.record.lastFetched || new Date().toISOString();
  }

  get updatedAt(): string | null {
    return this.record.lastChanged || null;
  }

  get isFork(): boolean {
    return this.record.fork;
  }

  get isArchived(): boolean {
    return this.record.archived;
  }

  get isPrivate(): boolean {
    return this.record.private;
  }

  /** Not indexed yet, and not failed. */
  get cloneInProgress(): boolean {
    return this.record.lastFetched === "" && this.record.lastError === "";
  }

  get cloned(): boolean {
    return this.record.lastFetched !== "";
  }

  get isIndexed(): boolean {
    return this.record.generation > 0;
  }

  get stars(): number {
    return this.record.stars;
  }

  get topics(): readonly string[] {
    return this.record.topics;
  }

  get metadata(): readonly { readonly key: string; readonly value: string | null }[] {
    return Object.entries(this.record.metadata).map(([key, value]) => ({ key, value }));
  }

  get keyValuePairs(): readonly { readonly key: string; readonly value: string | null }[] {
    return this.metadata;
  }

  get url(): string {
    return (this.#url ??= repositoryUrl(this.record.name, this.#revision));
  }

  get externalURLs() {
    const host = parseCodeHost(this.record.url);
    return host === undefined ? [] : [externalLink(host.repositoryUrl, host.kind)];
  }

  get externalRepository() {
    const host = parseCodeHost(this.record.url);
    return { id: this.record.name, serviceType: host?.kind.toLowerCase() ?? "other", serviceID: host?.url ?? "" };
  }

  get label(): Markdown {
    const name =
      this.#revision === undefined || this.#revision === ""
        ? this.record.name
        : `${this.record.name}@${this.#revision}`;
    return linkMarkdown(name, this.url);
  }

  get detail(): Markdown {
    return plainMarkdown("Repository match");
  }

  get matches(): readonly never[] {
    return [];
  }

  get embeddingExists(): boolean {
    return false;
  }

  /** The commit of an indexed branch, where "" and `HEAD` denote the default one; does not read the mirror. */
  indexedCommit(revision: string): string | undefined {
    const { indexedBranches } = this.record;
    if (revision === "" || revision === "HEAD") {
      const bit = defaultBranchBit(this.record);
      return indexedBranches.find((branch) => branch.bit === bit)?.commit;
    }
    return undefined;
  }
}

export function externalLink(url: string, serviceKind: NonNullable<ReturnType<typeof parseCodeHost>>["kind"]) {
  return { url, serviceKind, serviceType: serviceKind.toLowerCase() };
}

/** The searchable part of a repository. */
export interface TextIndexSource {
  readonly repository: RepositorySource;
}
