import { assert } from "../../base/assert.js";
import { decodePath } from "../../base/path-text.js";
import { localCommand } from "../objects/objects.js";
import { isOid } from "../objects/refs.js";
import { runGit, type StopSignal } from "../run/run.js";

/** Consecutive changed lines, with context lines. */
export interface HunkData {
  readonly oldStart: number;
  readonly oldCount: number;
  readonly newStart: number;
  readonly newCount: number;
  /** Whether the old file ends here without a line feed. */
  readonly oldNoNewline: boolean;
  readonly section: string;
  /** Lines that begin with a space, plus or minus. */
  readonly body: string;
}

/** The changes in one file. */
export interface FileDiffData {
  /** Null for a new file. */
  readonly oldPath: string | null;
  readonly oldOid: string;
  /** Null for a deleted file. */
  readonly newPath: string | null;
  readonly newOid: string;
  /** Whether it is of another type, for example a symbolic link: its hunks are those of a deletion, then of an addition. */
  readonly isTypeChange: boolean;
  /** None of a file that git considers binary, even if it has changed. */
  readonly hunks: readonly HunkData[];
  readonly addedCount: number;
  readonly deletedCount: number;
}

/** A diff as text, and by file in the same order. */
export interface DiffData {
  readonly files: readonly FileDiffData[];
  readonly patch: string;
}

/** Larger diffs are refused. */
const diffBytesMax = 32 << 20;

const emptyTrees: Readonly<Record<number, string>> = {
  40: "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
  64: "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
};

/** What is compared, and how. */
export interface DiffRequest {
  /** All of `head` is new if there is none. */
  readonly base: string | null;
  readonly head: string;
  /** Empty for all. */
  readonly paths: readonly string[];
  /** Lines that differ only in white space are the same, as in `git diff -w`. */
  readonly ignoreWhitespace: boolean;
}

/**
 * The diff between two commits, with renames detected. Throws `git` if the mirror is damaged or the diff is too large, `cancelled`
 * if stopped.
 */
export async function readDiff(
  directory: string,
  { base, head, paths, ignoreWhitespace }: DiffRequest,
  stop: StopSignal,
): Promise<DiffData> {
  assert(isOid(head) && (base === null || isOid(base)), "commits are compared by oid");
  const { stdout } = await runGit({
    ...localCommand(stop),
    outputBytesMax: diffBytesMax,
    args: [
      `--git-dir=${directory}`,
      "--literal-pathspecs",
      "diff-tree",
      "-r",
      "-z",
      "--raw",
      "--patch",
      "--find-renames",
      "--full-index",
      "--no-abbrev",
      "--no-ext-diff",
      "--no-textconv",
      "--no-color",
      ...(ignoreWhitespace ? ["--ignore-all-space"] : []),
      "--src-prefix=a/",
      "--dst-prefix=b/",
      "--end-of-options",
      base ?? emptyTrees[head.length],
      head,
      "--",
      ...paths,
    ],
    exitCodes: [],
  });
  return parseDiff(stdout);
}

/** Parses the list of changed files, a zero byte, and their patches. */
export function parseDiff(output: Buffer): DiffData {
  const rawEnd = endOfRaw(output);
  const files = parseRaw(decodePath(output.subarray(0, rawEnd)));
  const patch = output.toString("utf8", Math.min(output.length, rawEnd + 1));
  return { files: withHunks(files, patch), patch };
}

type ChangedFile = Omit<FileDiffData, "hunks" | "addedCount" | "deletedCount"> & {
  /** Whether git writes no patch of it if all of its lines are the same for `--ignore-all-space`. */
  readonly mayLackPatch: boolean;
};

/** The raw list ends with an empty record before the first patch. */
function endOfRaw(output: Buffer): number {
  const end = output.indexOf("\0\0diff --git ");
  return end < 0 ? output.length : end + 1;
}

