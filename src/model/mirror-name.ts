/** Folder of all mirrors, below the data directory. */
export const mirrorsFolder = "mirrors";

/** Name of a repository's mirror within the mirrors folder. */
export function mirrorName(repositoryId: number): string {
  return `${repositoryId}.git`;
}
