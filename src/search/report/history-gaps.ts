import type { Skipped } from "../../model/stream-events.js";

/** Parts of histories that were not searched. */
export interface HistoryGaps {
  /** Names of the repositories. */
  readonly repositories: Set<string>;
  /** Names of those with shallow sources, which lack the older part. */
  readonly cutRepositories: Set<string>;
  /** Commits that their mirrors do not have, or cannot read completely. */
  brokenCommits: number;
  /** Changed files whose changes exceed the limit. */
  largeFiles: number;
  /** Commits with a message that exceeds the limit: its end was not searched. */
  cutMessages: number;
}

const listedNamesMax = 10;

/** The notices about the gaps; none if there are none. */
export function describeGaps(gaps: HistoryGaps): Skipped[] {
  return [...describeCut(gaps), ...describeUnread(gaps)];
}

function describeCut({ cutRepositories: { size }, cutRepositories }: HistoryGaps): Skipped[] {
  if (size === 0) return [];
  const names = [...cutRepositories].sort().slice(0, listedNamesMax);
  return [
    {
      reason: "document-skipped",
      title: `${count(size, "shallow repository", "shallow repositories")}`,
      severity: "warn",
      message: `The history of ${names.join(", ")}${size > names.length ? ", ..." : ""} is cut off, because the source is a shallow clone.`,
    },
  ];
}

function describeUnread({ repositories, brokenCommits, largeFiles, cutMessages }: HistoryGaps): Skipped[] {
  if (repositories.size === 0) return [];
  const names = [...repositories].sort().slice(0, listedNamesMax);
  const parts = [
    ...(brokenCommits === 0
      ? []
      : [
          `${count(brokenCommits, "commit")} could not be read completely, because objects are missing, damaged, or too large for git's memory`,
        ]),
    ...(largeFiles === 0
      ? []
      : [`the changes of ${count(largeFiles, "file")} are too large to be searched; their paths and commits were`]),
    ...(cutMessages === 0 ? [] : [`the messages of ${count(cutMessages, "commit")} were searched up to 1 MiB`]),
  ];
  return [
    {
      reason: "document-skipped",
      title: `${count(brokenCommits + largeFiles + cutMessages, "part")} of histories not searched`,
      severity: "warn",
      message: `In the history of ${names.join(", ")}${repositories.size > names.length ? ", ..." : ""}: ${parts.join("; ")}.`,
    },
  ];
}

function count(number: number, what: string, several = `${what}s`): string {
  return `${number} ${number === 1 ? what : several}`;
}
