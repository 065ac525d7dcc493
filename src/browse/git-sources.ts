import { escapeUrlPath } from "../base/path-text.js";
import type { CommitData } from "../git/history/commits.js";
import type { EntryData } from "../git/objects/directories.js";
import type { RefData } from "../git/mirror/read-refs.js";
import { globalId } from "./ids.js";
import { externalLink, type RepositorySource } from "./repository-source.js";
import { hostCommitUrl, hostEntryUrl, parseCodeHost, repositoryUrl } from "./urls.js";
import type { FileDiffData, HunkData } from "../git/history/file-diffs.js";

const abbreviatedLength = 7;

/** A commit, and the revision that was typed for it: undefined when it was reached by its oid. */
export class CommitSource {
  readonly __typename = "GitCommit";
  readonly perforceChangelist = null;
  readonly repository: RepositorySource;
  readonly oid: string;
  readonly revision: string | undefined;

  constructor(repository: RepositorySource, oid: string, revision: string | undefined) {
    this.repository = repository;
    this.oid = oid;
    this.revision = revision;
  }

  get id(): string {
    return globalId("GitCommit", { r: this.repository.id, c: this.oid });
  }

  get abbreviatedOID(): string {
    return this.oid.slice(0, abbreviatedLength);
  }

  get url(): string {
    return `${repositoryUrl(this.repository.name, undefined)}/-/commit/${escapeUrlPath(this.revision || this.oid)}`;
  }

  get canonicalURL(): string {
    return `${repositoryUrl(this.repository.name, undefined)}/-/commit/${this.oid}`;
  }

  get externalURLs() {
    const host = parseCodeHost(this.repository.record.url);
    return host === undefined ? [] : [externalLink(hostCommitUrl(host, this.oid), host.kind)];
  }

  /** The URL of the tree, with the revision as typed. */
  get treeUrl(): string {
    return repositoryUrl(this.repository.name, this.revision ?? this.oid);
  }

  get canonicalTreeUrl(): string {
    return repositoryUrl(this.repository.name, this.oid);
  }
}

/** The URL of an entry of a tree. */
function entryUrl(treeUrl: string, kind: "tree" | "blob", path: string): string {
  return path === "" ? treeUrl : `${treeUrl}/-/${kind}/${escapeUrlPath(path)}`;
}

function externalEntryUrls(commit: CommitSource, kind: "tree" | "blob", path: string) {
  const host = parseCodeHost(commit.repository.record.url);
  return host === undefined ? [] : [externalLink(hostEntryUrl(host, kind, commit.oid, path), host.kind)];
}

/** A directory. */
export class TreeSource {
  readonly __typename = "GitTree";
  readonly commit: CommitSource;
  readonly path: string;
  /** Number of entries of its directory; undefined when they were not listed. */
  readonly siblingCount: number | undefined;
  readonly isDirectory = true;
  readonly submodule = null;

  constructor(commit: CommitSource, path: string, siblingCount: number | undefined) {
    this.commit = commit;
    this.path = path;
    this.siblingCount = siblingCount;
  }

  get repository(): RepositorySource {
    return this.commit.repository;
  }

  get isRoot(): boolean {
    return this.path === "";
  }

  get name(): string {
    return baseName(this.path);
  }

  get url(): string {
    return entryUrl(this.commit.treeUrl, "tree", this.path);
  }

  get canonicalURL(): string {
    return entryUrl(this.commit.canonicalTreeUrl, "tree", this.path);
  }

  get rawZipArchiveURL(): string {
    return `${this.commit.treeUrl}/-/raw/${escapeUrlPath(this.path)}?format=zip`;
  }

  get externalURLs() {
    return externalEntryUrls(this.commit, "tree", this.path);
  }
}

/** A file or submodule. For a search result `entry` is undefined, and is read from git when it is needed. */
export class BlobSource {
  readonly __typename = "GitBlob";
  readonly commit: CommitSource;
  readonly path: string;
  readonly entry: EntryData | undefined;
  readonly siblingCount: number | undefined;
  readonly isDirectory = false;
  readonly changelistURL = null;

  constructor(commit: CommitSource, path: string, entry: EntryData | undefined, siblingCount: number | undefined) {
    this.commit = commit;
    this.path = path;
    this.entry = entry;
    this.siblingCount = siblingCount;
  }

  get repository(): RepositorySource {
    return this.commit.repository;
  }

  get name(): string {
    return baseName(this.path);
  }

  get url(): string {
    return entryUrl(this.commit.treeUrl, "blob", this.path);
  }

  get canonicalURL(): string {
    return entryUrl(this.commit.canonicalTreeUrl, "blob", this.path);
  }

  get externalURLs() {
    return externalEntryUrls(this.commit, "blob", this.path);
  }
}

function baseName(path: string): string {
  return path === "" ? "." : path.slice(path.lastIndexOf("/") + 1);
}

