import { encodePath, shownPath } from "../../base/path-text.js";
import { offsetPageInfo, pageLength, skipCount } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import {
  BlobSource,
  CommitSource,
  ObjectSource,
  RevisionSource,
  type ComparisonSource,
  type FileDiffsSource,
  type FileDiffSource,
} from "../../browse/git-sources.js";
import type { ResolversOf } from "./resolver-types.js";
import { historyPage } from "./commit.js";
import { unfilteredHistory } from "../../protocol/git-messages.js";

export const comparison: ResolversOf<"RepositoryComparison"> = {
  baseRepository: ({ repository }) => repository,
  headRepository: ({ repository }) => repository,
  range: (source) => source,
  commits: async ({ repository, base, head }, { first, path }, context) => {
    const countMax = pageLength(first);
    const commits = await context.git.history(repository, {
      ...unfilteredHistory,
      from: [head.oid],
      without: base === undefined ? [] : [base.oid],
      path: path ?? "",
      countMax: countMax + 1,
    });
    return historyPage(head, commits, 0, countMax);
  },
  fileDiffs: async (source, { first, after, paths, ignoreWhitespace }, context) => {
    const skipped = skipCount(after);
    const oldCommit = (await meetingPoint(source, context)) ?? source.base;
    const choice = { paths: paths ?? [], ignoreWhitespace: ignoreWhitespace ?? false };
    const page = await context.git.run({
      ...diffRequest(source, oldCommit, choice),
      skipCount: skipped,
      countMax: pageLength(first),
      withPatch: false,
    });
    const { files, totalCount, addedCount, deletedCount } = page;
    return {
      comparison: source,
      oldCommit,
      ...choice,
      files,
      totalCount,
      addedCount,
      deletedCount,
      pageInfo: offsetPageInfo(skipped, files.length, skipped + files.length < totalCount),
    };
  },
};

export const revisionRange: ResolversOf<"GitRevisionRange"> = {
  expr: ({ baseText, headText }) => `${baseText}...${headText}`,
  base: ({ baseText, base, repository }) =>
    new RevisionSource(baseText, base === undefined ? null : new ObjectSource(repository, base.oid, true, baseText)),
  head: ({ headText, head, repository }) =>
    new RevisionSource(headText, new ObjectSource(repository, head.oid, true, headText)),
  baseRevSpec: ({ baseText, base, repository }) =>
    new RevisionSource(baseText, base === undefined ? null : new ObjectSource(repository, base.oid, true, baseText)),
  headRevSpec: ({ headText, head, repository }) =>
    new RevisionSource(headText, new ObjectSource(repository, head.oid, true, headText)),
  mergeBase: async (source, _, context) => {
    const commit = await meetingPoint(source, context);
    return commit === undefined ? null : new ObjectSource(source.repository, commit.oid, true, undefined);
  },
};

export const fileDiffs: ResolversOf<"FileDiffConnection"> = {
  nodes: ({ files, oldCommit, comparison: { head } }) => files.map((data) => ({ data, oldCommit, newCommit: head })),
  diffStat: ({ addedCount, deletedCount }) => ({ added: addedCount, deleted: deletedCount }),
  rawDiff: async (source, _, { git }) =>
    (
      await git.run({
        ...diffRequest(source.comparison, source.oldCommit, source),
        skipCount: 0,
        countMax: 0,
        withPatch: true,
      })
    ).patch,
};

export const fileDiff: ResolversOf<"FileDiff"> = {
  oldPath: ({ data }) => data.oldPath && shownPath(data.oldPath),
  oldFile: (source) => oldFile(source),
  newPath: ({ data }) => data.newPath && shownPath(data.newPath),
  newFile: (source) => newFile(source),
  mostRelevantFile: (source) =>
    newFile(source) ?? oldFile(source) ?? new BlobSource(source.newCommit, "", undefined, undefined),
  hunks: ({ data }) => data.hunks.map((hunk) => ({ data: hunk, path: data.newPath ?? data.oldPath ?? "" })),
  stat: ({ data }) => ({ added: data.addedCount, deleted: data.deletedCount }),
  internalID: ({ data }) => Buffer.from(encodePath(`${data.oldPath ?? ""}\0${data.newPath ?? ""}`)).toString("base64"),
};

export const fileDiffHunk: ResolversOf<"FileDiffHunk"> = {
  oldRange: ({ data }) => ({ startLine: data.oldStart, lines: data.oldCount }),
  newRange: ({ data }) => ({ startLine: data.newStart, lines: data.newCount }),
  oldNoNewlineAt: ({ data }) => data.oldNoNewline,
  section: ({ data }) => data.section || null,
  body: ({ data }) => data.body,
  highlight: async ({ data, path }, { disableTimeout, highlightLongLines }, { git }) => {
    const lines = data.body.split("\n").filter((line) => line !== "");
    const side = (sign: string) => {
      const text = lines
        .flatMap((line) => (line.startsWith(sign) || line.startsWith(" ") ? [`${line.slice(1)}\n`] : []))
        .join("");
      return git.highlight({ text, path, language: "", longLines: highlightLongLines ?? false }, disableTimeout);
    };
    const [older, newer] = await Promise.all([side("-"), side("+")]);
    return { aborted: older.aborted || newer.aborted, lines: hunkLines(lines, older.lines, newer.lines) };
  },
};

const hunkLineKinds = { "+": "ADDED", "-": "DELETED", " ": "UNCHANGED" } as const;

/** Each line of a hunk, from the side that has it; common lines come from the newer one. */
function hunkLines(lines: readonly string[], older: readonly string[], newer: readonly string[]) {
  let [oldAt, newAt] = [0, 0];
  return lines.flatMap((line) => {
    const kind = hunkLineKinds[line[0] as keyof typeof hunkLineKinds] ?? "UNCHANGED";
    const html = kind === "DELETED" ? older[oldAt] : newer[newAt];
    if (kind !== "ADDED") oldAt++;
    if (kind !== "DELETED") newAt++;
    return [{ kind, html }];
  });
}

/** The merge base; undefined if there is none, or no base was given. */
async function meetingPoint(
  { repository, base, head }: ComparisonSource,
  { git }: RequestContext,
): Promise<CommitSource | undefined> {
  if (base === undefined) return undefined;
  const { mergeBase } = await git.run({
    kind: "compare-commits",
    repositoryId: repository.record.id,
    base: base.oid,
    head: head.oid,
  });
  return mergeBase === null ? undefined : new CommitSource(repository, mergeBase, undefined);
}

function diffRequest(
  { repository, head }: ComparisonSource,
  oldCommit: CommitSource | undefined,
  { paths, ignoreWhitespace }: Pick<FileDiffsSource, "paths" | "ignoreWhitespace">,
) {
  return {
    kind: "read-diff" as const,
    repositoryId: repository.record.id,
    base: oldCommit?.oid ?? null,
    head: head.oid,
    paths,
    ignoreWhitespace,
  };
}

function oldFile({ data, oldCommit }: FileDiffSource): BlobSource | null {
  return data.oldPath === null || oldCommit === undefined
    ? null
    : new BlobSource(oldCommit, data.oldPath, undefined, undefined);
}

function newFile({ data, newCommit }: FileDiffSource): BlobSource | null {
  return data.newPath === null ? null : new BlobSource(newCommit, data.newPath, undefined, undefined);
}
