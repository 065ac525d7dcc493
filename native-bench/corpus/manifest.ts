import { isRegular, treeFiles } from "./repositories.js";

export interface MadeRepository {
  readonly name: string;
  /** Within the folder of the corpus; "" for the folder itself. */
  readonly directory: string;
}

/** What a maker has put into its folder. */
export interface Made {
  readonly repositories: readonly MadeRepository[];
  /** Regular files at the heads of all repositories, and their bytes. */
  readonly fileCount: number;
  readonly textBytes: number;
}

/** The folder is one repository. */
export async function madeOne(name: string, folder: string): Promise<Made> {
  const files = (await treeFiles({ path: folder })).filter(isRegular);
  return {
    repositories: [{ name, directory: "" }],
    fileCount: files.length,
    textBytes: files.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}
