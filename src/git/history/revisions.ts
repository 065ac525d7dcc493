import {
  type ResolvedRevision,
  type RevisionSpec,
  refGlobProblem,
  revisionProblem,
} from "../../model/revision-syntax.js";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { BoundedMap } from "../../base/bounded-map.js";
import { TrawlError } from "../../base/errors.js";
import { foreignCommitsFile, submodulesRef } from "../objects/composed-tree.js";
import { localCommand, resolveRevision } from "../objects/objects.js";
import { excludeGlob, includeGlob } from "../mirror/ref-glob.js";
import { isOid } from "../objects/refs.js";
import { runGit, type StopSignal } from "../run/run.js";

/** The result of resolving revisions. */
export interface RevisionResolution {
  /** In the order of the request, those of globs last; each `typed` occurs once. */
  readonly revisions: readonly ResolvedRevision[];
  /** As typed: the mirror has no such commit. */
  readonly missing: readonly string[];
  /** As typed: several commits have ids that begin so. */
  readonly ambiguous: readonly string[];
  /** As typed: not passed to git, see `revisionProblem`. */
  readonly malformed: readonly string[];
}

/**
 * The commits to which the specs resolve. A glob that matches nothing, and a HEAD without a commit, are not errors. Commits of other
 * repositories that the mirror has for its submodules are missing, see `ownCommits`.
 *
 * Throws `git` if the mirror is damaged or does not exist, `cancelled` if stopped.
 */
export async function resolveRevisions(
  directory: string,
  specs: readonly RevisionSpec[],
  stop: StopSignal,
): Promise<RevisionResolution> {
  const malformed = specs.flatMap((spec) => (isWellFormed(spec) ? [] : [spec.typed]));
  const wanted = specs.filter((spec) => isWellFormed(spec));
  const { commits, ambiguous: ambiguousNames } = await commitsOfNames(
    directory,
    wanted.flatMap((spec) => (spec.kind === "glob" ? [] : [printRevision(spec)])),
    stop,
  );
  const own = await ownCommits(directory, [...new Set(commits.values())], stop);
  const found = new Map<string, string>();
  const missing: string[] = [];
  const ambiguous: string[] = [];
  for (const spec of wanted) {
    if (spec.kind === "glob") continue;
    const resolved = commits.get(printRevision(spec));
    const named = resolved !== undefined && own.has(resolved) ? resolved : null;
    const commit =
      spec.kind === "at-time" && named !== null ? await commitAtTime(directory, named, spec.unixSeconds, stop) : named;
    if (commit !== null) found.set(spec.typed, commit);
    else if (ambiguousNames.has(printRevision(spec))) ambiguous.push(spec.typed);
    else if (spec.typed !== "HEAD") missing.push(spec.typed);
  }
  for (const { typed, commit } of await commitsOfGlobs(directory, wanted, stop))
    if (!found.has(typed)) found.set(typed, commit);
  return { revisions: [...found].map(([typed, commit]) => ({ typed, commit })), missing, ambiguous, malformed };
}

/** By mirror and commit. Whatever a reference has led to once, readers may have opened. */
const knownOwn = new BoundedMap<string, true>(100_000, () => 1);

/**
 * The commits among these to which a reference of the repository itself leads. In a mirror that has commits of submodules, whoever knows
 * the id of such a commit could open it, with more than the repository shows of it: its message, its history, and files of commits that
 * the repository does not point to. In any other mirror, all commits are its own. Throws `git`, `cancelled`.
 *
 * For a recent commit git walks back to its date; for one that is not its own, through both histories: that takes seconds for a million
 * commits.
 */
export async function ownCommits(
  directory: string,
  commits: readonly string[],
  stop: StopSignal,
): Promise<ReadonlySet<string>> {
  if (!existsSync(join(directory, foreignCommitsFile))) return new Set(commits);
  const own = new Set(commits.filter((commit) => knownOwn.get(`${directory} ${commit}`) === true));
  const asked = commits.filter((commit) => !own.has(commit));
  const look = async (some: readonly string[]): Promise<void> => {
    if (some.length === 0) return;
    if (await areOwn(directory, some, stop))
      for (const commit of some) {
        own.add(commit);
        knownOwn.set(`${directory} ${commit}`, true);
      }
    else if (some.length > 1) for (const commit of some) await look([commit]);
  };
  // All of them are its own, usually.
  for (let i = 0; i < asked.length; i += commitsAtOnce) await look(asked.slice(i, i + commitsAtOnce));
  return own;
}

/** Arguments of one command. */
const commitsAtOnce = 500;

async function areOwn(directory: string, commits: readonly string[], stop: StopSignal): Promise<boolean> {
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [
      `--git-dir=${directory}`,
      "rev-list",
      "--max-count=1",
      ...commits,
      "--not",
      `--exclude=${submodulesRef}`,
      "--all",
    ],
    exitCodes: [],
  });
  return stdout.length === 0;
}

/** The text of the spec that is passed to git. */
function printRevision(spec: RevisionSpec): string {
  switch (spec.kind) {
    case "name":
      return spec.typed;
    case "glob":
      return spec.pattern;
    case "at-time":
      return spec.base;
  }
}

function isWellFormed(spec: RevisionSpec): boolean {
  return (spec.kind === "glob" ? refGlobProblem : revisionProblem)(printRevision(spec)) === null;
}

