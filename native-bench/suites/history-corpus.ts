import { basename, resolve } from "node:path";
import { openCorpus } from "../corpus/corpus.js";
import { run } from "../system/processes.js";
import type { SuiteContext } from "./suite.js";

/** A repository with a long history. */
export interface History {
  readonly name: string;
  readonly path: string;
  /** Oids, the newest first. */
  readonly commits: readonly string[];
  readonly note: string;
}

/** What is searched for in a history. */
export interface HistoryWords {
  /** In about one of a hundred changes. */
  readonly changed: string;
  /** The same as an extended regular expression, of which part is a literal. */
  readonly regexp: string;
  /** In about one of a hundred messages. */
  readonly message: string;
  /** The most frequent author's address. */
  readonly author: string;
  /** The files that have about 2,000 lines. */
  readonly files: readonly string[];
}

/** The repository that `BENCH_HISTORY` names, bare or not, else the corpus of generated commits. */
export async function openHistory(context: SuiteContext): Promise<History> {
  const given = process.env["BENCH_HISTORY"] || undefined;
  const { name, path, note } =
    given === undefined
      ? await openCorpus("commits", context)
      : { name: basename(resolve(given), ".git"), path: resolve(given), note: "" };
  return { name, path, commits: (await git(path, "rev-list", "HEAD")).trim().split("\n"), note };
}

export function git(path: string, ...args: readonly string[]): Promise<string> {
  return run("git", ["-C", path, ...args], "");
}

/** Words are chosen from the newest changes and messages, which are similar to the older ones. */
const sampledCommits = 2000;
const shareWanted = 0.01;
const lineCountWanted = 2000;

export async function chooseWords({ path }: History): Promise<HistoryWords> {
  const newest = ["log", "-n", String(sampledCommits), "--no-renames", "--no-textconv", "--no-ext-diff"];
  const changes = await git(path, ...newest, "-p", "-U0", "--format=%x00");
  const messages = await git(path, ...newest, "--no-merges", "--format=%x00%B");
  const authors = await git(path, ...newest, "--format=%ae");
  const changed = chooseWord(changes.replace(/^(?![-+][^-+]|\0).*$/gm, ""));
  const counts = await git(path, "grep", "-I", "-c", "", "HEAD", "--");
  const files = counts.split("\n").flatMap((line) => {
    const end = line.lastIndexOf(":");
    return end < 0
      ? []
      : [{ file: line.slice("HEAD:".length, end), distance: Math.abs(Number(line.slice(end + 1)) - lineCountWanted) }];
  });
  return {
    changed,
    regexp: `${changed}[a-z]*`,
    message: chooseWord(messages),
    author: mostFrequent(authors.split("\n")),
    files: files
      .sort((a, b) => a.distance - b.distance)
      .slice(0, 3)
      .map(({ file }) => file),
  };
}

/**
 * The word whose share of the texts, which begin with a zero byte, is nearest to what is wanted. It is also found within
 * longer words, so those that begin with it are counted as well.
 */
function chooseWord(texts: string): string {
  const counts = new Map<string, number>();
  const all = texts.split("\0").slice(1);
  for (const text of all) {
    const parts = (text.match(/\b[a-z_]{6,20}/g) ?? []).flatMap((word) =>
      Array.from({ length: word.length - 5 }, (_, i) => word.slice(0, 6 + i)),
    );
    for (const part of new Set(parts)) counts.set(part, (counts.get(part) ?? 0) + 1);
  }
  const words = new Set(texts.match(/\b[a-z_]{6,20}\b/g) ?? []);
  const distance = (count: number): number => Math.abs(Math.log(count / all.length / shareWanted));
  const [[word = "commit"] = []] = [...counts]
    .filter(([part]) => words.has(part))
    .sort(([a, m], [b, n]) => distance(m) - distance(n) || (a < b ? -1 : 1));
  return word;
}

function mostFrequent(values: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  const [[value = ""] = []] = [...counts].sort(([, m], [, n]) => n - m);
  return value;
}
