/** A file that a thread did not get past. It is indexed by its path alone, until its content changes. */
export interface QuarantinedFile {
  /** Of the blob. */
  readonly oid: string;
  readonly path: string;
  /** What became of the thread; ends a sentence about it. */
  readonly reason: string;
}

/**
 * What of a repository is not tried again for now, since a thread did not get past it. Recorded, so that a restart does
 * not try it either.
 */
export interface Quarantine {
  /** The version of the program that did not get past it: another one tries again. */
  readonly program: string;
  readonly files: readonly QuarantinedFile[];
  /** Names the branches and commits that are not indexed as a whole; "" when there are none. Others are. */
  readonly state: string;
  /** Why they are not. */
  readonly stateReason: string;
}

export function noQuarantine(program: string): Quarantine {
  return { program, files: [], state: "", stateReason: "" };
}

/** One sentence for each thing that is not tried, for the status of the repository. */
export function quarantineSentences(quarantine: Quarantine | undefined): string[] {
  if (quarantine === undefined) return [];
  const files = quarantine.files.map(
    ({ oid, path, reason }) => `${path} (blob ${oid}) is found by its name only: ${reason}.`,
  );
  if (quarantine.state === "") return files;
  return [
    ...files,
    `Its commits are not indexed until its branches or its configuration change: ${quarantine.stateReason}.`,
  ];
}
