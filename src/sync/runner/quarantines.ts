import type { Catalog } from "../../catalog/catalog.js";
import type { Manifest } from "../../catalog/manifest.js";
import type { Quarantine } from "../../model/quarantine.js";
import type { Repository } from "../../model/repository.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { SyncServices } from "../services/sync-settings.js";
import type { LossJudge } from "./loss.js";

/**
 * Items of repositories that are excluded because threads hung or crashed on them: records them in the catalog, and
 * lifts the exclusion.
 */
export class Quarantines {
  readonly #catalog: Catalog;
  readonly #manifest: Manifest;
  readonly #judge: LossJudge;
  readonly #tasks: IndexTasks;

  constructor({ catalog, manifest }: Pick<SyncServices, "catalog" | "manifest">, judge: LossJudge, tasks: IndexTasks) {
    this.#catalog = catalog;
    this.#manifest = manifest;
    this.#judge = judge;
    this.#tasks = tasks;
  }

  async set(id: number, quarantine: Quarantine | undefined): Promise<void> {
    await this.#manifest.publish(() => {
      const repository = this.#catalog.repository(id);
      return { repositories: repository === undefined ? [] : [{ ...repository, quarantine }] };
    });
  }

  /** Called when a user has ordered the repository to be indexed again: everything is retried. */
  lift(id: number): void {
    if (this.#catalog.repository(id)?.quarantine !== undefined) this.#tasks.track(this.set(id, undefined));
  }

  /** Whether another version of the program excluded something of it. */
  isOutdated(repository: Repository): boolean {
    return repository.quarantine !== undefined && this.#judge.current(repository) === undefined;
  }
}
