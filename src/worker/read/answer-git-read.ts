import { Pace } from "../../base/pace.js";
import { escapeHtml } from "../../base/html.js";
import { decodePath, encodePath } from "../../base/path-text.js";
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
import { fillEntries } from "../../git/lfs/lfs-contents.js";
import { contentCommit, contentTree } from "../../git/objects/composed-tree.js";
import { parseSubmodules, submodulesBytesMax, submodulesPath } from "../../git/objects/gitmodules.js";
import { type EntryData, listDirectory, listFileNames, readEntries } from "../../git/objects/directories.js";
import { fileMode, hasStoredCommit, listTree, type TreeEntry } from "../../git/objects/objects.js";
import { countFileLines, readDiff } from "../../git/history/file-diffs.js";
import { findEntries, readLastCommits } from "../../git/history/last-commits.js";
import { listRefs } from "../../git/mirror/read-refs.js";
import type {
  CountLanguages,
  FindOwners,
  FoundOwners,
  GitReadAnswer,
  GitReadKind,
  GitReadRequest,
  ListContributors,
  ListDirectory,
  ListFileNames,
  ListRefs,
  PrintDirectory,
  ReadBlame,
  ReadDiff,
  ReadEntries,
  ReadSubmodules,
} from "../../protocol/git-messages.js";
import { mirrorPath, type ReadContext } from "./context.js";
import { answerReadFiles, blobOptions } from "./files.js";
import { answerFindPrecise, answerFindSymbols } from "./precise-reads.js";
import { answerListOccurrences, answerListSymbols } from "./symbol-reads.js";
import { ignoredCommitsPath, parseIgnoredCommits, readBlame } from "../../git/history/blame.js";
import { readBlobs, readByGit } from "../../git/objects/read-blobs.js";
import { textOfBlob } from "../../indexer/encoding/blob-text.js";
import { BoundedMap } from "../../base/bounded-map.js";
import { CodeOwners } from "../../eval/people/code-owners.js";
import { readCodeOwners } from "../../git/history/commit-attributes.js";
import { readCommitRules } from "../../indexer/rules/commit-rules.js";
import { ruleFiles } from "../../indexer/index-repository.js";
import { detectByPath, detectLanguage } from "../../indexer/detect-language.js";
import { ownReadsMax } from "../../indexer/classify.js";

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
      return { entries: await entriesAt(mirror, request, context) };
    case "list-directory":
      return directoryPage(mirror, request, context);
    case "read-last-commits": {
      const { path, from, timeMs } = request;
      const entries = typeof from === "string" ? await findEntries(mirror, from, path, stop) : from;
      return readLastCommits(mirror, path, entries, timeMs, stop);
    }
    case "print-directory":
      return printedDirectory(mirror, request, context);
    case "list-file-names":
      return { names: await fileNames(mirror, request, context) };
    case "read-files":
      return answerReadFiles(request, context);
    case "list-symbols":
      return answerListSymbols(request, context);
    case "find-precise":
      return answerFindPrecise(request, context);
    case "find-symbols":
      return answerFindSymbols(request, context);
    case "list-occurrences":
      return answerListOccurrences(request, context);
    case "read-diff":
      return diffPage(mirror, request, context);
    case "read-blame":
      return answerBlame(request, context);
    case "count-languages":
      return answerCountLanguages(request, context);
    case "find-content-commit":
      return { commit: await contentCommit(mirror, request.commit, stop) };
    case "find-owners":
      return answerFindOwners(request, context);
    case "read-submodules":
      return answerReadSubmodules(request, context);
  }
}

function fillEntry(entry: EntryData, oid: string, byteCount: number): EntryData {
  return { ...entry, oid, byteCount, isLfs: true };
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
  { prefixes, nameText, order, skipCount, countMax }: ListRefs,
  { stop }: ReadContext,
): Promise<GitReadAnswer<"list-refs">> {
  const refs = (await listRefs(mirror, stop)).filter(({ name }) => {
    const prefix = prefixes.find((start) => name.startsWith(start));
    return prefix !== undefined && name.slice(prefix.length).toLowerCase().includes(nameText);
  });
  if (order === "newest") refs.sort((a, b) => b.unixSeconds - a.unixSeconds);
  return { refs: refs.slice(skipCount, skipCount + countMax), totalCount: refs.length };
}

