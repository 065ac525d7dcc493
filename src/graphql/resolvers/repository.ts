import { TrawlError } from "../../base/errors.js";
import { visibleError } from "../../model/repository-status.js";
import { splitRange } from "../../model/revision-syntax.js";
import { redactUrl } from "../../git/run/remote-url.js";
import { emptyPage, paginate, offsetPageInfo, pageLength, skipCount } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import { CommitSource, RefSource, type ComparisonSource, personSource } from "../../browse/git-sources.js";
import type { RepositorySource } from "../../browse/repository-source.js";
import type { ResolversOf } from "./resolver-types.js";
import { ownerFileSource } from "../sources/owner-file-source.js";
import { findService } from "../sources/external-service-source.js";
import { repositoryIndexes } from "./precise-indexes.js";
import { repositoryPermissions } from "./permissions.js";
import { unfilteredHistory } from "../../protocol/git-messages.js";

const refPrefixes = { GIT_BRANCH: ["refs/heads/"], GIT_TAG: ["refs/tags/"], GIT_REF_OTHER: [] } as const;
const allPrefixes = ["refs/heads/", "refs/tags/"];

export const repository: ResolversOf<"Repository"> = {
  language: async (source, _, context) => {
    const commit = await context.git.resolve(source, "");
    if (commit === null) return "";
    const {
      languages: [first],
    } = await context.git.run({
      kind: "count-languages",
      repositoryId: source.record.id,
      lfsTree: source.record.lfsTree,
      commit,
      withLines: false,
    });
    return first?.name ?? "";
  },
  commit: async (source, { rev, inputRevspec }, context) => {
    const oid = await context.git.resolve(source, rev);
    return oid === null ? null : new CommitSource(source, oid, inputRevspec ?? rev);
  },
  firstEverCommit: async (source, _, context) => {
    const head = await context.git.resolve(source, "");
    if (head === null) return null;
    const { commit } = await context.git.run({
      kind: "find-first-commit",
      repositoryId: source.record.id,
      commit: head,
    });
    return commit === null ? null : new CommitSource(source, commit, undefined);
  },
  mirrorInfo: (source) => source,
  externalServices: async ({ record }, { first }, context) => {
    context.requireSiteAdmin();
    return paginate([await findService(record, context)], first, undefined);
  },
  changelist: () => null,
  ingestedCodeowners: ({ record }, _, context) =>
    ownerFileSource(context.services.accounts.ownerFiles.get(record.id), context),
  textSearchIndex: (source) => (source.isIndexed ? { repository: source } : null),
  historyIndex: ({ record }, _, { services, viewer }) => {
    const { wanted, isUpToDate, reachableCount, indexedCount, storedBytes, error } = services.historyStatusOf(record);
    return {
      wanted,
      upToDate: isUpToDate,
      commitsCount: reachableCount,
      indexedCommitsCount: indexedCount,
      indexByteSize: String(storedBytes),
      lastError: visibleError(error, viewer) || null,
    };
  },
  leftOut: ({ record: { skippedCounts, warnings = [] } }, _, { viewer }) => ({
    ignoredFilesCount: skippedCounts["ignored"] ?? 0,
    lfsFilesCount: skippedCounts["lfs"] ?? 0,
    submodulesCount: skippedCounts["submodule"] ?? 0,
    // They may contain addresses of remotes.
    warnings: viewer.isSiteAdmin ? warnings : [],
  }),
  defaultBranch: (source) => defaultBranch(source),
  gitRefs: (source, args, context) =>
    refPage(
      source,
      args.type === undefined || args.type === null ? allPrefixes : refPrefixes[args.type],
      args,
      context,
    ),
  branches: (source, args, context) => refPage(source, refPrefixes.GIT_BRANCH, args, context),
  tags: (source, args, context) => refPage(source, refPrefixes.GIT_TAG, args, context),
  comparison: (source, { base, head }, context) => comparison(source, base ?? "HEAD", head ?? "HEAD", context),
  contributors: async (source, args, context) => {
    const range = await revisionRange(source, args.revisionRange ?? "", context);
    const skipped = skipCount(args.after);
    const page = { from: range.from, without: range.without, path: args.path ?? "", after: args.afterDate ?? "" };
    if (range.from.length === 0) return { nodes: [], totalCount: 0, pageInfo: connectionPageInfo(0, 0, false) };
    const countMax = pageLength(args.first ?? args.last);
    const { contributors, totalCount } = await context.git.run({
      kind: "list-contributors",
      repositoryId: source.record.id,
      ...page,
      skipCount: skipped,
      countMax,
    });
    const nodes = contributors.map(({ name, email, commitCount }) => ({
      repository: source,
      name,
      email,
      count: commitCount,
      ...range,
    }));
    return {
      nodes,
      totalCount,
      pageInfo: connectionPageInfo(skipped, nodes.length, skipped + nodes.length < totalCount),
    };
  },
  ...repositoryPermissions,
  ...repositoryIndexes,
  codeIntelligenceCommitGraph: () => ({ stale: false, updatedAt: null }),
  viewerCanAdminister: (_, __, { viewer }) => viewer.isSiteAdmin,
  diskSizeBytes: (source, _, { viewer }) => (viewer.isSiteAdmin ? String(source.record.contentBytes) : null),
};

