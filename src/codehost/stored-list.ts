import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RepositoryConfig } from "../model/repository.js";

/** The last list of a connection, in a file of the data directory. It contains no secrets, only where they are. */
export class StoredList {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#path = join(folder, `${name}.json`);
  }

  /** The stored repositories; undefined if there are none yet, or if the file is damaged: the next listing replaces it. */
  async read(): Promise<readonly RepositoryConfig[] | undefined> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#path, "utf8"));
      return Array.isArray(value) ? value : undefined;
    } catch {
      return undefined;
    }
  }

  async write(repositories: readonly RepositoryConfig[]): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(`${this.#path}.new`, JSON.stringify(repositories), { mode: 0o600, flush: true });
    await rename(`${this.#path}.new`, this.#path);
  }
}
