import { assert } from "../../base/assert.js";
import { splitOnce, trimEndChars } from "../../base/text.js";
import { localCommand } from "../objects/objects.js";
import { isOid } from "../objects/refs.js";
import { runGit, type StopSignal } from "../run/run.js";

/** The author or committer of a commit, and the time. */
export interface Identity {
  readonly name: string;
  readonly email: string;
  /** RFC 3339, UTC. */
  readonly date: string;
}

/** A commit without its tree. Text that is not UTF-8 has been converted, or contains U+FFFD. */
export interface CommitData {
  readonly oid: string;
  readonly parents: readonly string[];
  readonly author: Identity;
  readonly committer: Identity;
  readonly message: string;
}

/** Which commits of a history to return. */
export interface HistoryRequest {
  /** Oids of the commits where the history starts. */
  readonly from: readonly string[];
  /** Oids of commits whose history is excluded. */
  readonly without: readonly string[];
  /** Text that the message must contain, ignoring case; "" for all. */
  readonly messageText: string;
  /** The address of the author; "" for all. */
  readonly author: string;
  /** Only commits that change this path; "" for all. */
  readonly path: string;
  /** Follow the path through renames. */
  readonly follow: boolean;
  /** Dates in git's syntax; "" for none. */
  readonly after: string;
  readonly before: string;
  readonly skipCount: number;
  readonly countMax: number;
}

/** Nine fields, each terminated by a zero byte, which none of them can contain. */
const format = "--format=%H%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B%x00";
const fieldCount = 9;

/**
 * The requested commits that the mirror has, in the order of the request. Throws `git` if the mirror is damaged,
 * `cancelled` if stopped.
 */
export async function readCommits(directory: string, oids: readonly string[], stop: StopSignal): Promise<CommitData[]> {
  assert(oids.every(isOid), "a commit is read by oid");
  if (oids.length === 0) return [];
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [
      `--git-dir=${directory}`,
      "log",
      "--no-walk=unsorted",
      "--ignore-missing",
      "--encoding=UTF-8",
      "--no-show-signature",
      format,
      "--stdin",
    ],
    stdin: oids.map((oid) => `${oid}\n`).join(""),
    exitCodes: [],
  });
  return parseCommits(stdout);
}

/** Commits of a history, newest first. Throws like `readCommits`. */
export async function readHistory(directory: string, request: HistoryRequest, stop: StopSignal): Promise<CommitData[]> {
  return parseCommits(await printHistory(directory, request, [format, "--encoding=UTF-8"], stop));
}

/** The oids of a history, newest first, as bytes one after the other. Throws like `readCommits`. */
export async function readHistoryOids(directory: string, request: HistoryRequest, stop: StopSignal): Promise<Buffer> {
  const lines = await printHistory(directory, request, ["--format=%H"], stop);
  const lineLength = lines.indexOf("\n") + 1;
  const oidLength = (lineLength - 1) >> 1;
  const oids = Buffer.alloc(lineLength === 0 ? 0 : (lines.length / lineLength) * oidLength);
  for (let from = 0, to = 0; from < lines.length; from += lineLength, to += oidLength)
    oids.write(lines.toString("latin1", from, from + lineLength - 1), to, "hex");
  return oids;
}

async function printHistory(
  directory: string,
  request: HistoryRequest,
  options: readonly string[],
  stop: StopSignal,
): Promise<Buffer> {
  assert([...request.from, ...request.without].every(isOid), "a history is read by oid");
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [
      `--git-dir=${directory}`,
      "--literal-pathspecs",
      "log",
      "--no-show-signature",
      ...options,
      `--skip=${request.skipCount}`,
      `--max-count=${request.countMax}`,
      ...historyFilters(request),
      "--end-of-options",
      ...request.from,
      ...request.without.map((oid) => `^${oid}`),
      "--",
      ...(request.path === "" ? [] : [request.path]),
    ],
    exitCodes: [],
  });
  return stdout;
}

function historyFilters({ messageText, author, path, follow, after, before }: HistoryRequest): string[] {
  return [
    ...(messageText === "" && author === "" ? [] : ["--fixed-strings", "--regexp-ignore-case"]),
    ...(messageText === "" ? [] : [`--grep=${messageText}`]),
    ...(author === "" ? [] : [`--author=<${author}>`]),
    ...(after === "" ? [] : [`--after=${after}`]),
    ...(before === "" ? [] : [`--before=${before}`]),
    ...(follow && path !== "" ? ["--follow"] : []),
  ];
}

