/** A file on which a thread hung or crashed. It is indexed by its path only, until its content changes. */
export interface QuarantinedFile {
  /** The oid of the blob. */
  readonly oid: string;
  readonly path: string;
  /** What happened to the thread; ends a sentence about it. */
  readonly reason: string;
}

/**
 * The parts of a repository that are not retried for now, because a thread hung or crashed on them. Recorded, so that
 * they are not retried after a restart either.
 */
export interface Quarantine {
  /** The version of the program whose thread failed; another version tries again. */
  readonly program: string;
  readonly files: readonly QuarantinedFile[];
  /** Identifies the branches and commits that are not indexed at all; "" if there are none. Others are indexed. */
  readonly state: string;
  /** Why they are not indexed. */
  readonly stateReason: string;
}

export function noQuarantine(program: string): Quarantine {
  return { program, files: [], state: "", stateReason: "" };
}

/** One sentence per quarantined item, for the status of the repository. */
export function quarantineSentences(quarantine: Quarantine | undefined): string[] {
  if (quarantine === undefined) return [];
  const files = quarantine.files.map(
    ({ oid, path, reason }) => `${path} (blob ${oid}) is found by name only: ${reason}.`,
  );
  if (quarantine.state === "") return files;
  return [
    ...files,
    `Its commits are not indexed until its branches or its configuration change: ${quarantine.stateReason}.`,
  ];
}
