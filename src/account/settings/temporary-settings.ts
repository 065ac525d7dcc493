import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { requireRoom } from "../identity/validation.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import type { TransactionQueue } from "../records/transaction-queue.js";

/** The temporary settings of the user with this id: an object as JSON. */
interface StoredTemporarySettings {
  readonly id: number;
  readonly contents: string;
}

const contentsLengthMax = 64 << 10;
const totalLengthMax = 64 << 20;

/**
 * What programs remember about each user, such as which hints were dismissed. It is separate from the settings, which
 * people write, and its changes are not in the audit log.
 */
export class TemporarySettings {
  readonly #changes: TransactionQueue;
  readonly #hasUser: (id: number) => boolean;
  readonly #table: RecordTable<StoredTemporarySettings>;
  #totalLength = 0;

  constructor(tables: RecordTables, changes: TransactionQueue, hasUser: (id: number) => boolean) {
    this.#changes = changes;
    this.#hasUser = hasUser;
    this.#table = tables.add<StoredTemporarySettings>("temporary-settings/", (before, after) => {
      this.#totalLength += (after?.contents.length ?? 0) - (before?.contents.length ?? 0);
    });
  }

  /** `{}` if nothing is stored. */
  contents(userId: number): string {
    return this.#table.get(userId)?.contents ?? "{}";
  }

  /** Replaces them. Rejects with `bad-request` unless the text is an object as JSON. */
  overwrite(userId: number, text: string): Promise<void> {
    const entries = parseEntries(text);
    return this.#put(userId, () => entries);
  }

  /** Replaces the values whose names are in the given object. */
  edit(userId: number, text: string): Promise<void> {
    const entries = parseEntries(text);
    return this.#put(userId, (before) => new Map([...before, ...entries]));
  }

  removing(userId: number): readonly RecordWrite[] {
    const stored = this.#table.get(userId);
    return stored === undefined ? [] : [this.#table.remove(stored)];
  }

  #put(userId: number, change: (before: Entries) => Entries): Promise<void> {
    return this.#changes.commit(
      () => {
        if (!this.#hasUser(userId)) throw new TrawlError("not-found", "there is no such user (any more)");
        const before = this.contents(userId);
        const contents = JSON.stringify(Object.fromEntries(change(parseEntries(before))));
        if (contents.length > contentsLengthMax)
          throw new TrawlError("bad-request", `temporary settings are limited to ${contentsLengthMax} characters`);
        const total = this.#totalLength + contents.length - before.length;
        requireRoom(total, totalLengthMax, "characters of temporary settings");
        return { steps: [this.#table.put({ id: userId, contents })], result: undefined };
      },
      () => undefined,
    );
  }
}

type Entries = ReadonlyMap<string, unknown>;

function parseEntries(text: string): Entries {
  if (text.length > contentsLengthMax)
    throw new TrawlError("bad-request", `temporary settings are limited to ${contentsLengthMax} characters`);
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return new Map(Object.entries(value));
  } catch {
    // Reported below.
  }
  throw new TrawlError("bad-request", 'temporary settings must be a JSON object, as in {"search.sidebar": true}');
}
