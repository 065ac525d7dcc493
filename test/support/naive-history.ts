import { spawn, spawnSync } from "node:child_process";
import RE2 from "re2";
import { lazy } from "../../src/base/lazy.js";
import { usualPatchLimits } from "../../src/git/history/patches.js";
import { detectByPath, detectLanguage } from "../../src/indexer/detect-language.js";
import type { HistoryPlan, Leaf, TextNode } from "../../src/query/plan/plan.js";
import { reportedRanges, withoutReturns } from "./naive.js";

/** A commit as `git log` shows it. */
export interface NaiveCommit {
  readonly oid: string;
  readonly author: readonly Buffer[];
  readonly committer: readonly Buffer[];
  readonly committedSeconds: number;
  readonly message: Buffer;
  readonly files: readonly NaiveFile[];
}

export interface NaiveFile {
  readonly path: Buffer;
  /** Of its text after the change, or before it if the file was removed. */
  readonly language: () => string;
  /** The line that begins the file in a result. */
  readonly heading: string;
  readonly lines: readonly NaiveLine[];
}

/** An added or a removed line. */
interface NaiveLine {
  readonly sign: "+" | "-";
  /** In the new file, or in the old file of a removed line. From 1. */
  readonly number: number;
  readonly text: Buffer;
}

/**
 * All commits that the revisions reach, in the order of results, from the output of `git log` alone, which is read as it
 * arrives. Without revisions, those that any ref reaches.
 */
export async function naiveHistory(
  repository: string,
  revisions: readonly string[] = ["--all"],
): Promise<NaiveCommit[]> {
  const texts = new Texts();
  const names = await readNames(repository, revisions, texts);
  const files = await readFiles(repository, revisions, names, texts);
  const fields: string[] = [];
  const format = "--format=%H%x00%an%x00%ae%x00%cn%x00%ce%x00%ct%x00%B%x00";
  for await (const field of log(repository, "\0", ["-s", format, ...revisions])) fields.push(field);
  const commits: NaiveCommit[] = [];
  for (let at = 0; at + 6 < fields.length; at += 7) {
    const oid = fields[at].trim();
    commits.push({
      oid,
      author: [texts.get(fields[at + 1]), texts.get(fields[at + 2])],
      committer: [texts.get(fields[at + 3]), texts.get(fields[at + 4])],
      committedSeconds: Number(fields[at + 5]),
      message: Buffer.from(fields[at + 6].replace(/\n+$/, ""), "latin1"),
      files: files.get(oid) ?? [],
    });
  }
  return commits.sort((a, b) => b.committedSeconds - a.committedSeconds || (a.oid < b.oid ? -1 : 1));
}

/** Equal texts are one buffer, so that the matches of a pattern are found once. */
class Texts {
  readonly #known = new Map<string, Buffer>();

  /** One character per byte. */
  get(text: string): Buffer {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    // A slice of a large text would keep that text.
    const bytes = Buffer.from(text, "latin1");
    this.#known.set(bytes.toString("latin1"), bytes);
    return bytes;
  }
}

