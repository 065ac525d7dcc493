import type { Catalog } from "../../catalog/catalog.js";
import type { Quarantine } from "../../model/quarantine.js";
import type { Repository } from "../../model/repository.js";
import type { IndexTasks } from "../queue/index-tasks.js";
import type { LossJudge } from "./loss.js";

/** What is left out of repositories because threads did not get past it: writes it to the catalog and lifts it. */
export class Quarantines {
  readonly #catalog: Catalog;
  readonly #judge: LossJudge;
  readonly #tasks: IndexTasks;

  constructor(catalog: Catalog, judge: LossJudge, tasks: IndexTasks) {
    this.#catalog = catalog;
    this.#judge = judge;
    this.#tasks = tasks;
  }

  async set(id: number, quarantine: Quarantine | undefined): Promise<void> {
    await this.#catalog.commit(() => {
      const repository = this.#catalog.repository(id);
      return { repositories: repository === undefined ? [] : [{ ...repository, quarantine }] };
    });
  }

  /** Whoever ordered it wants all of it tried again. */
  lift(id: number): void {
    if (this.#catalog.repository(id)?.quarantine !== undefined) this.#tasks.track(this.set(id, undefined));
  }

  /** Whether another program left something out of it. */
  isOutdated(repository: Repository): boolean {
    return repository.quarantine !== undefined && this.#judge.current(repository) === undefined;
  }
}
