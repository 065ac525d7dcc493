import { callEvery, type PendingCall } from "../../base/deadline.js";
import type { TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { packFaults } from "../../native/process/file-guard.js";
import { damagedStore, type StoreGuard } from "../../store/store-guard.js";

/** Readers reject affected data immediately; this is the interval after which the rest of the daemon notices. */
const periodMs = 1_000;

export interface WatchedStore {
  /** As in "the catalog". */
  readonly name: string;
  readonly guard: StoreGuard;
}

/** Notices that a store has lost bytes under the running daemon: tells the log and `onDamage`, once for each store. */
export class StoreWatch {
  readonly #stores: readonly WatchedStore[];
  readonly #log: Log;
  readonly #onDamage: (error: TrawlError) => void;
  readonly #timer: PendingCall;
  readonly #errors = new Map<string, TrawlError>();
  #packFaults = 0;

  constructor(stores: readonly WatchedStore[], log: Log, onDamage: (error: TrawlError) => void) {
    this.#stores = stores;
    this.#log = log;
    this.#onDamage = onDamage;
    this.#timer = callEvery(periodMs, () => this.look());
  }

  /** What is wrong, a sentence for each store; empty while nothing is. */
  get damages(): readonly string[] {
    return [...this.#errors.values()].map(({ message }) => message);
  }

  look(): void {
    for (const { name, guard } of this.#stores) {
      const damage = this.#errors.has(name) ? undefined : guard.damage();
      if (damage === undefined) continue;
      const error = damagedStore(name, damage);
      this.#errors.set(name, error);
      this.#log.error({ store: name }, error.message);
      this.#onDamage(error);
    }
    const faults = packFaults();
    if (faults > this.#packFaults)
      this.#log.error(
        { faults },
        "a pack of a mirror was truncated while it was being read; stop the daemon and run `trawl check`, which names the mirror",
      );
    this.#packFaults = faults;
  }

  close(): void {
    this.#timer.cancel();
  }
}
