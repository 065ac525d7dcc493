import { isRegular, treeFiles } from "./repositories.js";

/** What a corpus consists of. */
export interface Manifest {
  readonly repositories: readonly ManifestRepository[];
  /** Regular files at the heads of all repositories, and their bytes. */
  readonly fileCount: number;
  readonly textBytes: number;
}

export interface ManifestRepository {
  readonly name: string;
  /** Within the folder of the corpus; "" for the folder itself. */
  readonly directory: string;
}

/** The manifest of a corpus that is one repository. */
export async function singleManifest(name: string, folder: string): Promise<Manifest> {
  const files = (await treeFiles({ path: folder })).filter(isRegular);
  const textBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  return { repositories: [{ name, directory: "" }], fileCount: files.length, textBytes };
}