/** The parts of the output, with one character per byte, between separators. */
async function* log(repository: string, separator: string, args: readonly string[]): AsyncGenerator<string, void> {
  const fixed = ["-c", "core.quotePath=true", "--no-replace-objects", "log", "--encoding=UTF-8", "--no-color"];
  const child = spawn("git", [...fixed, ...args], { cwd: repository, stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  let rest = "";
  for await (const chunk of child.stdout) {
    const parts = (rest + (chunk as Buffer).toString("latin1")).split(separator);
    rest = parts.pop() ?? "";
    yield* parts;
  }
  if (rest !== "") yield rest;
  const code = await ended;
  if (code !== 0) throw new RangeError(`git log in ${repository} ended with ${code}`);
}

type ChangedNames = ReadonlyMap<string, readonly (readonly [status: string, path: Buffer])[]>;

/** The changed paths of each commit, from the raw list. */
async function readNames(repository: string, revisions: readonly string[], texts: Texts): Promise<ChangedNames> {
  const names = new Map<string, (readonly [string, Buffer])[]>();
  let current: (readonly [string, Buffer])[] = [];
  let status = "";
  for await (const part of log(repository, "\0", ["-z", "--raw", "--no-renames", "--format=%x01%H", ...revisions])) {
    const text = part.replace(/^\n/, "");
    if (status !== "") {
      const path = texts.get(part);
      if (status === "T") current.push(["D", path], ["A", path]);
      else current.push([status, path]);
      status = "";
    } else if (text.startsWith("\x01")) {
      current = [];
      names.set(text.slice(1).trim(), current);
    } else if (text.startsWith(":")) status = text.slice(-1);
  }
  return names;
}

/** The changed files of each commit: lines from the patch. */
async function readFiles(
  repository: string,
  revisions: readonly string[],
  names: ChangedNames,
  texts: Texts,
): Promise<Map<string, NaiveFile[]>> {
  const files = new Map<string, NaiveFile[]>();
  let oid = "";
  let section: SectionLines | undefined;
  const endSection = (): void => {
    const current = files.get(oid) ?? [];
    files.set(oid, current);
    const named = names.get(oid)?.[current.length];
    if (section === undefined || named === undefined) return;
    const [status, path] = named;
    const name = path.toString().replaceAll(" ", "\\ ").replaceAll("\n", "\\n");
    const heading = `${status === "A" ? "/dev/null" : name} ${status === "D" ? "/dev/null" : name}`;
    const revision = status === "D" ? `${oid}^` : oid;
    const language = lazy(() => languageAt(repository, revision, path));
    current.push({ path, language, heading, lines: section.lines });
    section = undefined;
  };
  const args = ["-p", "-U1", "--no-renames", "--no-ext-diff", "--no-textconv", "--format=%x01%H", ...revisions];
  for await (const line of log(repository, "\n", args)) {
    if (line.startsWith("\x01")) {
      if (oid !== "") endSection();
      oid = line.slice(1);
    } else if (line.startsWith("diff --git ")) {
      endSection();
      section = new SectionLines(texts);
    } else section?.add(line);
  }
  if (oid !== "") endSection();
  return files;
}

function languageAt(repository: string, revision: string, path: Buffer): string {
  const { language, isCertain } = detectByPath(path.toString());
  if (isCertain) return language?.name ?? "";
  const { stdout } = spawnSync("git", ["-C", repository, "cat-file", "--batch=", "-z"], {
    input: Buffer.concat([Buffer.from(`${revision}:`), path, Buffer.from("\0")]),
    maxBuffer: Infinity,
  });
  // The empty header and the text each end with a newline.
  const text = stdout.subarray(1, -1);
  return detectLanguage(path.toString(), text.includes(0) ? Buffer.alloc(0) : text)?.name ?? "";
}

/** The lines of one file in a patch. */
class SectionLines {
  readonly #texts: Texts;
  readonly #lines: NaiveLine[] = [];
  #oldNumber = 0;
  #newNumber = 0;
  #isInHunk = false;
  #byteCount = 0;

  constructor(texts: Texts) {
    this.#texts = texts;
  }

  /** Without hunks that are too large to be searched. */
  get lines(): readonly NaiveLine[] {
    return this.#byteCount > usualPatchLimits.fileBytesMax ? [] : this.#lines;
  }

  add(line: string): void {
    this.#byteCount += line.length + 1;
    const header = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
    if (header !== null) {
      [this.#oldNumber, this.#newNumber, this.#isInHunk] = [Number(header[1]), Number(header[2]), true];
      return;
    }
    const sign = line[0];
    if (!this.#isInHunk || (sign !== "+" && sign !== "-" && sign !== " ")) return;
    if (sign !== " ") {
      const number = sign === "-" ? this.#oldNumber : this.#newNumber;
      this.#lines.push({ sign, number, text: this.#texts.get(line.slice(1)) });
    }
    if (sign !== "+") this.#oldNumber++;
    if (sign !== "-") this.#newNumber++;
  }
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
  const messagesHold = plan.messages.every(({ leaf, negated }) => matchesMessage(leaf, commit.message) !== negated);
  return (
    messagesHold &&
    plan.persons.every((filter) => {
      const [name, email] = commit[filter.role];
      const asGit = Buffer.from(`${name.toString("latin1")} <${email.toString("latin1")}>`, "latin1");
      return [name, email, asGit].some((text) => hasMatch(filter, text)) !== filter.negated;
    })
  );
}

function matchesMessage(leaf: Leaf, message: Buffer): boolean {
  return message.length > 0 && (leafRanges(leaf, message).length > 0 || hasEmptyMatch(leaf, message));
}

function passesFilters(plan: HistoryPlan, { path, language }: NaiveFile): boolean {
  return plan.fileFilters.every(
    (filter) =>
      (filter.kind === "language" ? language() === filter.language : hasMatch(filter, path)) !== filter.negated,
  );
}

function findMessage(plan: HistoryPlan, { message, files }: NaiveCommit): string[] | undefined {
  if (plan.fileFilters.length > 0 && !files.some((file) => passesFilters(plan, file))) return undefined;
  const texts = message.length === 0 ? [] : [message];
  const leaves = findLeaves(plan, texts);
  if (leaves === undefined) return undefined;
  const found = leaves.flatMap((leaf) => leafRanges(plan.leaves[leaf], message));
  return distinct(found).flatMap(([from, to]) => splitLines(message, from, to));
}

function findFiles(plan: HistoryPlan, { files }: NaiveCommit): string[] | undefined {
  let previews = 0;
  const shown = files
    .filter((file) => passesFilters(plan, file))
    .flatMap((file) => {
      const leaves = findLeaves(
        plan,
        file.lines.map(({ text }) => text),
      );
      if (leaves === undefined) return [];
      const wanted = file.lines.filter(({ sign }) => plan.onlySign === undefined || sign === plan.onlySign);
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

/**
 * The leaves whose matches in some text are reported; undefined if the pattern does not hold, or if only empty matches
 * satisfy it.
 */
function findLeaves(plan: HistoryPlan, texts: readonly Buffer[]): number[] | undefined {
  const reports = (leaf: number): boolean => texts.some((text) => leafRanges(plan.leaves[leaf], text).length > 0);
  const matchesEmpty = (leaf: number): boolean => texts.some((text) => hasEmptyMatch(plan.leaves[leaf], text));
  const leaves = evaluate(plan.pattern, (leaf) => reports(leaf) || matchesEmpty(leaf));
  if (leaves === undefined || plan.pattern === undefined || plan.includesFilters) return leaves;
  return hasResult(plan.pattern, reports, matchesEmpty) ? leaves : undefined;
}

function hasResult(
  node: TextNode,
  reports: (leaf: number) => boolean,
  matchesEmpty: (leaf: number) => boolean,
): boolean {
  if (evaluate(node, (leaf) => reports(leaf) || matchesEmpty(leaf)) === undefined) return false;
  switch (node.kind) {
    case "leaf":
      return reports(node.leaf);
    case "not":
      return true;
    default:
      return node.children.some((child) => hasResult(child, reports, matchesEmpty));
  }
}

/** Whether a line has an empty match, for an expression without `\n`. */
function hasEmptyMatch({ source, foldCase }: Leaf, text: Buffer): boolean {
  const isCut = source.includes("$") && !source.includes("\\r");
  const regexp = new RE2(source, foldCase ? "umi" : "um");
  return text
    .toString("latin1")
    .split("\n")
    .some((line) => {
      const match = regexp.exec(Buffer.from(isCut ? line.replace(/\r$/, "") : line, "latin1"));
      return match !== null && match[0].length === 0;
    });
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

interface Expression {
  readonly source: string;
  readonly foldCase: boolean;
}

type Ranges = readonly (readonly [number, number])[];

/** By leaf or filter: whether it matches a text. */
const holdings = new WeakMap<Expression, Known<boolean>>();
/** By leaf: its matches in a text. */
const matches = new WeakMap<Expression, Known<Ranges>>();

interface Known<T> {
  readonly regexps: readonly RE2[];
  readonly of: Map<Buffer, T>;
}

function known<T>(all: WeakMap<Expression, Known<T>>, key: Expression, sources: readonly string[]): Known<T> {
  const one = all.get(key) ?? {
    regexps: sources.map((source) => new RE2(source, key.foldCase ? "umgi" : "umg")),
    of: new Map(),
  };
  all.set(key, one);
  return one;
}

function hasMatch(filter: Expression, text: Buffer): boolean {
  const { regexps, of } = known(holdings, filter, [filter.source]);
  const held = of.get(text);
  if (held !== undefined) return held;
  regexps[0].lastIndex = 0;
  const holds = regexps[0].test(text);
  of.set(text, holds);
  return holds;
}

const noRanges: Ranges = [];

function leafRanges(leaf: Leaf, text: Buffer): Ranges {
  const { regexps, of } = known(matches, leaf, leaf.either.length > 0 ? leaf.either : [leaf.source]);
  const found = of.get(text);
  if (found !== undefined) return found;
  const all = regexps.flatMap((regexp) =>
    withoutReturns(regexp.source, text, (bytes) => reportedRanges(regexp, bytes)),
  );
  const kept = all.length === 0 ? noRanges : all;
  of.set(text, kept);
  return kept;
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
