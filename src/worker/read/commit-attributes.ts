import { serializeError, TrawlError } from "../../base/errors.js";
import { visitHistory } from "../../git/history/authors.js";
import { readCodeOwners, readCommitDate } from "../../git/history/commit-attributes.js";
import type { StopSignal } from "../../git/run/run.js";
import { encodePathMasks } from "../../protocol/people-table.js";
import type {
  CommitAttribute,
  CommitAttributes,
  CommitOfRepository,
  CommitQuestion,
  HasFile,
  ReadCommitAttributes,
} from "../../protocol/read-messages.js";
import { authoredPathsMax, AuthorMasks } from "./author-masks.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { contentTree } from "../../git/objects/composed-tree.js";
import { BlobReader } from "../../git/objects/blob-reader.js";
import { fillEntries, readLfsContents } from "../../git/lfs/lfs-contents.js";
import { parsePointer } from "../../git/lfs/pointer.js";
import { fileMode, listTree, type TreeEntry } from "../../git/objects/objects.js";
import { contentLimitsFor, isTooLarge, textToIndex } from "../../indexer/classify.js";
import { ruleFiles } from "../../indexer/index-repository.js";
import { noLfsRule, readCommitRules, readLfsRule } from "../../indexer/rules/commit-rules.js";
import { hasText as isTextual } from "../../model/skip-reason.js";
import { compileRegexp, untilStopped } from "../../regexp/match/matcher.js";

type ContributorFilters = Extract<CommitQuestion, { kind: "contributors" }>["filters"];

/** A request concerns few commits, and each takes a process or two, so all are handled concurrently. */
export async function answerCommitAttributes(
  { question, commits }: ReadCommitAttributes,
  context: ReadContext,
): Promise<CommitAttributes> {
  return {
    attributes: await Promise.all(
      commits.map(async (asked): Promise<CommitAttribute> => {
        try {
          return await answer(question, mirrorPath(context, asked.repositoryId), asked, context);
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
  { commit, lfsTree }: CommitOfRepository,
  context: ReadContext,
): Promise<CommitAttribute> {
  const { stop } = context;
  switch (question.kind) {
    case "has-file":
      return { kind: "known", holds: await hasFile(question, directory, commit, lfsTree, context), bytes: undefined };
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

/** Larger contents are not read, regardless of the limits. */
const contentBytesMax = 256 * 1024 * 1024;

/** `git` is considered hung if it shows no activity for this long. */
const silenceMs = 60_000;

/**
 * Whether the commit has a file that satisfies the condition: for indexed branches the index answers this, with the
 * same rules for what counts as text. All paths are listed; texts are read one after another until one matches.
 */
async function hasFile(
  question: HasFile,
  directory: string,
  commit: string,
  lfsTree: string | undefined,
  context: ReadContext,
): Promise<boolean> {
  const { path, content } = question;
  const matcher = path === "" ? undefined : compileRegexp(path, true);
  const { stop } = context;
  const tree = await contentTree(directory, commit, stop);
  const entries = await listTree(directory, tree, content === "" ? "without-sizes" : "with-sizes", stop);
  const named = matcher === undefined ? entries : entries.filter((entry) => matcher.test(entry.path));
  if (content === "") return named.length > 0;
  const fill = (entry: TreeEntry, oid: string, size: number): TreeEntry => ({ ...entry, oid, size });
  const filled = await fillEntries(directory, lfsTree, named, fill, stop);
  const files = ruleFiles(entries);
  const rules = await readCommitRules(directory, files, stop);
  const contents = lfsTree === undefined ? undefined : await readLfsContents(directory, lfsTree, stop);
  const lfs = contents === undefined ? noLfsRule : await readLfsRule(directory, files, stop);
  const isSearched = ({ path, oid }: TreeEntry): boolean => !rules.at(path).isIgnored && contents?.lacks(oid) !== true;
  return hasText(
    question,
    filled.filter(isSearched),
    directory,
    ({ path }) => lfs.holds(path.toString("latin1")),
    context,
  );
}

async function hasText(
  { content: source, limits }: HasFile,
  entries: readonly TreeEntry[],
  directory: string,
  mayBePointer: (entry: TreeEntry) => boolean,
  context: ReadContext,
): Promise<boolean> {
  const contentLimits = contentLimitsFor(limits);
  const files = entries.filter(
    ({ mode, size, path }) => isFile(mode) && size <= contentBytesMax && !isTooLarge(size, path, contentLimits),
  );
  const reader = new BlobReader({ directory, contentBytesMax, silenceMs, stop: context.stop });
  let isFound = false;
  // No further text is requested after the first match; texts already requested are discarded.
  const oids = function* (): Generator<string> {
    for (const { oid } of files) {
      if (isFound) return;
      yield oid;
    }
  };
  try {
    await reader.read(oids(), (i, outcome) => {
      if (isFound || outcome.kind !== "content") return;
      // A pointer whose contents the mirror has was replaced by them before.
      if (parsePointer(outcome.content) !== undefined && mayBePointer(files[i])) return;
      const { text, skipReason } = textToIndex(outcome.content, files[i].path, contentLimits, context.kernel);
      if (isTextual(skipReason)) isFound = hasMatch(source, text, files[i].path, context);
    });
  } finally {
    reader.close();
  }
  return isFound;
}

/** Throws if that takes too much work, because the result would be a guess. */
function hasMatch(source: string, content: Uint8Array, path: Buffer, context: ReadContext): boolean {
  let isFound = false;
  const isKnown = compileRegexp(source, true).findAll(
    content,
    0,
    {
      push: () => {
        isFound = true;
      },
    },
    untilStopped(context.stop),
    1,
  );
  if (!isKnown)
    throw new TrawlError(
      "bad-query",
      `looking for \`${source}\` in ${path.toString()} takes too much work: use a pattern with shorter matches`,
    );
  return isFound;
}

function isFile(mode: number): boolean {
  return (mode & 0o170000) === (fileMode.regular & 0o170000);
}
