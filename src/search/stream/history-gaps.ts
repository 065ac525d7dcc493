import type { Skipped } from "../../model/stream-events.js";

/** Parts of histories that were not searched. */
export interface HistoryGaps {
  /** Names of the repositories. */
  readonly repositories: Set<string>;
  /** Commits that their mirrors do not have, or cannot read completely. */
  brokenCommits: number;
  /** Changed files whose changes exceed the limit. */
  largeFiles: number;
  /** Commits with a message that exceeds the limit: its end was not searched. */
  cutMessages: number;
}

const listedNamesMax = 10;

/** The notice about the gaps; none if there are none. */
export function describeGaps({ repositories, brokenCommits, largeFiles, cutMessages }: HistoryGaps): Skipped[] {
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

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