export function parseCommits(output: Buffer): CommitData[] {
  const fields = output.toString("utf8").split("\0");
  const commits: CommitData[] = [];
  for (let at = 0; at + fieldCount < fields.length; at += fieldCount) {
    const [oid, parents, author, authorEmail, authored, committer, committerEmail, committed, message] = fields.slice(
      at,
      at + fieldCount,
    );
    commits.push({
      oid: oid.trim(),
      parents: parents === "" ? [] : parents.split(" "),
      author: { name: author, email: authorEmail, date: formatDate(authored) },
      committer: { name: committer, email: committerEmail, date: formatDate(committed) },
      message: trimEndChars(message, "\n"),
    });
  }
  return commits;
}

/** A commit may have an invalid time. */
function formatDate(unixSeconds: string): string {
  const date = new Date(Number(unixSeconds) * 1000);
  return Number.isNaN(date.getTime()) ? "1970-01-01T00:00:00Z" : date.toISOString().replace(".000Z", "Z");
}

/** The newest common ancestor; null if there is none. Throws like `readCommits`. */
export async function mergeBase(
  directory: string,
  one: string,
  other: string,
  stop: StopSignal,
): Promise<string | null> {
  assert(isOid(one) && isOid(other), "commits are compared by oid");
  const { stdout, code } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "merge-base", "--end-of-options", one, other],
    exitCodes: [1],
  });
  const oid = stdout.toString("latin1").trim();
  return code === 0 && isOid(oid) ? oid : null;
}

/** How many commits each history has that the other does not. Throws like `readCommits`. */
export async function countDifference(
  directory: string,
  one: string,
  other: string,
  stop: StopSignal,
): Promise<{ readonly onlyOne: number; readonly onlyOther: number }> {
  assert(isOid(one) && isOid(other), "commits are compared by oid");
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "rev-list", "--left-right", "--count", "--end-of-options", `${one}...${other}`],
    exitCodes: [],
  });
  const [onlyOne = 0, onlyOther = 0] = stdout.toString("latin1").trim().split("\t").map(Number);
  return { onlyOne, onlyOther };
}

/** The oldest ancestor without parents. Traverses the whole history. Throws like `readCommits`. */
export async function firstCommit(directory: string, commit: string, stop: StopSignal): Promise<string | null> {
  assert(isOid(commit), "a history is read by oid");
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "rev-list", "--max-parents=0", "--end-of-options", commit],
    exitCodes: [],
  });
  return stdout.toString("latin1").trim().split("\n").at(-1) || null;
}

/** An author of commits. */
export interface Contributor {
  readonly name: string;
  readonly email: string;
  readonly commitCount: number;
}

/** The authors of the commits of a history, most commits first. Throws like `readCommits`. */
export async function listContributors(
  directory: string,
  { from, without, path, after }: Pick<HistoryRequest, "from" | "without" | "path" | "after">,
  stop: StopSignal,
): Promise<Contributor[]> {
  assert([...from, ...without].every(isOid), "a history is read by oid");
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [
      `--git-dir=${directory}`,
      "--literal-pathspecs",
      "shortlog",
      "--summary",
      "--numbered",
      "--email",
      ...(after === "" ? [] : [`--after=${after}`]),
      "--end-of-options",
      ...from,
      ...without.map((oid) => `^${oid}`),
      "--",
      ...(path === "" ? [] : [path]),
    ],
    exitCodes: [],
  });
  return stdout
    .toString("utf8")
    .split("\n")
    .flatMap((line) => parseContributor(line) ?? []);
}

/** A line of `git shortlog`: a count, a tab, and `name <address>`, where the address contains no `>`. */
export function parseContributor(line: string): Contributor | undefined {
  const [count = "", person = ""] = splitOnce(line, "\t") ?? [];
  const nameLength = person.lastIndexOf(" <");
  const email = person.slice(nameLength + 2, -1);
  if (!/^\d+$/.test(count.trimStart()) || nameLength < 0 || !person.endsWith(">") || email.includes(">"))
    return undefined;
  return { name: person.slice(0, nameLength), email, commitCount: Number(count) };
}