export const mirrorInfo: ResolversOf<"MirrorRepositoryInfo"> = {
  remoteURL: (source, _, context) => {
    context.requireSiteAdmin();
    return redactUrl(source.record.url);
  },
  cloneProgress: (source, _, { services }) =>
    source.cloneInProgress ? services.activityOf(source.record.id) || null : null,
  isCorrupted: () => false,
  corruptionLogs: () => [],
  updatedAt: (source) => source.record.lastFetched || null,
  lastChanged: (source) => source.record.lastChanged || null,
  nextSyncAt: () => null,
  updateSchedule: () => null,
  updateQueue: () => null,
  lastError: (source, _, { viewer }) => visibleError(source.record.lastError, viewer) || null,
  lastSyncOutput: () => null,
  byteSize: (source) => String(source.record.contentBytes),
  shard: () => null,
};

export const textIndex: ResolversOf<"RepositoryTextSearchIndex"> = {
  status: ({ repository: { record } }, _, { services: { catalog } }) => ({
    updatedAt: record.lastChanged,
    contentByteSize: String(record.contentBytes),
    contentFilesCount: record.documentCount,
    indexByteSize: String(
      catalog.shardsForRepository(record.id).reduce((sum, { record: shard }) => sum + shard.storedBytes, 0),
    ),
    indexShardsCount: catalog.shardsForRepository(record.id).length,
    newLinesCount: 0,
    defaultBranchNewLinesCount: 0,
    otherBranchesNewLinesCount: 0,
  }),
  refs: ({ repository: source }) =>
    source.record.indexedBranches.map(({ name, commit }) => {
      const ref = branchSource(source, name, commit);
      const { "not-decoded": _, ...skippedCounts } = source.record.skippedCounts;
      const count = Object.values(skippedCounts).reduce((sum, skipped) => sum + skipped, 0);
      return { ref, indexed: true, current: true, indexedCommit: ref.target, skippedIndexed: { count, query: "" } };
    }),
  host: () => null,
};

export const contributor: ResolversOf<"RepositoryContributor"> = {
  person: ({ name, email }) => personSource({ name, email }),
  commits: async (source, { first }, context) => {
    const { repository: of, from, without, email } = source;
    // Commits are searched by message, and not by author, so the newest ones are filtered here.
    const commits = await context.git.history(of, {
      ...unfilteredHistory,
      from,
      without,
      author: email,
      countMax: pageLength(first),
    });
    return {
      nodes: commits.map(({ oid }) => new CommitSource(of, oid, undefined)),
      totalCount: source.count,
      pageInfo: { endCursor: null, hasNextPage: commits.length < source.count },
    };
  },
};

function connectionPageInfo(skipped: number, shown: number, hasNextPage: boolean) {
  return {
    ...offsetPageInfo(skipped, shown, hasNextPage),
    startCursor: shown === 0 ? null : String(skipped),
    hasPreviousPage: skipped > 0,
  };
}

/**
 * Null for an empty repository, and before the first fetch. A detached HEAD is indexed under that name, and is not a
 * branch.
 */
function defaultBranch(source: RepositorySource): RefSource | null {
  const { defaultBranch: name, indexedBranches } = source.record;
  const branch = indexedBranches.find((indexed) => indexed.name === name);
  return branch === undefined || name === "HEAD" ? null : branchSource(source, name, branch.commit);
}

function branchSource(source: RepositorySource, name: string, commit: string): RefSource {
  return new RefSource(source, { name: `refs/heads/${name}`, oid: commit, type: "commit", commit, unixSeconds: 0 });
}

async function refPage(
  source: RepositorySource,
  prefixes: readonly string[],
  {
    first,
    query,
    orderBy,
  }: { readonly first?: number | null; readonly query?: string | null; readonly orderBy?: string | null },
  { git }: RequestContext,
) {
  const order = orderBy === "AUTHORED_OR_COMMITTED_AT" ? ("newest" as const) : ("name" as const);
  if (!source.cloned || prefixes.length === 0) return emptyPage;
  const { refs, totalCount } = await git.run({
    kind: "list-refs",
    repositoryId: source.record.id,
    prefixes,
    nameText: query?.toLowerCase() ?? "",
    order,
    skipCount: 0,
    countMax: pageLength(first),
  });
  return {
    nodes: refs.map((ref) => new RefSource(source, ref)),
    totalCount,
    pageInfo: offsetPageInfo(0, refs.length, refs.length < totalCount),
  };
}

/**
 * Parses `A..B`, `A...B` as `A..B`, or one revision; an empty one is HEAD, which does not exist in an empty repository.
 */
async function revisionRange(
  source: RepositorySource,
  text: string,
  context: RequestContext,
): Promise<{ from: string[]; without: string[] }> {
  if (text === "" && (await context.git.resolve(source, "")) === null) return { from: [], without: [] };
  const range = splitRange(text);
  const from = await resolveCommit(source, range?.head ?? text, context);
  const without = range === undefined ? [] : [await resolveCommit(source, range.base, context)];
  return { from: [from.oid], without: without.map(({ oid }) => oid) };
}

async function resolveCommit(
  source: RepositorySource,
  revision: string,
  { git }: RequestContext,
): Promise<CommitSource> {
  const oid = await git.resolve(source, revision);
  if (oid === null) throw new TrawlError("not-found", `revision not found: ${source.name}@${revision}`);
  return new CommitSource(source, oid, revision);
}

/** Compares two revisions; throws `not-found` if one does not exist. */
export async function comparison(
  source: RepositorySource,
  baseText: string,
  headText: string,
  context: RequestContext,
): Promise<ComparisonSource> {
  const [base, head] = await Promise.all([
    resolveCommit(source, baseText, context),
    resolveCommit(source, headText, context),
  ]);
  return { repository: source, baseText, headText, base, head };
}
