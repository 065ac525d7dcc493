import { callEvery, type PendingCall } from "../../base/deadline.js";
import { errorMessage } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";

interface StoredUse {
  /** Id of a token or of a user: ids are unique across all kinds of records. */
  readonly id: number;
  /** RFC 3339. */
  readonly usedAt: string;
}

/** Interval at which times are written, all at once. */
const writeMs = 60_000;

/** A time this much later than a subsequent use came from a wrong clock. */
const clockErrorMs = 86_400_000;

/**
 * When each access token was last used, and when each user last sent a request, with a token or signed in. A time is
 * written to disk within a minute.
 *
 * Times are those of the wall clock, which may jump: if it went back, a later time is kept, and a time that was far
 * ahead is replaced at the next use.
 */
export class LastUses {
  readonly #changes: TransactionQueue;
  readonly #log: Log;
  readonly #exists: (id: number) => boolean;
  readonly #table: RecordTable<StoredUse>;
  /** Milliseconds of the wall clock, by id, that have not been written yet. */
  readonly #unwritten = new Map<number, number>();
  readonly #timer: PendingCall;

  /** `exists` tells whether there is a token or a user with this id: for others nothing is stored. */
  constructor(tables: RecordTables, changes: TransactionQueue, log: Log, exists: (id: number) => boolean) {
    this.#changes = changes;
    this.#log = log;
    this.#exists = exists;
    this.#table = tables.add("last-use/", () => undefined);
    this.#timer = callEvery(writeMs, () => void this.#write());
  }

  note(id: number, nowMs: number): void {
    const knownMs = this.of(id) ?? 0;
    if (knownMs <= nowMs || knownMs > nowMs + clockErrorMs) this.#unwritten.set(id, nowMs);
  }

  /** Milliseconds of the wall clock; undefined if never used. */
  of(id: number): number | undefined {
    const unwritten = this.#unwritten.get(id);
    if (unwritten !== undefined) return unwritten;
    const stored = this.#table.get(id);
    return stored === undefined ? undefined : Date.parse(stored.usedAt);
  }

  /** The writes that delete the last use of a removed record. */
  removing(id: number): readonly RecordWrite[] {
    const stored = this.#table.get(id);
    return stored === undefined ? [] : [this.#table.remove(stored)];
  }

  /** Writes pending times. Idempotent. */
  async close(): Promise<void> {
    this.#timer.cancel();
    await this.#write();
  }

  async #write(): Promise<void> {
    if (this.#unwritten.size === 0) return;
    try {
      await this.#changes.commit(
        () => {
          const gone = [...this.#unwritten.keys()].filter((id) => !this.#exists(id));
          for (const id of gone) this.#unwritten.delete(id);
          return { steps: [...this.#unwritten].map(([id, usedMs]) => this.#writing(id, usedMs)), result: undefined };
        },
        () => undefined,
      );
    } catch (error) {
      this.#log.error(`times of last use could not be written and will be retried: ${errorMessage(error)}`);
    }
  }

  #writing(id: number, usedMs: number): RecordWrite {
    const { record, show } = this.#table.put({ id, usedAt: new Date(usedMs).toISOString() });
    return {
      record,
      show: () => {
        show();
        if (this.#unwritten.get(id) === usedMs) this.#unwritten.delete(id);
      },
    };
  }
}
