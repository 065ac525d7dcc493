import { execFileSync } from "node:child_process";
import type { HistoryPlan } from "../../src/query/plan/history-plan.js";
import type { Leaf, TextNode } from "../../src/query/plan/pattern-plan.js";
import { hasMatch, ranges } from "./naive.js";

/** A commit as `git log` shows it. */
export interface NaiveCommit {
  readonly oid: string;
  readonly author: readonly Buffer[];
  readonly committer: readonly Buffer[];
  readonly committedSeconds: number;
  readonly message: Buffer;
  readonly files: readonly NaiveFile[];
}

interface NaiveFile {
  readonly path: Buffer;
  /** The line that begins the file in a result. */
  readonly heading: string;
  readonly lines: readonly NaiveLine[];
}

interface NaiveLine {
  readonly sign: string;
  /** In the new file, or in the old file of a removed line. From 1. */
  readonly number: number;
  readonly text: Buffer;
}

/** All commits that branches reach, in the order of results, from the output of `git log` alone. */
export function naiveHistory(repository: string): NaiveCommit[] {
  const fields = splitZero(log(repository, "-s", "--format=%H%x00%an%x00%ae%x00%cn%x00%ce%x00%ct%x00%B%x00"));
  const files = naiveFiles(repository);
  const commits: NaiveCommit[] = [];
  for (let at = 0; at + 6 < fields.length; at += 7) {
    const oid = fields[at].toString().trim();
    commits.push({
      oid,
      author: [fields[at + 1], fields[at + 2]],
      committer: [fields[at + 3], fields[at + 4]],
      committedSeconds: Number(fields[at + 5].toString()),
      message: Buffer.from(fields[at + 6].toString("latin1").replace(/\n+$/, ""), "latin1"),
      files: files.get(oid) ?? [],
    });
  }
  return commits.sort((a, b) => b.committedSeconds - a.committedSeconds || (a.oid < b.oid ? -1 : 1));
}

function log(repository: string, ...args: string[]): Buffer {
  return execFileSync("git", ["-c", "core.quotePath=true", "log", "--all", "--encoding=UTF-8", "--no-color", ...args], {
    cwd: repository,
    maxBuffer: 1 << 30,
    stdio: ["ignore", "pipe", "pipe"],
  });
}

function splitZero(bytes: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  let from = 0;
  for (let end = bytes.indexOf(0); end >= 0; end = bytes.indexOf(0, from)) {
    parts.push(bytes.subarray(from, end));
    from = end + 1;
  }
  return parts;
}

/** The changed files of each commit: names from the raw list, lines from the patch. */
function naiveFiles(repository: string): Map<string, NaiveFile[]> {
  const names = new Map<string, (readonly [status: string, path: Buffer])[]>();
  const raw = splitZero(log(repository, "-z", "--raw", "--no-renames", "--format=%x01%H"));
  let current: (readonly [string, Buffer])[] = [];
  for (let at = 0; at < raw.length; at++) {
    const text = raw[at].toString("latin1").replace(/^\n/, "");
    if (text.startsWith("\x01")) {
      current = [];
      names.set(text.slice(1).trim(), current);
    } else if (text.startsWith(":")) {
      const status = text.slice(-1);
      const path = raw[++at];
      if (status === "T") current.push(["D", path], ["A", path]);
      else current.push([status, path]);
    }
  }
  const files = new Map<string, NaiveFile[]>();
  const patches = log(repository, "-p", "-U1", "--no-renames", "--format=%x01%H").toString("latin1").split(/^\x01/m);
  for (const patch of patches.slice(1)) {
    const oid = patch.slice(0, patch.indexOf("\n"));
    const sections = patch.split(/^diff --git .*\n/m).slice(1);
    files.set(
      oid,
      (names.get(oid) ?? []).map(([status, path], i) => {
        const name = path.toString().replaceAll(" ", "\\ ").replaceAll("\n", "\\n");
        const heading = `${status === "A" ? "/dev/null" : name} ${status === "D" ? "/dev/null" : name}`;
        return { path, heading, lines: linesOf(sections[i] ?? "") };
      }),
    );
  }
  return files;
}

function linesOf(section: string): NaiveLine[] {
  const lines: NaiveLine[] = [];
  let [oldNumber, newNumber, isInHunk] = [0, 0, false];
  for (const line of section.split("\n")) {
    const header = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (header !== null) {
      [oldNumber, newNumber, isInHunk] = [Number(header[1]), Number(header[2]), true];
      continue;
    }
    const sign = line[0];
    if (!isInHunk || (sign !== "+" && sign !== "-" && sign !== " ")) continue;
    lines.push({ sign, number: sign === "-" ? oldNumber : newNumber, text: Buffer.from(line.slice(1), "latin1") });
    if (sign !== "+") oldNumber++;
    if (sign !== "-") newNumber++;
  }
  return lines;
}

/** More files without a match are not shown. */
const previewFilesMax = 5;

/**
 * The results of a plan, one line each: oid, then the highlighted parts. For diffs that is, for each shown file, its
 * heading, and sign, number, text and range of each match.
 */