export function entrySource(
  commit: CommitSource,
  entry: EntryData,
  siblingCount: number | undefined,
): TreeSource | BlobSource {
  return entry.kind === "directory"
    ? new TreeSource(commit, entry.path, siblingCount)
    : new BlobSource(commit, entry.path, entry, siblingCount);
}

/** A branch or tag. */
export class RefSource {
  readonly __typename = "GitRef";
  readonly repository: RepositorySource;
  readonly ref: RefData;

  constructor(repository: RepositorySource, ref: RefData) {
    this.repository = repository;
    this.ref = ref;
  }

  get id(): string {
    return globalId("GitRef", { r: this.repository.id, v: this.ref.name });
  }

  get name(): string {
    return this.ref.name;
  }

  get prefix(): string {
    return refPrefixes.find((prefix) => this.ref.name.startsWith(prefix)) ?? "refs/";
  }

  get abbrevName(): string {
    return this.ref.name.slice(this.prefix.length);
  }

  /** For refs that code hosts keep for proposed changes, the number of the change. */
  get displayName(): string {
    const number = /^refs\/(?:pull|merge-requests)\/(\d+)\/head$/.exec(this.ref.name)?.[1];
    return number === undefined ? this.abbrevName : `#${number}`;
  }

  get type() {
    if (this.prefix === "refs/heads/") return "GIT_BRANCH" as const;
    return this.prefix === "refs/tags/" ? ("GIT_TAG" as const) : ("GIT_REF_OTHER" as const);
  }

  get target(): ObjectSource {
    return new ObjectSource(
      this.repository,
      this.ref.commit ?? this.ref.oid,
      this.ref.commit !== null,
      this.abbrevName,
    );
  }

  get url(): string {
    return repositoryUrl(this.repository.name, this.abbrevName);
  }
}

const refPrefixes = ["refs/heads/", "refs/tags/"];

/** What an oid names. */
export class ObjectSource {
  readonly __typename = "GitObject";
  readonly oid: string;
  readonly type: "GIT_COMMIT" | "GIT_UNKNOWN";
  /** Null when the object is not a commit. */
  readonly commit: CommitSource | null;

  constructor(repository: RepositorySource, oid: string, isCommit: boolean, revision: string | undefined) {
    this.oid = oid;
    this.type = isCommit ? "GIT_COMMIT" : "GIT_UNKNOWN";
    this.commit = isCommit ? new CommitSource(repository, oid, revision) : null;
  }

  get abbreviatedOID(): string {
    return this.oid.slice(0, abbreviatedLength);
  }
}

/** A revision as typed, with its commit when it was looked up. */
export class RevisionSource {
  readonly __typename = "GitRevSpecExpr";
  readonly expr: string;
  readonly object: ObjectSource | null;

  constructor(expr: string, object: ObjectSource | null) {
    this.expr = expr;
    this.object = object;
  }
}

/** Who wrote commits. */
export interface ContributorSource {
  readonly repository: RepositorySource;
  readonly name: string;
  readonly email: string;
  readonly count: number;
  readonly from: readonly string[];
  readonly without: readonly string[];
}

/** A person in git: name and address. */
export interface PersonSource {
  readonly name: string;
  readonly email: string;
  readonly displayName: string;
  readonly avatarURL: null;
  /** The account; undefined for the one with this verified address, if there is one. */
  readonly userId: number | undefined;
}

export function personSource(
  { name, email }: { readonly name: string; readonly email: string },
  userId?: number,
): PersonSource {
  return { name, email, displayName: name === "" ? email : name, avatarURL: null, userId };
}

export function signatureSource({ name, email, date }: CommitData["author"]) {
  return { person: personSource({ name, email }), date };
}

/** The first line of a message. */
export function commitSubject(message: string): string {
  const end = message.indexOf("\n");
  return end < 0 ? message : message.slice(0, end);
}

/** Two commits that are compared. Without a base everything in head is new. */
export interface ComparisonSource {
  readonly repository: RepositorySource;
  readonly baseText: string;
  readonly headText: string;
  readonly base: CommitSource | undefined;
  readonly head: CommitSource;
}

/** A page of the files that differ. */
export interface FileDiffsSource {
  readonly comparison: ComparisonSource;
  /** The commit that head is compared with: the merge base. */
  readonly oldCommit: CommitSource | undefined;
  readonly paths: readonly string[];
  readonly ignoreWhitespace: boolean;
  readonly files: readonly FileDiffData[];
  readonly totalCount: number;
  readonly addedCount: number;
  readonly deletedCount: number;
  readonly pageInfo: { readonly endCursor: string | null; readonly hasNextPage: boolean };
}

export interface FileDiffSource {
  readonly data: FileDiffData;
  readonly oldCommit: CommitSource | undefined;
  readonly newCommit: CommitSource;
}

/** Consecutive lines that differ, in the file with this path. */
export interface HunkSource {
  readonly data: HunkData;
  readonly path: string;
}
