import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../base/is-object.js";
import type { RepositoryConfig } from "../model/repository.js";

/** What is remembered of a connection. */
export interface KnownList {
  readonly repositories: readonly RepositoryConfig[];
  /** The names of those that the last list did not contain: the next one decides. */
  readonly missing: readonly string[];
}

/** The last list of a connection, in a file of the data directory. It contains no secrets, only where they are. */
export class StoredList {
  readonly #folder: string;
  readonly #path: string;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#path = join(folder, `${name}.json`);
  }

  /** Undefined if there is none yet, or if the file is damaged: the next listing replaces it. */
  async read(): Promise<KnownList | undefined> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#path, "utf8"));
      // The format of earlier versions.
      if (Array.isArray(value)) return { repositories: value, missing: [] };
      const isKnown = isObject(value) && Array.isArray(value["repositories"]) && Array.isArray(value["missing"]);
      return isKnown ? (value as unknown as KnownList) : undefined;
    } catch {
      return undefined;
    }
  }

  async write(list: KnownList): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(`${this.#path}.new`, JSON.stringify(list), { mode: 0o600, flush: true });
    await rename(`${this.#path}.new`, this.#path);
  }
}
