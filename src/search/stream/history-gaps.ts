import type { Skipped } from "../../model/stream-events.js";

/** Parts of histories that were not searched. */
export interface HistoryGaps {
  /** Names of the repositories. */
  readonly repositories: Set<string>;
  /** Commits that their mirrors do not have, or cannot read completely. */
  brokenCommits: number;
  /** Changed files whose changes exceed the limit. */
  largeFiles: number;
}

const listedNamesMax = 10;

/** The notice about the gaps; none if there are none. */
export function describeGaps({ repositories, brokenCommits, largeFiles }: HistoryGaps): Skipped[] {
  if (repositories.size === 0) return [];
  const names = [...repositories].sort().slice(0, listedNamesMax);
  const parts = [
    ...(brokenCommits === 0
      ? []
      : [`${count(brokenCommits, "commit")} could not be read completely, because objects are missing or damaged`]),
    ...(largeFiles === 0
      ? []
      : [`the changes of ${count(largeFiles, "file")} are too large to be searched; their paths and commits were`]),
  ];
  return [
    {
      reason: "document-skipped",
      title: `${count(brokenCommits + largeFiles, "part")} of histories not searched`,
      severity: "warn",
      message: `In the history of ${names.join(", ")}${repositories.size > names.length ? ", ..." : ""}: ${parts.join("; ")}.`,
    },
  ];
}

function count(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}
