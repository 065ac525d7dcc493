import type { Catalog } from "../catalog/catalog.js";
import type { SyncProgress } from "../protocol/ingest-messages.js";

interface Watcher {
  readonly name: string;
  readonly watch: (activity: string) => void;
}

/** The activities of running syncs, as in "fetching 45 %". */
export class SyncActivities {
  readonly #catalog: Catalog;
  readonly #byRepository = new Map<number, string>();
  readonly #watchers = new Set<Watcher>();

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** The activity of a repository's sync; "" if there is none. */
  current(repositoryId: number): string {
    return this.#byRepository.get(repositoryId) ?? "";
  }

  record({ repositoryId, phase, done, total }: SyncProgress): void {
    const share = total > 0 ? ` ${Math.floor((done * 100) / total)} %` : "";
    const activity = `${phase}${share}`;
    this.#byRepository.set(repositoryId, activity);
    const name = this.#catalog.repository(repositoryId)?.name;
    for (const watcher of this.#watchers) if (watcher.name === name) watcher.watch(activity);
  }

  end(repositoryId: number): void {
    this.#byRepository.delete(repositoryId);
  }

  /** Calls `watch` with each activity of the repository until the returned function is called. */
  onActivity(name: string, watch: (activity: string) => void): () => void {
    const watcher = { name, watch };
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}
