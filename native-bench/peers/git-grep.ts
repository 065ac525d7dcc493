import type { Corpus } from "../corpus/corpus.js";
import { run, timeCommand } from "../system/processes.js";
import { readLineOutput } from "./line-output.js";
import { declineHuge, type Found, type Peer } from "./peer.js";
import type { BenchQuery } from "./queries.js";

const environment = { LC_ALL: "C", GIT_CONFIG_GLOBAL: "/dev/null" };

/** `git grep` of a literal in commits of a repository, two threads: as `REVISION:PATH:LINE:TEXT`. */
export function gitGrepAt(folder: string, pattern: string, revisions: readonly string[]) {
  const command = [
    "git",
    "-C",
    folder,
    "-c",
    "grep.threads=2",
    "grep",
    "-n",
    "--no-color",
    "--full-name",
    "-F",
    "-e",
    pattern,
    ...revisions,
    "--",
  ];
  return { time: () => timeCommand(command, environment), results: () => readLineOutput(command, environment, "") };
}

/**
 * `git grep` over the work tree, two threads. With PCRE for expressions, its fastest way: 2 s against 9 s with `-E` for
 * one without a literal, over the Linux source.
 */
export async function openGitGrep(corpus: Corpus): Promise<Found<Peer>> {
  const name = "git grep";
  const base = ["git", "-C", corpus.path, "-c", "grep.threads=2", "grep", "-n", "--no-color", "--full-name"];
  const takesPcre = await run("git", ["-C", corpus.path, "grep", "-q", "-P", "-e", ".", "HEAD", "--", "."], "").then(
    () => true,
    () => false,
  );
  if (!takesPcre) return { kind: "missing", name, reason: "git is built without PCRE" };
  const command = ({ pattern, kind, ignoreCase }: BenchQuery): string[] => [
    ...base,
    kind === "literal" ? "-F" : "-P",
    ...(ignoreCase ? ["-i"] : []),
    "-e",
    pattern,
  ];
  return {
    kind: "found",
    peer: {
      name,
      version: (await run("git", ["--version"], "")).trim(),
      time: (query) => timeCommand(command(query), environment),
      results: (query) => readLineOutput(command(query), environment, ""),
      causeOf: () => undefined,
      declines: declineHuge,
    },
  };
}