/**
 * With the contents of submodules and of Git LFS that the mirror has. The root has an oid only if it is not the commit's own: what is
 * there may change without the commit.
 */
async function entriesAt(
  mirror: string,
  { commit, paths, lfsTree }: ReadEntries,
  { stop }: ReadContext,
): Promise<readonly (EntryData | null)[]> {
  const tree = await contentTree(mirror, commit, stop);
  const entries = await readEntries(mirror, tree, paths, stop);
  const found = entries.filter((entry) => entry !== null);
  const filled = await fillEntries(mirror, lfsTree, found, fillEntry, stop);
  const byEntry = new Map(found.map((entry, i) => [entry, filled[i]]));
  const complete = entries.map((entry) => entry && (byEntry.get(entry) ?? entry));
  return tree === commit ? complete : complete.map((entry) => (entry?.path === "" ? { ...entry, oid: tree } : entry));
}

async function fileNames(
  mirror: string,
  { commit, countMax }: ListFileNames,
  { stop }: ReadContext,
): Promise<readonly string[]> {
  return (await listFileNames(mirror, await contentTree(mirror, commit, stop), stop)).slice(0, countMax);
}

async function directoryPage(
  mirror: string,
  request: ListDirectory,
  { stop }: ReadContext,
): Promise<GitReadAnswer<"list-directory">> {
  const { path, recursive, entryKinds, countMax, lfsTree } = request;
  const tree = await contentTree(mirror, request.commit, stop);
  const entries = (await listDirectory(mirror, tree, path, recursive, stop)).filter(
    ({ kind }) => entryKinds.length === 0 || entryKinds.includes(kind),
  );
  // Directories first; within each kind, git's order, which is the byte order of the paths.
  const ordered = recursive
    ? entries
    : [...entries.filter(({ kind }) => kind === "directory"), ...entries.filter(({ kind }) => kind !== "directory")];
  const shown = await fillEntries(mirror, lfsTree, ordered.slice(0, countMax), fillEntry, stop);
  return { entries: shown, totalCount: ordered.length };
}

async function printedDirectory(
  mirror: string,
  { commit, path, recursive, byteCountMax }: PrintDirectory,
  { stop }: ReadContext,
): Promise<GitReadAnswer<"print-directory">> {
  const tree = await contentTree(mirror, commit, stop);
  const prefix = path === "" ? "" : `${path}/`;
  const names = recursive
    ? (await listFileNames(mirror, tree, stop)).filter((name) => name.startsWith(prefix))
    : (await listDirectory(mirror, tree, path, false, stop)).map(
        (entry) => entry.path.slice(prefix.length) + (entry.kind === "directory" ? "/" : ""),
      );
  const lines: string[] = [];
  let length = 0;
  for (const name of names) {
    const line = `${escapeName(name)}\n`;
    // A byte, or more, for each unit.
    length += line.length;
    if (length > byteCountMax) throw tooManyNames(byteCountMax);
    lines.push(line);
  }
  const text = encodePath(lines.join(""));
  if (text.length > byteCountMax) throw tooManyNames(byteCountMax);
  return { text };
}

function tooManyNames(byteCountMax: number): TrawlError {
  return new TrawlError(
    "bad-request",
    `the names in this directory have more than ${byteCountMax} bytes in total; use format=tar`,
  );
}

/** A name in one line of text. */
function escapeName(name: string): string {
  return escapeHtml(name).replaceAll("\n", "&#10;").replaceAll("\r", "&#13;");
}

