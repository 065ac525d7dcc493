import { TrawlError } from "../../base/errors.js";
import { escapeUrlPath, isForeignPath, unescapeUrlPath } from "../../base/path-text.js";
import type { EntryData } from "../../git/objects/directories.js";
import { resultWhileYielding } from "../../base/yielding.js";
import { BlobSource, CommitSource } from "../../browse/git-sources.js";
import type { RequestContext } from "../../browse/request-context.js";
import { defineTool, type Exclusion, integer, repo, requiredText, revision, text } from "../calls/tool.js";
import { type RepositorySource, toRepositorySource } from "../../browse/repository-source.js";

/** Of a larger file only the first lines are returned, unless lines are asked for. */
const wholeFileBytesMax = 128 << 10;
const firstLineCount = 200;

/** Lines encoded in one step. */
const linesOfStep = 200;

const linesMax = 1_000_000_000;
const listedEntriesMax = 1_000;

/** Kept for everything but the text, and how much longer a text may become as a JSON string. */
const frameBytes = 700;

export const readFile = defineTool({
  name: "read_file",
  title: "Read a file",
  description: `Text of a file, or of some of its lines. Of files of more than ${wholeFileBytesMax >> 10} KiB the first ${firstLineCount} lines, unless startLine or endLine is given.`,
  fields: {
    repo,
    path: requiredText("Path of the file from the root of the repository."),
    startLine: integer(1, linesMax, undefined, "First line, counted from 1."),
    endLine: integer(1, linesMax, undefined, "Last line, inclusive."),
    revision,
  },
  run: async (args, context, maxBytes) => {
    const path = plainPath(args.path);
    const commit = await findCommit(await findRepository(args.repo, context), args.revision, context);
    const entry = await requireFile(commit, path, context);
    const { startLine = 1 } = args;
    if (args.endLine !== undefined && args.endLine < startLine)
      throw new TrawlError("bad-request", `endLine ${args.endLine} is before startLine ${startLine}`);
    const isLarge = args.startLine === undefined && args.endLine === undefined && entry.byteCount > wholeFileBytesMax;
    const endLine = isLarge ? firstLineCount : args.endLine;
    const blob = new BlobSource(commit, entry.path, entry, undefined);
    const file = await context.git.file(blob, { kind: "text" }, startLine, endLine);
    const { lines, excluded } = await resultWhileYielding(
      fittingLinesInSteps(file.text, startLine, maxBytes - frameBytes - args.repo.length - path.length),
    );
    const lastLine = startLine + lines.length - 1;
    if (isLarge && lastLine < file.lineCount && excluded.length === 0)
      excluded.push({
        reason: "limit",
        message: `lines ${lastLine + 1} to ${file.lineCount} are left out, because the file has ${entry.byteCount} bytes: give startLine and endLine`,
      });
    return {
      head: {
        repository: args.repo,
        path,
        commit: commit.oid,
        byteCount: file.byteCount,
        lineCount: file.lineCount,
        ...(file.language === "" ? {} : { language: file.language }),
        ...(file.isBinary ? { isBinary: true } : { startLine, endLine: lastLine, content: lines.join("\n") }),
      },
      excluded: file.isBinary ? [{ reason: "binary", message: "the file is not text" }] : excluded,
    };
  },
});

/** The first lines whose JSON fits, and what does not. */
function* fittingLinesInSteps(
  content: string,
  startLine: number,
  maxBytes: number,
): Generator<void, { lines: string[]; excluded: Exclusion[] }> {
  const lines: string[] = [];
  const excluded: Exclusion[] = [];
  let [room, at] = [maxBytes, 0];
  while (at < content.length) {
    const end = content.indexOf("\n", at);
    const line = content.slice(at, end < 0 ? content.length : end);
    // A long line is not worth encoding: it does not fit in any case.
    room -= line.length > room ? line.length : Buffer.byteLength(JSON.stringify(line));
    if (room < 0) {
      excluded.push({
        reason: "max_bytes",
        message: `lines from ${startLine + lines.length} on are left out, because the answer would be too long: continue with startLine, or raise max_bytes`,
      });
      break;
    }
    lines.push(line);
    if (lines.length % linesOfStep === 0) yield;
    at = end < 0 ? content.length : end + 1;
  }
  return { lines, excluded };
}

