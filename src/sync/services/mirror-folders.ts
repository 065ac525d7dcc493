import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { errorMessage } from "../../base/errors.js";
import type { SyncServices } from "./sync-settings.js";
import { mirrorName } from "../../model/repository.js";

/** Deletes mirrors that no repository needs. */
export class MirrorFolders {
  readonly #services: SyncServices;

  constructor(services: SyncServices) {
    this.#services = services;
  }

  get #folder(): string {
    return join(this.#services.settings.dataFolder, "mirrors");
  }

  remove(repositoryId: number): Promise<void> {
    return this.#delete(mirrorName(repositoryId));
  }

  /** Deletes what an interrupted removal left behind. */
  async removeUnknown(): Promise<void> {
    for (const name of await readdir(this.#folder)) {
      if (this.#services.catalog.repository(Number.parseInt(name, 10)) === undefined) await this.#delete(name);
    }
  }

  async #delete(name: string): Promise<void> {
    await rm(join(this.#folder, name), { recursive: true, force: true }).catch((error: unknown) =>
      this.#services.log.warn(
        { mirror: name, error: errorMessage(error) },
        "an unused mirror could not be deleted; the next start will retry",
      ),
    );
  }
}