/** Parses `:MODE MODE OID OID STATUS\0PATH\0`, with a second path for a rename. */
function parseRaw(text: string): ChangedFile[] {
  const records = text.split("\0");
  const files: ChangedFile[] = [];
  for (let at = 0; at + 1 < records.length; at += 2) {
    const [oldMode, newMode, oldOid = "", newOid = "", status = ""] = records[at].split(" ");
    const path = records[at + 1];
    const mayLackPatch = status === "M" && oldMode.slice(1) === newMode;
    if (status.startsWith("R") || status.startsWith("C")) {
      files.push({ oldPath: path, oldOid, newPath: records[at + 2], newOid, isTypeChange: false, mayLackPatch });
      at++;
      continue;
    }
    files.push({
      oldPath: status === "A" ? null : path,
      oldOid,
      newPath: status === "D" ? null : path,
      newOid,
      isTypeChange: status === "T",
      mayLackPatch,
    });
  }
  return files;
}

/**
 * Patches and hunks begin with lines that cannot be lines of a hunk, because those begin with a space or a sign. For git, and so here,
 * only a line feed ends a line: a carriage return or U+2028 may be in the middle of one.
 */
const patchStart = /(?<![^\n])(?=diff --git )/;
const hunkStart = /(?<![^\n])(?=@@ )/;
const hunkHeader = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$/s;

function withHunks(files: readonly ChangedFile[], patch: string): FileDiffData[] {
  const patches = patch.split(patchStart);
  let at = patches[0]?.startsWith("diff --git ") ? 0 : 1;
  return files.map(({ mayLackPatch, ...file }) => {
    const isLacking = mayLackPatch && !changesFile(file, patches[at] ?? "");
    const patchCount = isLacking ? 0 : file.isTypeChange ? 2 : 1;
    const hunks = patches.slice(at, at + patchCount).flatMap(parseHunks);
    at += patchCount;
    return { ...file, hunks, addedCount: countLines(hunks, "+"), deletedCount: countLines(hunks, "-") };
  });
}

/** Whether a patch is of a file whose mode and path did not change: then its header says what the file was and became. */
function changesFile({ oldOid, newOid }: Pick<FileDiffData, "oldOid" | "newOid">, patch: string): boolean {
  return patch.split("\n", 2)[1]?.startsWith(`index ${oldOid}..${newOid}`) === true;
}

function parseHunks(patch: string): HunkData[] {
  return patch.split(hunkStart).flatMap((text) => {
    const end = text.indexOf("\n");
    const header = hunkHeader.exec(text.slice(0, end));
    if (header === null) return [];
    const [, oldStart, oldCount = "1", newStart, newCount = "1", section] = header;
    const lines = text.slice(end + 1).split("\n");
    const mark = lines.findIndex((line) => line.startsWith("\\"));
    return [
      {
        oldStart: Number(oldStart),
        oldCount: Number(oldCount),
        newStart: Number(newStart),
        newCount: Number(newCount),
        section,
        oldNoNewline: mark > 0 && !lines[mark - 1].startsWith("+"),
        body: lines.filter((line) => !line.startsWith("\\")).join("\n"),
      },
    ];
  });
}

function countLines(hunks: readonly HunkData[], sign: string): number {
  return hunks.reduce((sum, { body }) => sum + body.split("\n").filter((line) => line.startsWith(sign)).length, 0);
}

/**
 * Line counts of each text file of a commit, by path; files that git considers binary are omitted. Throws like
 * `readDiff`.
 */
export async function countFileLines(
  directory: string,
  commit: string,
  stop: StopSignal,
): Promise<Map<string, number>> {
  assert(isOid(commit), "a tree is read by oid");
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [
      `--git-dir=${directory}`,
      "diff-tree",
      "-r",
      "-z",
      "--numstat",
      "--no-renames",
      "--no-ext-diff",
      "--no-textconv",
      "--end-of-options",
      emptyTrees[commit.length],
      commit,
    ],
    exitCodes: [],
  });
  return new Map(
    decodePath(stdout)
      .split("\0")
      .flatMap((record) => {
        const [added, , path] = record.split("\t");
        return path === undefined || added === "-" ? [] : [[path, Number(added)] as const];
      }),
  );
}