async function diffPage(mirror: string, request: ReadDiff, { stop }: ReadContext): Promise<GitReadAnswer<"read-diff">> {
  const { files, patch } = await readDiff(mirror, request, stop);
  return {
    files: files.slice(request.skipCount, request.skipCount + request.countMax),
    totalCount: files.length,
    addedCount: files.reduce((sum, { addedCount }) => sum + addedCount, 0),
    deletedCount: files.reduce((sum, { deletedCount }) => sum + deletedCount, 0),
    patch: request.withPatch ? patch : "",
  };
}

/**
 * The origin of each line, and the byte offset in the file at which it begins. The commits that the blamed commit's tree
 * lists as ignored are passed over.
 */
async function answerBlame(
  { repositoryId, blame }: ReadBlame,
  context: ReadContext,
): Promise<GitReadAnswer<"read-blame">> {
  const mirror = mirrorPath(context, repositoryId);
  const ignored = (await withFile(mirror, blame.commit, ignoredCommitsPath, parseIgnoredCommits, context)) ?? [];
  const [hunks, startByte] = await Promise.all([
    readBlame(mirror, blame, ignored, context.stop),
    blame.startLine === 1 ? 0 : byteOfLine(mirror, blame.commit, blame.path, blame.startLine, context),
  ]);
  return { hunks, startByte };
}

async function byteOfLine(
  mirror: string,
  commit: string,
  path: string,
  line: number,
  context: ReadContext,
): Promise<number> {
  return (await withFile(mirror, commit, path, (content) => startOfLine(textOfBlob(content).text, line), context)) ?? 0;
}

function startOfLine(content: Buffer, line: number): number {
  let start = 0;
  for (let feeds = 1; feeds < line; feeds++) start = content.indexOf(lineFeed, start) + 1;
  return start;
}

/** What `use` makes of a file's content; undefined if there is no such file, or if it is too large. */
async function withFile<T>(
  mirror: string,
  commit: string,
  path: string,
  use: (content: Buffer) => T,
  context: ReadContext,
): Promise<T | undefined> {
  const [entry] = await readEntries(mirror, commit, [path], context.stop);
  if (entry === null || entry.kind !== "file") return undefined;
  let result: T | undefined;
  await readBlobs(blobOptions(mirror, context), [entry.oid], (_, outcome) => {
    if (outcome.kind === "content") result = use(outcome.content);
  });
  return result;
}

const lineFeed = 10;

/** Parsed files of commits that this thread keeps, in bytes of their text; rules take a few times as much. */
const keptBytesMax = 4 << 20;

interface ParsedFile {
  /** The path of the file in the repository. */
  readonly path: string;
  readonly rules: CodeOwners;
  readonly byteCount: number;
}

/** By repository and commit. */
const kept = new BoundedMap<string, ParsedFile>(keptBytesMax, ({ byteCount }) => 1024 + byteCount);

const nobody: FoundOwners = { owners: [], file: "", line: 0, pattern: "" };

/** The owners of a file: by the CODEOWNERS file of its commit or, if it has none, by what was set for the repository. */
async function answerFindOwners(
  { repositoryId, commit, path, otherwise }: FindOwners,
  context: ReadContext,
): Promise<FoundOwners> {
  const parsed = await readParsed(repositoryId, commit, context);
  const rule = (parsed?.rules ?? new CodeOwners(otherwise)).findRule(path);
  return rule === undefined ? nobody : { ...rule, file: parsed?.path ?? "" };
}

async function readParsed(repositoryId: number, commit: string, context: ReadContext): Promise<ParsedFile | undefined> {
  const key = `${repositoryId}@${commit}`;
  const known = kept.get(key);
  if (known !== undefined) return known;
  const found = await readCodeOwners(mirrorPath(context, repositoryId), commit, context.stop);
  if (found === null) return undefined;
  const { path, text } = found;
  const parsed = { path, rules: new CodeOwners(text.toString()), byteCount: text.length };
  kept.set(key, parsed);
  return parsed;
}

interface CountedFile {
  readonly path: string;
  readonly oid: string;
  readonly byteCount: number;
}

/**
 * Languages of a commit's files, as `lang:` finds them; the one with the most bytes first. The texts are read of those
 * files whose paths do not decide.
 */
