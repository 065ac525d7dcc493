import { serializeError, TrawlError } from "../../base/errors.js";
import { visitHistory } from "../../git/history/authors.js";
import { readCodeOwners, readCommitDate } from "../../git/history/commit-attributes.js";
import type { StopSignal } from "../../git/run/run.js";
import { compileRegexp } from "../../regexp/match/compile.js";
import { encodePathMasks } from "../../protocol/path-masks.js";
import type {
  CommitAttribute,
  CommitAttributes,
  CommitQuestion,
  ReadCommitAttributes,
} from "../../protocol/read-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { hasFile } from "./has-file.js";

/** Limit on the paths stored for one history. */
const pathCountMax = 2_000_000;

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
  const matchers = filters.map(({ source, foldCase }) => compileRegexp(source, foldCase));
  const maskOfAuthor = new Map<string, number>();
  const masks = new Map<string, number>();
  let mask = 0;
  await visitHistory(
    directory,
    commit,
    {
      commit: (name, email) => {
        const author = `${name}\0${email}`;
        mask =
          maskOfAuthor.get(author) ??
          matchers.reduce(
            (bits, matcher, i) =>
              matcher.test(Buffer.from(name)) || matcher.test(Buffer.from(email)) ? bits | (1 << i) : bits,
            0,
          );
        maskOfAuthor.set(author, mask);
        return mask !== 0;
      },
      path: (path) => {
        masks.set(path, (masks.get(path) ?? 0) | mask);
        if (masks.size > pathCountMax) throw new TrawlError("git", `its history names more than ${pathCountMax} paths`);
      },
    },
    stop,
  );
  return masks;
}
