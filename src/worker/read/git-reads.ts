import { escapeHtml } from "../../base/html.js";
import { encodePath } from "../../base/path-text.js";
import { TrawlError } from "../../base/errors.js";
import {
  countDifference,
  firstCommit,
  listContributors,
  mergeBase,
  readCommits,
  readHistory,
  readHistoryOids,
} from "../../git/history/commits.js";
import { listDirectory, listFileNames, readEntries } from "../../git/objects/directories.js";
import { hasStoredCommit } from "../../git/objects/objects.js";
import { readDiff } from "../../git/history/file-diffs.js";
import { listRefs } from "../../git/mirror/read-refs.js";
import type {
  GitReadAnswer,
  GitReadKind,
  GitReadRequest,
  ListContributors,
  ListDirectory,
  ListRefs,
  PrintDirectory,
  ReadDiff,
} from "../../protocol/git-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { answerBlame } from "./blame.js";
import { answerFindOwners } from "./find-owners.js";
import { answerReadFiles } from "./files.js";
import { answerListOccurrences } from "./list-occurrences.js";
import { answerListSymbols } from "./list-symbols.js";
import { answerCountLanguages } from "./languages.js";
import { answerReadSubmodules } from "./submodules.js";

/** Handles GraphQL requests that read a mirror. */
export async function answerGitRead(
  request: GitReadRequest,
  context: ReadContext,
): Promise<GitReadAnswer<GitReadKind>> {
  const mirror = mirrorPath(context, request.repositoryId);
  const { stop } = context;
  switch (request.kind) {
    case "read-commits":
      return { commits: await readCommits(mirror, request.oids, stop) };
    case "has-commit":
      return { isStored: hasStoredCommit(mirror, request.oid, stop) };
    case "list-history":
      return { commits: await readHistory(mirror, request.history, stop) };
    case "list-history-oids":
      return { oids: await readHistoryOids(mirror, request.history, stop) };
    case "find-first-commit":
      return { commit: await firstCommit(mirror, request.commit, stop) };
    case "list-contributors":
      return contributorsPage(mirror, request, context);
    case "compare-commits": {
      const [base, counts] = await Promise.all([
        mergeBase(mirror, request.base, request.head, stop),
        countDifference(mirror, request.base, request.head, stop),
      ]);
      return { mergeBase: base, aheadCount: counts.onlyOther, behindCount: counts.onlyOne };
    }
    case "list-refs":
      return refsPage(mirror, request, context);
    case "read-entries":
      return { entries: await readEntries(mirror, request.commit, request.paths, stop) };
    case "list-directory":
      return directoryPage(mirror, request, context);
    case "print-directory":
      return printedDirectory(mirror, request, context);
    case "list-file-names":
      return { names: (await listFileNames(mirror, request.commit, stop)).slice(0, request.countMax) };
    case "read-files":
      return answerReadFiles(request, context);
    case "list-symbols":
      return answerListSymbols(request, context);
    case "list-occurrences":
      return answerListOccurrences(request, context);
    case "read-diff":
      return diffPage(mirror, request, context);
    case "read-blame":
      return answerBlame(request, context);
    case "count-languages":
      return answerCountLanguages(request, context);
    case "find-owners":
      return answerFindOwners(request, context);
    case "read-submodules":
      return answerReadSubmodules(request, context);
  }
}

async function contributorsPage(
  mirror: string,
  request: ListContributors,
  { stop }: ReadContext,
): Promise<GitReadAnswer<"list-contributors">> {
  const contributors = await listContributors(mirror, request, stop);
  return {
    contributors: contributors.slice(request.skipCount, request.skipCount + request.countMax),
    totalCount: contributors.length,
  };
}

async function refsPage(
  mirror: string,
  { prefixes, nameText, order, countMax }: ListRefs,
  { stop }: ReadContext,
): Promise<GitReadAnswer<"list-refs">> {
  const refs = (await listRefs(mirror, stop)).filter(({ name }) => {
    const prefix = prefixes.find((start) => name.startsWith(start));
    return prefix !== undefined && name.slice(prefix.length).toLowerCase().includes(nameText);
  });
  if (order === "newest") refs.sort((a, b) => b.unixSeconds - a.unixSeconds);
  return { refs: refs.slice(0, countMax), totalCount: refs.length };
}

async function directoryPage(
  mirror: string,
  request: ListDirectory,
  { stop }: ReadContext,
): Promise<GitReadAnswer<"list-directory">> {
  const { commit, path, recursive, entryKinds, countMax } = request;
  const entries = (await listDirectory(mirror, commit, path, recursive, stop)).filter(
    ({ kind }) => entryKinds.length === 0 || entryKinds.includes(kind),
  );
  // Directories first; within each kind, git's order, which is the byte order of the paths.
  const ordered = recursive
    ? entries
    : [...entries.filter(({ kind }) => kind === "directory"), ...entries.filter(({ kind }) => kind !== "directory")];
  return { entries: ordered.slice(0, countMax), totalCount: ordered.length };
}

async function printedDirectory(
  mirror: string,
  { commit, path, byteCountMax }: PrintDirectory,
  { stop }: ReadContext,
): Promise<GitReadAnswer<"print-directory">> {
  const entries = await listDirectory(mirror, commit, path, false, stop);
  const prefixLength = path === "" ? 0 : path.length + 1;
  const lines = entries.map(
    (entry) => `${escapeName(entry.path.slice(prefixLength))}${entry.kind === "directory" ? "/" : ""}\n`,
  );
  const text = encodePath(lines.join(""));
  if (text.length <= byteCountMax) return { text };
  throw new TrawlError(
    "bad-request",
    `the names in this directory have ${text.length} bytes in total, more than ${byteCountMax}; use format=tar`,
  );
}

/** A name in one line of text. */
function escapeName(name: string): string {
  return escapeHtml(name).replaceAll("\n", "&#10;").replaceAll("\r", "&#13;");
}

async function diffPage(mirror: string, request: ReadDiff, { stop }: ReadContext): Promise<GitReadAnswer<"read-diff">> {
  const { files, patch } = await readDiff(mirror, request.base, request.head, request.paths, stop);
  return {
    files: files.slice(request.skipCount, request.skipCount + request.countMax),
    totalCount: files.length,
    addedCount: files.reduce((sum, { addedCount }) => sum + addedCount, 0),
    deletedCount: files.reduce((sum, { deletedCount }) => sum + deletedCount, 0),
    patch: request.withPatch ? patch : "",
  };
}
