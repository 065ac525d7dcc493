import type { Catalog } from "../../catalog/catalog.js";
import type { SyncProgress } from "../../protocol/ingest-messages.js";

interface Watcher {
  readonly name: string;
  readonly watch: (activity: string) => void;
}

/** The activities of running syncs, as in "fetching 45 %". */
export class SyncActivities {
  readonly #catalog: Catalog;
  readonly #byRepository = new Map<number, string>();
  readonly #watchers = new Set<Watcher>();
  /** Repositories whose texts are being indexed. */
  readonly #indexing = new Set<number>();
  readonly #running = new Set<number>();
  /** Their number, shared with the threads whose work can wait for them. */
  readonly indexingWord = new Int32Array(new SharedArrayBuffer(4));

  constructor(catalog: Catalog) {
    this.#catalog = catalog;
  }

  /** The activity of a repository's sync; "" if there is none. */
  current(repositoryId: number): string {
    return this.#byRepository.get(repositoryId) ?? "";
  }

  begin(repositoryId: number): void {
    this.#running.add(repositoryId);
  }

  /** Messages that arrive after the end are ignored. */
  record({ repositoryId, phase, done, total }: SyncProgress): void {
    if (!this.#running.has(repositoryId)) return;
    const share = total > 0 ? ` ${Math.floor((done * 100) / total)} %` : "";
    const activity = `${phase}${share}`;
    this.#byRepository.set(repositoryId, activity);
    if (phase !== "fetching") this.#indexing.add(repositoryId);
    this.#countIndexing();
    const name = this.#catalog.repository(repositoryId)?.name;
    for (const watcher of this.#watchers) if (watcher.name === name) watcher.watch(activity);
  }

  end(repositoryId: number): void {
    this.#running.delete(repositoryId);
    this.#byRepository.delete(repositoryId);
    this.#indexing.delete(repositoryId);
    this.#countIndexing();
  }

  /** Calls `watch` with each activity of the repository until the returned function is called. */
  onActivity(name: string, watch: (activity: string) => void): () => void {
    const watcher = { name, watch };
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  #countIndexing(): void {
    Atomics.store(this.indexingWord, 0, this.#indexing.size);
    if (this.#indexing.size === 0) Atomics.notify(this.indexingWord, 0);
  }
}
