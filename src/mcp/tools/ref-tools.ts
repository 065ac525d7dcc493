import { TrawlError } from "../../base/errors.js";
import type { RefData } from "../../git/mirror/read-refs.js";
import { after, defineTool, integer, readCursor, repo, text } from "../calls/tool.js";
import { findRepository } from "./file-tools.js";

const prefixes = { branch: "refs/heads/", tag: "refs/tags/" } as const;

const allPrefixes = Object.values(prefixes);

export const listRefs = defineTool({
  name: "list_refs",
  title: "List branches and tags",
  description: "Branches and tags of a repository with their commits and dates, the newest first.",
  fields: {
    repo,
    query: text("Part of the name, in any case. Without it, all names."),
    type: text('"branch" or "tag". Without it, both.'),
    first: integer(1, 1_000, 100, "Number of branches and tags."),
    after,
  },
  run: async (args, context) => {
    const { record, name, cloned } = await findRepository(args.repo, context);
    if (args.type !== "" && args.type !== "branch" && args.type !== "tag")
      throw new TrawlError(
        "bad-request",
        `type must be "branch" or "tag", not ${JSON.stringify(args.type.slice(0, 60))}`,
      );
    if (!cloned) throw new TrawlError("not-found", `${name} is not cloned yet; try again in a moment`);
    const skipCount = readCursor(args.after);
    const { refs, totalCount } = await context.git.run({
      kind: "list-refs",
      repositoryId: record.id,
      prefixes: args.type === "" ? allPrefixes : [prefixes[args.type]],
      nameText: args.query.toLowerCase(),
      order: "newest",
      skipCount,
      countMax: args.first,
    });
    const end = skipCount + refs.length;
    const hasMore = end < totalCount;
    return {
      head: {
        repository: name,
        defaultBranch: record.defaultBranch,
        totalCount,
        ...(hasMore ? { nextCursor: String(end) } : {}),
      },
      listName: "refs",
      items: refs.map(refItem),
      excluded: hasMore
        ? [
            {
              reason: "limit",
              message: `${totalCount - end} of ${totalCount} branches and tags are left out: continue with after`,
            },
          ]
        : [],
    };
  },
});

function refItem({ name, oid, commit, unixSeconds }: RefData): object {
  const type = name.startsWith(prefixes.tag) ? "tag" : "branch";
  // A commit may have an invalid time.
  const date = new Date(unixSeconds * 1000);
  return {
    name: name.slice(prefixes[type].length),
    type,
    // A tag may name a file or a directory.
    ...(commit === null ? { object: oid } : { commit }),
    ...(unixSeconds === 0 || Number.isNaN(date.getTime()) ? {} : { date: date.toISOString() }),
  };
}
