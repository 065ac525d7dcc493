import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { writeLimits } from "../run/child-limits.js";
import { runGit, type StopSignal } from "../run/run.js";
import { foreignCommitsFile, submodulesFile, submodulesRef, type TreeComposer } from "../objects/composed-tree.js";
import { localCommand } from "../objects/objects.js";
import { isOid } from "../objects/refs.js";

/** What keeps the commits of submodules, and the trees made of them, in a mirror: a commit with all of them as parents. */
const ref = submodulesRef;

const updateMemoryBytes = 64 << 20;
const updateTimeoutMs = 30_000;

/** What a mirror has of submodules. */
export interface KeptSubmodules {
  /** The commits of submodules by the URL from which they came. */
  readonly pins: ReadonlyMap<string, readonly string[]>;
}

/** Nothing if there is no file, or if it is damaged. */
export function readKept(directory: string): KeptSubmodules {
  try {
    const { pins } = JSON.parse(readFileSync(join(directory, submodulesFile), "utf8")) as { pins: unknown };
    const rows = Object.entries(pins as Record<string, unknown>);
    return {
      pins: new Map(rows.map(([url, oids]) => [url, (oids as string[]).filter((oid) => isOid(oid))])),
    };
  } catch {
    return { pins: new Map() };
  }
}

/**
 * Makes the commits and trees stay in the mirror, and others no longer. The mirror has the file before it has the reference: then that can
 * be dropped at any time. Caller guarantees: nothing else writes references of the mirror.
 * Throws `git` and `storage`.
 */
export async function keepSubmodules(
  directory: string,
  composer: TreeComposer,
  trees: readonly string[],
  { pins }: KeptSubmodules,
  reserveBytes: number,
  stop: StopSignal,
): Promise<void> {
  const oids = [...new Set([...pins.values()].flat())].sort();
  let commit = "";
  if (oids.length > 0 && trees.length > 0) {
    const lines = [
      `tree ${composer.keepTrees([...new Set(trees)].sort())}`,
      ...oids.map((oid) => `parent ${oid}`),
      `author ${author}`,
      `committer ${author}`,
      "",
      "Submodules\n",
    ];
    commit = composer.writeCommit(lines.join("\n"), oids[0].length);
  }
  const text = JSON.stringify({ commit, reserveBytes, pins: Object.fromEntries(pins) });
  const file = join(directory, submodulesFile);
  const isKnown = existsSync(file);
  if (readText(file) !== text) writeFileSync(file, text, { flush: true });
  if (commit === "") {
    if (isKnown) await updateRef(directory, ["-d", ref], stop);
  } else if (looseRef(directory) !== commit) await updateRef(directory, [ref, commit], stop);
}

const author = "submodules <> 0 +0000";

/**
 * Must be called before commits of other repositories come into a mirror: from then on, a commit that no reference of its own leads to is
 * none of its revisions. They may stay in it for long, so this is not taken back.
 */
export function markForeignCommits(directory: string): void {
  const file = join(directory, foreignCommitsFile);
  if (!existsSync(file)) writeFileSync(file, "", { flush: true });
}

/** The mirror is without contents of submodules from now on. */
export async function dropSubmodules(directory: string, stop: StopSignal): Promise<void> {
  const file = join(directory, submodulesFile);
  if (!existsSync(file) && looseRef(directory) === undefined) return;
  await updateRef(directory, ["-d", ref], stop);
  rmSync(file, { force: true });
}

async function updateRef(directory: string, args: readonly string[], stop: StopSignal): Promise<void> {
  await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "update-ref", ...args],
    process: writeLimits(updateMemoryBytes, 1 << 30, updateTimeoutMs),
    exitCodes: [],
  });
}

/** It may also be in the file of packed references, or be lost there: then it is set again. */
function looseRef(directory: string): string | undefined {
  return readText(join(directory, ref))?.trim();
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
