import { TrawlError } from "../../base/errors.js";
import { shownPath } from "../../base/path-text.js";
import { offsetPageInfo, pageLength, skipCount } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { CommitData } from "../../git/history/commits.js";
import {
  BlobSource,
  CommitSource,
  entrySource,
  signatureSource,
  commitSubject,
  TreeSource,
} from "../../browse/git-sources.js";
import type { ResolversOf } from "./resolver-types.js";
import { comparison } from "./repository.js";
import { symbolsBelow } from "./symbols.js";

/** Limit on the listed paths of one commit. Linux has 78,635, which take 4 ms of the main thread to receive. */
const fileNamesMax = 200_000;

export const commit: ResolversOf<"GitCommit"> = {
  author: async (source, _, { git }) => signatureSource((await git.commitData(source)).author),
  committer: async (source, _, { git }) => signatureSource((await git.commitData(source)).committer),
  message: async (source, _, { git }) => (await git.commitData(source)).message,
  subject: async (source, _, { git }) => commitSubject((await git.commitData(source)).message),
  body: async (source, _, { git }) => commitBody((await git.commitData(source)).message),
  parents: async (source, _, { git }) =>
    (await git.commitData(source)).parents.map((oid) => new CommitSource(source.repository, oid, undefined)),
  path: (source, { path }, context) => entryAt(source, path ?? "", context),
  tree: async (source, { path }, context) => {
    const entry = await entryAt(source, path ?? "", context);
    if (entry instanceof BlobSource) throw new TrawlError("bad-request", `not a directory: ${JSON.stringify(path)}`);
    return entry;
  },
  fileNames: async ({ repository, oid }, _, { git }) => {
    const { names } = await git.run({
      kind: "list-file-names",
      repositoryId: repository.record.id,
      commit: oid,
      countMax: fileNamesMax,
    });
    return names.map(shownPath);
  },
  blob: (source, { path }, context) => fileAt(source, path, context),
  file: (source, { path }, context) => fileAt(source, path, context),
  languages: async (source, _, context) => (await countLanguages(source, false, context)).map(({ name }) => name),
  languageStatistics: (source, _, context) => countLanguages(source, true, context),
  ancestors: async (source, args, context) => {
    const { repository, oid } = source;
    const skipped = skipCount(args.afterCursor);
    const countMax = pageLength(args.first);
    const path = normalisePath(args.path ?? "");
    // A path outside the tree has no history.
    if (path === undefined) return historyPage(source, [], 0, countMax);
    const history = {
      from: [oid],
      without: [],
      messageText: args.query ?? "",
      author: "",
      path: await context.git.exactPath(source, path),
      follow: args.follow ?? false,
      after: args.after ?? "",
      before: args.before ?? "",
      skipCount: skipped,
      countMax: countMax + 1,
    };
    const commits = await context.git.history(repository, history);
    return historyPage(source, commits, skipped, countMax);
  },
  behindAhead: async (source, { revspec }, { git }) => {
    const base = await git.resolve(source.repository, revspec);
    if (base === null) throw new TrawlError("not-found", `revision not found: ${source.repository.name}@${revspec}`);
    const counts = await git.run({
      kind: "compare-commits",
      repositoryId: source.repository.record.id,
      base,
      head: source.oid,
    });
    return { behind: counts.behindCount, ahead: counts.aheadCount };
  },
  symbols: (source, page, context) => symbolsBelow(source, "", page, context),
  diff: async (source, { base }, context) => {
    if (base !== undefined && base !== null) return comparison(source.repository, base, source.oid, context);
    const {
      parents: [parent],
    } = await context.git.commitData(source);
    const baseCommit = parent === undefined ? undefined : new CommitSource(source.repository, parent, undefined);
    return {
      repository: source.repository,
      baseText: `${source.oid}~`,
      headText: source.oid,
      base: baseCommit,
      head: source,
    };
  },
};

/** A page of commits, for which one more than fits was requested. The count is known if the first page contains all. */
export function historyPage(source: CommitSource, commits: readonly CommitData[], skipped: number, countMax: number) {
  const nodes = commits.slice(0, countMax).map(({ oid }) => new CommitSource(source.repository, oid, undefined));
  const hasMore = commits.length > countMax;
  return {
    nodes,
    totalCount: hasMore ? null : skipped + nodes.length,
    pageInfo: offsetPageInfo(skipped, nodes.length, hasMore),
  };
}

function commitBody(message: string): string | null {
  const end = message.indexOf("\n");
  return end < 0 ? null : message.slice(end).trim() || null;
}

/** Without leading and trailing slashes, `.` for the root; undefined for a path that leads out of the tree. */
function normalisePath(path: string): string | undefined {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return parts.includes("..") || path.includes("\0") ? undefined : parts.join("/");
}

async function entryAt(
  source: CommitSource,
  path: string,
  { git }: RequestContext,
): Promise<TreeSource | BlobSource | null> {
  const normal = normalisePath(path);
  if (normal === undefined) return null;
  if (normal === "") return new TreeSource(source, "", undefined);
  const entry = await git.entry(source, normal);
  return entry === null ? null : entrySource(source, entry, undefined);
}

async function fileAt(source: CommitSource, path: string, context: RequestContext): Promise<BlobSource | null> {
  const entry = await entryAt(source, path, context);
  if (entry instanceof TreeSource) throw new TrawlError("bad-request", `not a blob: ${JSON.stringify(path)}`);
  return entry;
}

async function countLanguages({ repository, oid }: CommitSource, withLines: boolean, { git }: RequestContext) {
  const { languages } = await git.run({
    kind: "count-languages",
    repositoryId: repository.record.id,
    lfsTree: repository.record.lfsTree,
    commit: oid,
    withLines,
  });
  return languages.map(({ name, byteCount, lineCount }) => ({ name, totalBytes: byteCount, totalLines: lineCount }));
}
