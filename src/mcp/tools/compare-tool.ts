import type { FileDiffData } from "../../git/history/file-diffs.js";
import { after, defineTool, integer, readCursor, repo, requiredText } from "../calls/tool.js";
import { givenPath, findCommit, findRepository } from "./file-tools.js";

function fileItem({ oldPath, newPath, addedCount, deletedCount, hunks }: FileDiffData): object {
  return {
    ...(oldPath === newPath ? {} : { oldPath: oldPath === null ? null : givenPath(oldPath) }),
    path: newPath === null ? null : givenPath(newPath),
    added: addedCount,
    deleted: deletedCount,
    hunks: hunks.map(
      ({ oldStart, oldCount, newStart, newCount, body }) =>
        `@@ -${oldStart},${oldCount} +${newStart},${newCount} @@\n${body}`,
    ),
  };
}

export const compareRevisions = defineTool({
  name: "compare_revisions",
  title: "Compare revisions",
  description: "The files that head changed since it left base (base...head), with their changed lines.",
  fields: {
    repo,
    base: requiredText("Branch, tag or commit to compare with."),
    head: requiredText("Branch, tag or commit with the changes."),
    first: integer(1, 100, 50, "Number of files."),
    after,
  },
  run: async (args, context) => {
    const repository = await findRepository(args.repo, context);
    const skipped = readCursor(args.after);
    const [base, head] = await Promise.all([
      findCommit(repository, args.base, context),
      findCommit(repository, args.head, context),
    ]);
    const of = { repositoryId: repository.record.id, head: head.oid };
    const { mergeBase, aheadCount, behindCount } = await context.git.run({
      kind: "compare-commits",
      ...of,
      base: base.oid,
    });
    const { files, totalCount, addedCount, deletedCount } = await context.git.run({
      kind: "read-diff",
      ...of,
      base: mergeBase ?? base.oid,
      paths: [],
      ignoreWhitespace: false,
      skipCount: skipped,
      countMax: args.first,
      withPatch: false,
    });
    const end = skipped + files.length;
    return {
      head: {
        repository: repository.name,
        base: base.oid,
        head: head.oid,
        mergeBase,
        aheadCount,
        behindCount,
        totalCount,
        addedCount,
        deletedCount,
        ...(end < totalCount ? { nextCursor: String(end) } : {}),
      },
      listName: "files",
      items: files.map(fileItem),
      excluded:
        end < totalCount
          ? [
              {
                reason: "limit",
                message: `${totalCount - end} of ${totalCount} files are left out: continue with after`,
              },
            ]
          : [],
    };
  },
});
