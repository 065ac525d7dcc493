import { serializeError, TrawlError } from "../../base/errors.js";
import { visitHistory } from "../../git/history/authors.js";
import { readCodeOwners, readCommitDate } from "../../git/history/commit-attributes.js";
import type { StopSignal } from "../../git/run/run.js";
import { encodePathMasks } from "../../protocol/path-masks.js";
import type {
  CommitAttribute,
  CommitAttributes,
  CommitQuestion,
  ReadCommitAttributes,
} from "../../protocol/read-messages.js";
import { AuthorMasks, authoredPathsMax } from "./author-masks.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { hasFile } from "./has-file.js";

type ContributorFilters = Extract<CommitQuestion, { kind: "contributors" }>["filters"];

/** A request concerns few commits, and each takes a process or two, so all are handled concurrently. */
export async function answerCommitAttributes(
  { question, commits }: ReadCommitAttributes,
  context: ReadContext,
): Promise<CommitAttributes> {
  return {
    attributes: await Promise.all(
      commits.map(async ({ repositoryId, commit }): Promise<CommitAttribute> => {
        try {
          return await answer(question, mirrorPath(context, repositoryId), commit, context);
        } catch (error) {
          if (error instanceof TrawlError && error.code === "cancelled") throw error;
          return { kind: "failed", error: serializeError(error) };
        }
      }),
    ),
  };
}

async function answer(
  question: CommitQuestion,
  directory: string,
  commit: string,
  context: ReadContext,
): Promise<CommitAttribute> {
  const { stop } = context;
  switch (question.kind) {
    case "has-file":
      return { kind: "known", holds: await hasFile(question, directory, commit, context), bytes: undefined };
    case "commit-date":
      return {
        kind: "known",
        holds: true,
        bytes: undefined,
        unixSeconds: await readCommitDate(directory, commit, stop),
      };
    case "code-owners": {
      const file = await readCodeOwners(directory, commit, stop);
      return { kind: "known", holds: file !== null, bytes: file === null ? undefined : new Uint8Array(file.text) };
    }
    case "contributors":
      return {
        kind: "known",
        holds: true,
        bytes: encodePathMasks(await findContributors(question.filters, directory, commit, stop)),
      };
  }
}

/** By path, with one character per byte, the filters that match one of its authors. */
async function findContributors(
  filters: ContributorFilters,
  directory: string,
  commit: string,
  stop: StopSignal,
): Promise<Map<string, number>> {
  const authors = new AuthorMasks(filters);
  const masks = new Map<string, number>();
  let mask = 0;
  await visitHistory(
    directory,
    commit,
    {
      commit: (name, email) => {
        mask = authors.mask(name, email);
        return mask !== 0;
      },
      path: (path) => {
        masks.set(path, (masks.get(path) ?? 0) | mask);
        if (masks.size > authoredPathsMax)
          throw new TrawlError("git", `its history names more than ${authoredPathsMax} paths`);
      },
    },
    stop,
  );
  return masks;
}
