import { join } from "node:path";
import { RecordStore } from "../../store/record-store.js";
import { ShardStore } from "../../store/shard-store.js";

/** The two stores of the data directory, opened. */
export class Stores {
  readonly shards: ShardStore;
  readonly records: RecordStore;
  /** Resolves with the reason when the durable state of a store is unknown. */
  readonly lost: Promise<string>;
  readonly #lose: (reason: string) => void;

  constructor(dataFolder: string) {
    this.shards = new ShardStore(join(dataFolder, "shards"));
    this.records = new RecordStore(join(dataFolder, "catalog"));
    let lose: (reason: string) => void = () => undefined;
    this.lost = new Promise((resolve) => {
      lose = resolve;
    });
    this.#lose = lose;
    this.records.onLost = lose;
  }

  /** Called when a write in a thread has failed with an unknown outcome. */
  recordLoss(reason: string): void {
    this.#lose(reason);
  }
}