export function searchNaively(plan: HistoryPlan, commits: readonly NaiveCommit[]): string[] {
  return commits.flatMap((commit) => {
    if (!passes(plan, commit)) return [];
    const found = plan.kind === "commit" ? findMessage(plan, commit) : findFiles(plan, commit);
    return found === undefined ? [] : [`${commit.oid} ${found.join(" | ")}`];
  });
}

function passes(plan: HistoryPlan, commit: NaiveCommit): boolean {
  const { committedSeconds: date } = commit;
  if (date <= (plan.committedAfter ?? -Infinity) || date >= (plan.committedBefore ?? Infinity)) return false;
  const messagesHold = plan.messages.every(
    ({ leaf, negated }) => leafRanges(leaf, commit.message).length > 0 !== negated,
  );
  return (
    messagesHold &&
    plan.persons.every(
      ({ role, source, foldCase, negated }) =>
        commit[role].some((text) => hasMatch(source, foldCase, text)) !== negated,
    )
  );
}

function passesPath(plan: HistoryPlan, { path }: NaiveFile): boolean {
  return plan.pathFilters.every(({ source, foldCase, negated }) => hasMatch(source, foldCase, path) !== negated);
}

function findMessage(plan: HistoryPlan, { message, files }: NaiveCommit): string[] | undefined {
  if (plan.pathFilters.length > 0 && !files.some((file) => passesPath(plan, file))) return undefined;
  const leaves = evaluate(plan.pattern, (leaf) => leafRanges(plan.leaves[leaf], message).length > 0);
  if (leaves === undefined) return undefined;
  const found = leaves.flatMap((leaf) => leafRanges(plan.leaves[leaf], message));
  return distinct(found).flatMap(([from, to]) => splitLines(message, from, to));
}

function findFiles(plan: HistoryPlan, { files }: NaiveCommit): string[] | undefined {
  let previews = 0;
  const shown = files
    .filter((file) => passesPath(plan, file))
    .flatMap((file) => {
      const changed = file.lines.filter(({ sign }) => sign !== " ");
      const leaves = evaluate(plan.pattern, (leaf) =>
        changed.some(({ text }) => leafRanges(plan.leaves[leaf], text).length > 0),
      );
      if (leaves === undefined) return [];
      const wanted = changed.filter(({ sign }) => plan.onlySign === undefined || sign === plan.onlySign);
      const matches = wanted.flatMap((line) =>
        distinct(leaves.flatMap((leaf) => leafRanges(plan.leaves[leaf], line.text))).map(([from, to]) =>
          showMatch(
            line.sign,
            line.number,
            line.text.toString(),
            1 + points(line.text, 0, from),
            points(line.text, from, to),
          ),
        ),
      );
      if (plan.onlySign !== undefined && (plan.pattern === undefined ? wanted.length : matches.length) === 0) return [];
      return [[file.heading, ...matches]];
    });
  if (shown.length === 0) return undefined;
  return shown.filter((file) => file.length > 1 || ++previews <= previewFilesMax).map((file) => file.join(" "));
}

/** How a match is printed; used for the engine's results too. */
export function showMatch(sign: string, line: number, text: string, character: number, length: number): string {
  return `${sign}${line}:${character}+${length} ${JSON.stringify(text.slice(0, 60))}`;
}

/** The leaves whose matches are reported; undefined if the tree does not hold. */
function evaluate(node: TextNode | undefined, holds: (leaf: number) => boolean): number[] | undefined {
  switch (node?.kind) {
    case undefined:
      return [];
    case "leaf":
      return holds(node.leaf) ? [node.leaf] : undefined;
    case "not":
      return evaluate(node.child, holds) === undefined ? [] : undefined;
    case "and": {
      const all = node.children.map((child) => evaluate(child, holds));
      return all.every((one) => one !== undefined) ? all.flat() : undefined;
    }
    case "or": {
      const some = node.children.flatMap((child) => {
        const one = evaluate(child, holds);
        return one === undefined ? [] : [one];
      });
      return some.length > 0 ? some.flat() : undefined;
    }
  }
}

function leafRanges({ source, either, foldCase }: Leaf, text: Buffer): (readonly [number, number])[] {
  return (either.length > 0 ? either : [source]).flatMap((one) => ranges(one, foldCase, text));
}

function distinct(all: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  return [...new Map(all.map((range) => [range.join("-"), range])).values()].sort((a, b) => a[0] - b[0] || b[1] - a[1]);
}

function points(text: Buffer, from: number, to: number): number {
  return [...text.subarray(from, to).toString()].length;
}

function splitLines(message: Buffer, from: number, to: number): string[] {
  const found: string[] = [];
  let start = 0;
  for (let line = 0; start <= message.length; line++) {
    const newline = message.indexOf(10, start);
    const end = newline < 0 ? message.length : newline;
    const [first, last] = [Math.max(start, from), Math.min(end, to)];
    if (first < last) found.push(`${line}:${points(message, start, first)}+${points(message, first, last)}`);
    start = end + 1;
  }
  return found;
}
