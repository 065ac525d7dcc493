import { assert } from "../../base/assert.js";
import { decodePath } from "../../base/path-text.js";
import { localCommand } from "../objects/objects.js";
import { isOid } from "../objects/refs.js";
import { runGit, type StopSignal } from "../run/run.js";

/** Consecutive lines from the same commit. Lines are 1-based. */
export interface BlameHunk {
  readonly startLine: number;
  readonly lineCount: number;
  /** Size of its lines, including line feeds. */
  readonly byteCount: number;
  readonly commit: string;
  /** The file's path in that commit. */
  readonly path: string;
  /** The file before that commit; undefined if the commit added it. */
  readonly previous: BlamePrevious | undefined;
}

export interface BlamePrevious {
  readonly commit: string;
  readonly path: string;
}

/** Which lines of which file. Both lines are inclusive. */
export interface BlameRequest {
  readonly commit: string;
  readonly path: string;
  readonly startLine: number;
  readonly endLine: number;
  readonly ignoreWhitespace: boolean;
}

/** The file at the root of a tree that lists commits which blame passes over, such as those that reformat all files. */
export const ignoredCommitsPath = ".git-blame-ignore-revs";

/** Limit on the commits of that file that are passed over. */
const ignoredCommitsMax = 10_000;

/** The oids in a file that lists commits to ignore: one per line, and comments. Other text is skipped. */
export function parseIgnoredCommits(content: Buffer): string[] {
  return [...content.toString("latin1").matchAll(/^[ \t]*([0-9a-f]{40}(?:[0-9a-f]{24})?)(?![0-9a-zA-Z])/gm)]
    .slice(0, ignoredCommitsMax)
    .map(([, oid]) => oid);
}

/**
 * The origin of lines, passing over the `ignored` commits as far as git finds an older origin. Lines past the end of the
 * file are omitted. Throws `git` if there is no such file, `cancelled` if stopped.
 */
export async function readBlame(
  directory: string,
  request: BlameRequest,
  ignored: readonly string[],
  stop: StopSignal,
): Promise<BlameHunk[]> {
  const { commit, path, startLine, endLine, ignoreWhitespace } = request;
  assert(isOid(commit), "a file is read by oid");
  const { stdout, code, stderr } = await runGit({
    ...localCommand(stop),
    args: [
      `--git-dir=${directory}`,
      "blame",
      "--porcelain",
      ...(ignoreWhitespace ? ["-w"] : []),
      ...(ignored.length === 0 ? [] : ["--ignore-revs-file=/dev/stdin"]),
      "-L",
      `${startLine},${endLine}`,
      commit,
      "--",
      path,
    ],
    stdin: ignored.map((oid) => `${oid}\n`).join(""),
    exitCodes: [128],
  });
  // git rejects lines past the end, for which the result is empty.
  if (code !== 0 && /has only \d+ lines?/.test(stderr)) return [];
  return parseBlame(stdout);
}

/** Parses a header per line, the attributes of a commit at its first line, then the line itself after a tab. */
export function parseBlame(output: Buffer): BlameHunk[] {
  const hunks: BlameHunk[] = [];
  const fileOf = new Map<string, Pick<BlameHunk, "path" | "previous">>();
  let open: { -readonly [Key in keyof BlameHunk]: BlameHunk[Key] } | undefined;
  let commit = "";
  let previous: BlamePrevious | undefined;
  let line = 0;
  for (let start = 0; start < output.length; ) {
    const feed = output.indexOf(lineFeed, start);
    const end = feed < 0 ? output.length : feed;
    if (output[start] === tab) {
      const file = fileOf.get(commit) ?? { path: "", previous: undefined };
      if (open === undefined || open.commit !== commit || open.path !== file.path) {
        open = { startLine: line, lineCount: 0, byteCount: 0, commit, ...file };
        hunks.push(open);
      }
      open.lineCount++;
      open.byteCount += end - start;
    } else {
      const {
        oid,
        line: number,
        before,
        oldPath,
        path,
      } = headerPattern.exec(output.toString("utf8", start, end))?.groups ?? {};
      if (oid !== undefined) {
        commit = oid;
        line = Number(number);
        previous = undefined;
      } else if (before !== undefined) previous = { commit: before, path: unquotePath(oldPath) };
      else if (path !== undefined) fileOf.set(commit, { path: unquotePath(path), previous });
    }
    start = end + 1;
  }
  return hunks;
}

/** A path as git prints it: in quotes, with escape sequences, if it has bytes other than printable ASCII, or quotes. */
export function unquotePath(text: string): string {
  if (!text.startsWith('"')) return text;
  const bytes: number[] = [];
  for (const [, octal, letter, plain] of text.slice(1, -1).matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8));
    else bytes.push(...Buffer.from(plain ?? escapes.get(letter) ?? letter));
  }
  return decodePath(Uint8Array.from(bytes));
}

const escapes = new Map([
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
]);

const headerPattern =
  /^(?:(?<oid>[0-9a-f]{40,64}) \d+ (?<line>\d+)|previous (?<before>[0-9a-f]{40,64}) (?<oldPath>.*)|filename (?<path>.*))/;
const lineFeed = 10;
const tab = 9;
