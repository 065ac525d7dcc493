import type { References } from "./name-answers.js";

type FileReferences = References["files"][number];

/** The uses in a repository, with how many they are. */
export interface ReferenceGroup {
  readonly repository: string;
  readonly count: number;
  readonly files: readonly FileReferences[];
}

/** Uses by repository, in their order: those in files whose repository and path have a text, regardless of case. */
export function groupReferences(files: readonly FileReferences[], part: string): readonly ReferenceGroup[] {
  const wanted = part.trim().toLowerCase();
  const groups = new Map<string, FileReferences[]>();
  for (const one of files) {
    const { path, repository } = one.file;
    if (!`${repository.name}/${path}`.toLowerCase().includes(wanted)) continue;
    const known = groups.get(repository.name);
    if (known === undefined) groups.set(repository.name, [one]);
    else known.push(one);
  }
  return [...groups].map(([repository, found]) => ({
    repository,
    count: found.reduce((sum, one) => sum + countUses(one), 0),
    files: found,
  }));
}

/** Of a long line, only uses in the part that is shown have ranges; it has one at least. */
export function countUses({ lines }: Pick<FileReferences, "lines">): number {
  return lines.reduce((sum, { ranges }) => sum + Math.max(1, ranges.length), 0);
}