/** The beginning of an id, with what may follow a name. */
const shortId = /^([0-9a-f]{4,63})(?:[~^]|$)/i;

/**
 * The commit of each name, using one process; names without a commit are omitted. A name that begins as the ids of
 * several objects do needs further processes, unless one of these is the only commit.
 */
async function commitsOfNames(
  directory: string,
  names: readonly string[],
  stop: StopSignal,
): Promise<{ readonly commits: ReadonlyMap<string, string>; readonly ambiguous: ReadonlySet<string> }> {
  const asked = [...new Set(names)];
  const commits = new Map<string, string>();
  const ambiguous = new Set<string>();
  if (asked.length === 0) return { commits, ambiguous };
  // For `NAME^{commit}`, git does not tell an ambiguous name from a missing one.
  const prefixes = [...new Set(asked.flatMap((name) => shortId.exec(name)?.[1] ?? []))];
  const answers = await askAll(directory, [...asked.map((name) => `${name}^{commit}`), ...prefixes], stop);
  for (const [i, name] of asked.entries()) {
    const commit = answers === null ? await resolveRevision(directory, name, stop) : toCommit(answers[i]);
    if (commit !== null) commits.set(name, commit);
  }
  for (const [i, prefix] of prefixes.entries()) {
    if (answers?.[asked.length + i].endsWith(" ambiguous") !== true) continue;
    if ((await countCommits(directory, prefix, stop)) < 2) continue;
    for (const name of asked) if (!commits.has(name) && shortId.exec(name)?.[1] === prefix) ambiguous.add(name);
  }
  return { commits, ambiguous };
}

/** Objects with this prefix that are examined: with four digits, each of many millions has some hundred others. */
const examinedObjectsMax = 10_000;

/** How many commits, or tags that may name one, have an id with this prefix. */
async function countCommits(directory: string, prefix: string, stop: StopSignal): Promise<number> {
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "rev-parse", `--disambiguate=${prefix}`],
    exitCodes: [128],
  });
  const oids = stdout.toString("latin1").split("\n").filter(isOid).slice(0, examinedObjectsMax);
  const answers = await askAll(directory, oids, stop);
  return (answers ?? []).filter((line) => / (?:commit|tag)$/.test(line)).length;
}

function toCommit(line: string): string | null {
  const oid = line.endsWith(" commit") ? line.slice(0, -" commit".length) : "";
  return isOid(oid) ? oid : null;
}

/** git's answer to each request, on a line. Null if it exited before it had answered all of them. */
async function askAll(directory: string, names: readonly string[], stop: StopSignal): Promise<string[] | null> {
  const { stdout, code } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "cat-file", "--batch-check=%(objectname) %(objecttype)"],
    stdin: names.map((name) => `${name}\n`).join(""),
    exitCodes: [1, 128],
  });
  const lines = stdout.toString("utf8").split("\n").slice(0, -1);
  if (lines.length !== names.length) {
    if (lines.length === 0 && code !== 0)
      throw new TrawlError("git", `cannot read revisions of the mirror ${directory}`);
    return null;
  }
  return lines;
}

async function commitAtTime(
  directory: string,
  base: string,
  unixSeconds: number,
  stop: StopSignal,
): Promise<string | null> {
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "rev-list", "--max-count=1", `--before=${unixSeconds}`, "--end-of-options", base],
    exitCodes: [],
  });
  const commit = stdout.toString("latin1").trim();
  return isOid(commit) ? commit : null;
}

/** Linux has 900 tags; some repositories have a branch for each change that was ever proposed. */
const globRefCountMax = 10_000;

/** A ref is included if the last glob that matches it is not an exclusion. */
async function commitsOfGlobs(
  directory: string,
  specs: readonly RevisionSpec[],
  stop: StopSignal,
): Promise<ResolvedRevision[]> {
  const globs = specs.flatMap((spec) =>
    spec.kind !== "glob"
      ? []
      : [{ takes: !spec.negated, test: (spec.negated ? excludeGlob : includeGlob)(spec.pattern) }],
  );
  if (globs.length === 0) return [];
  const isTaken = (ref: string): boolean =>
    globs.reduce((taken, { takes, test }) => (taken !== takes && test(ref) ? takes : taken), false);
  const taken = (await listCommitRefs(directory, stop)).filter(({ typed }) => isTaken(typed));
  if (taken.length > globRefCountMax) {
    throw new TrawlError(
      "bad-request",
      `the globs match ${taken.length} refs, more than the limit of ${globRefCountMax} per search; use more specific globs`,
    );
  }
  return taken.map(({ typed, commit }) => ({ typed: typed.replace(/^refs\/heads\//, ""), commit }));
}

/** Full names of the branches and tags that resolve to a commit, with the commit. */
async function listCommitRefs(directory: string, stop: StopSignal): Promise<ResolvedRevision[]> {
  const format =
    "%(if)%(*objecttype)%(then)%(*objecttype) %(*objectname)%(else)%(objecttype) %(objectname)%(end) %(refname)";
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "for-each-ref", `--format=${format}`, "refs/heads/", "refs/tags/"],
    exitCodes: [],
  });
  return stdout
    .toString("utf8")
    .split("\n")
    .flatMap((line) => {
      const found = /^commit ([0-9a-f]+) (.+)$/.exec(line);
      return found === null ? [] : [{ typed: found[2], commit: found[1] }];
    });
}