/** The file at a path, as `findEntry` finds it. Throws `not-found`, and `bad-request` for what is no file. */
export async function requireFile(commit: CommitSource, path: string, context: RequestContext): Promise<EntryData> {
  const entry = await findEntry(commit, path, context);
  if (entry === null)
    throw new TrawlError(
      "not-found",
      `there is no file ${JSON.stringify(path)} in ${commit.repository.name} at ${commit.oid}${path.includes("\ufffd") ? "; if its name is not UTF-8, give the escapedPath of a result or the name that list_files returns" : ""}`,
    );
  if (entry.kind === "file") return entry;
  throw new TrawlError("bad-request", `${JSON.stringify(path)} is a ${entry.kind}, not a file`);
}

/**
 * The entry at a path, which may be the `escapedPath` of a result or a name that `list_files` lists: what is not UTF-8 has
 * no other text. Where the text is itself the name of an entry, it is that one. Null if there is none.
 */
async function findEntry(commit: CommitSource, path: string, { git }: RequestContext): Promise<EntryData | null> {
  const entry = await git.entry(commit, path);
  if (entry !== null || !path.includes("%")) return entry;
  const unescaped = unescapeUrlPath(path);
  return unescaped === undefined || !isForeignPath(unescaped) ? null : git.entry(commit, unescaped);
}

/** The path as a tool accepts it: one that is not UTF-8 as a URL has it. */
export function givenPath(path: string): string {
  return isForeignPath(path) ? escapeUrlPath(path) : path;
}

export const listFiles = defineTool({
  name: "list_files",
  title: "List files",
  description: `Files and directories in a directory, directories with a slash at the end; at most ${listedEntriesMax}. Names that are not UTF-8 are percent-encoded, and read_file accepts them so.`,
  fields: {
    repo,
    path: text("Path of the directory. Without it, the root of the repository."),
    revision,
  },
  run: async (args, context) => {
    const path = plainPath(args.path);
    const repository = await findRepository(args.repo, context);
    const commit = await findCommit(repository, args.revision, context);
    const entry = await findEntry(commit, path, context);
    if (entry?.kind !== "directory")
      throw new TrawlError(
        "not-found",
        `there is no directory ${JSON.stringify(path)} in ${repository.name} at ${commit.oid}`,
      );
    const { entries, totalCount } = await context.git.run({
      kind: "list-directory",
      repositoryId: repository.record.id,
      lfsTree: repository.record.lfsTree,
      commit: commit.oid,
      path: entry.path,
      recursive: false,
      entryKinds: [],
      countMax: listedEntriesMax,
    });
    return {
      head: { repository: repository.name, path, commit: commit.oid, totalCount },
      listName: "files",
      items: entries.map(({ path: of, kind }) => givenPath(kind === "directory" ? `${of}/` : of)),
      excluded: atMost(entries.length, totalCount, "entries"),
    };
  },
});

/** The rest of a list of which only the first items are returned. */
export function atMost(shown: number, total: number, what: string): Exclusion[] {
  return shown >= total
    ? []
    : [{ reason: "limit", message: `${total - shown} of ${total} ${what} are left out: ask for fewer at a time` }];
}

/** The repository with this name. Throws `not-found`, also if the viewer may not see it. */
export async function findRepository(name: string, context: RequestContext): Promise<RepositorySource> {
  const record = await context.findRepository(name);
  if (record !== undefined) return toRepositorySource(record);
  throw new TrawlError(
    "not-found",
    `there is no repository ${JSON.stringify(name)}; list_repos lists those that you can read`,
  );
}

/** The commit of a revision, "" for the default branch. Throws `not-found`. */
export async function findCommit(
  repository: RepositorySource,
  revision: string,
  { git }: RequestContext,
): Promise<CommitSource> {
  const oid = await git.resolve(repository, revision);
  if (oid !== null) return new CommitSource(repository, oid, revision);
  if (!repository.cloned)
    throw new TrawlError("not-found", `${repository.name} is not cloned yet; try again in a moment`);
  throw new TrawlError(
    "not-found",
    revision === ""
      ? `${repository.name} has no commits`
      : `${repository.name} has no branch, tag or commit ${JSON.stringify(revision)}`,
  );
}

/** Without slashes at its ends, where assistants like to write them. */
export function plainPath(path: string): string {
  let [from, to] = [0, path.length];
  while (from < to && path[from] === "/") from++;
  while (to > from && path[to - 1] === "/") to--;
  const plain = path.slice(from, to);
  return plain === "." ? "" : plain;
}