async function answerCountLanguages(
  { repositoryId, lfsTree, commit, withLines }: CountLanguages,
  context: ReadContext,
): Promise<GitReadAnswer<"count-languages">> {
  const mirror = mirrorPath(context, repositoryId);
  const tree = await contentTree(mirror, commit, context.stop);
  const [listed, lines] = await Promise.all([
    listTree(mirror, tree, "with-sizes", context.stop),
    withLines ? countFileLines(mirror, tree, context.stop) : new Map<string, number>(),
  ]);
  const fill = (entry: TreeEntry, oid: string, size: number): TreeEntry => ({ ...entry, oid, size });
  const entries = await fillEntries(mirror, lfsTree, listed, fill, context.stop);
  const counts = new Map<string, { name: string; byteCount: number; lineCount: number }>();
  const add = ({ path, byteCount }: CountedFile, name: string | undefined): void => {
    if (name === undefined) return;
    const count = counts.get(name) ?? { name, byteCount: 0, lineCount: 0 };
    count.byteCount += byteCount;
    count.lineCount += lines.get(path) ?? 0;
    counts.set(name, count);
  };
  const unknown: CountedFile[] = [];
  const rules = await readCommitRules(mirror, ruleFiles(listed), context.stop);
  const pace = new Pace("the counting of languages", context.stop);
  for (const { mode, path, oid, size } of entries) {
    if (pace.isDue) await pace.rest();
    if (mode === fileMode.symlink || mode === fileMode.gitlink) continue;
    // A blob that the mirror lacks has no size.
    const file: CountedFile = { path: decodePath(path), oid, byteCount: Math.max(0, size) };
    const { language, isCertain } = detectByPath(file.path);
    const given = rules.at(path).language;
    if (given !== "") add(file, given);
    else if (isCertain) add(file, language?.name);
    else unknown.push(file);
  }
  await readTexts(mirror, unknown, context, (file, text) => add(file, detectLanguage(file.path, text)?.name));
  return { languages: [...counts.values()].sort((a, b) => b.byteCount - a.byteCount || (a.name < b.name ? -1 : 1)) };
}

/** The text is empty if it is binary or cannot be read. */
async function readTexts(
  mirror: string,
  files: readonly CountedFile[],
  context: ReadContext,
  onText: (file: CountedFile, text: Buffer) => void,
): Promise<void> {
  const read = files.length > ownReadsMax ? readByGit : readBlobs;
  await read(
    blobOptions(mirror, context),
    files.map(({ oid }) => oid),
    (index, outcome) => {
      onText(files[index], outcome.kind === "content" ? textOfBlob(outcome.content).text : noBytes);
    },
  );
}

const noBytes = Buffer.alloc(0);

/** The URLs of submodules according to `.gitmodules`, by path; a file larger than `submodulesBytesMax` is ignored. */
async function answerReadSubmodules(
  { repositoryId, commit }: ReadSubmodules,
  context: ReadContext,
): Promise<GitReadAnswer<"read-submodules">> {
  const mirror = mirrorPath(context, repositoryId);
  const [entry] = await readEntries(mirror, commit, [submodulesPath], context.stop);
  let text = "";
  if (entry?.kind === "file") {
    await readBlobs(
      { ...blobOptions(mirror, context), contentBytesMax: submodulesBytesMax },
      [entry.oid],
      (_, outcome) => {
        if (outcome.kind === "content") text = outcome.content.toString("latin1");
      },
    );
  }
  return { urls: submoduleUrls(text) };
}

/** Both as the repository has them. Empty for a file that git would not read. */
function submoduleUrls(text: string): ReadonlyMap<string, string> {
  const decode = (bytes: string): string => decodePath(Buffer.from(bytes, "latin1"));
  try {
    return new Map(
      [...parseSubmodules(text)].flatMap(([path, { url }]) =>
        url === undefined ? [] : [[decode(path), decode(url)] as const],
      ),
    );
  } catch (error) {
    if (error instanceof TrawlError) return new Map();
    throw error;
  }
}
