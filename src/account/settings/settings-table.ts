import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Author } from "../records/audit-log.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import { requireRoom } from "../records/validation.js";
import { checkSettings, mergedSettings, settingsValues, type SettingsValues } from "./settings-text.js";
import { isObject } from "../../base/is-object.js";

/** Settings as written by their author. */
export interface WrittenSettings {
  /** The subject: the id of a user or an organization, or `siteSubject`. */
  readonly id: number;
  /** Incremented with each change. */
  readonly version: number;
  readonly authorId: number;
  /** RFC 3339: when this version was written. */
  readonly createdAt: string;
  /** JSON with comments. */
  readonly contents: string;
}

/** The settings of the site apply to everyone. */
export const siteSubject = 0;

/** Limit on the total size of all settings. */
const totalCharactersMax = 256 << 20;

/**
 * The settings of the site, of organizations and of users: the latest version of each, in memory and in the record
 * store.
 */
export class SettingsTable {
  readonly #changes: TransactionQueue;
  readonly #hasSubject: (id: number) => boolean;
  readonly #table: RecordTable<WrittenSettings>;
  readonly #values = new WeakMap<WrittenSettings, SettingsValues>();
  #totalCharacters = 0;

  constructor(tables: RecordTables, changes: TransactionQueue, hasSubject: (id: number) => boolean) {
    this.#changes = changes;
    this.#hasSubject = hasSubject;
    this.#table = tables.add<WrittenSettings>("settings/", (before, after) => {
      this.#totalCharacters += (after?.contents.length ?? 0) - (before?.contents.length ?? 0);
    });
  }

  latest(subject: number): WrittenSettings | undefined {
    return this.#table.get(subject);
  }

  /** The effective settings of these subjects, given in increasing precedence. */
  merged(subjects: readonly number[]): SettingsValues {
    return mergedSettings(
      subjects.flatMap((subject) => {
        const written = this.#table.get(subject);
        return written === undefined ? [] : [this.#parseValues(written)];
      }),
    );
  }

  /**
   * Changes settings: `edit` receives the current text, `{}` if there is none. Rejects with `conflict` unless
   * `lastVersion` is the current version (undefined for none), so that concurrent edits do not overwrite each other.
   */
  change(
    subject: number,
    lastVersion: number | undefined,
    edit: (contents: string) => string,
    author: Author,
  ): Promise<WrittenSettings> {
    return this.#changes.commit(
      () => {
        if (!this.#hasSubject(subject))
          throw new TrawlError("not-found", "the subject of these settings no longer exists");
        const before = this.#table.get(subject);
        if (before?.version !== lastVersion) {
          throw new TrawlError(
            "conflict",
            `the settings were changed in the meantime: their last id is ${before?.version ?? "null"}, not ${lastVersion ?? "null"}; read them again`,
          );
        }
        const contents = edit(before?.contents ?? "{}");
        checkSettings(contents);
        requireRoom(
          this.#totalCharacters + contents.length - (before?.contents.length ?? 0),
          totalCharactersMax,
          "characters of settings",
        );
        const result = {
          id: subject,
          version: this.#changes.newId(),
          authorId: author.id,
          createdAt: new Date().toISOString(),
          contents,
        };
        return { steps: [this.#table.put(result)], result };
      },
      ({ id, version }) =>
        auditEntry("settings-changed", author.actor, { subject: id === siteSubject ? "site" : id, version }),
    );
  }

  /** The writes that delete the settings of a deleted subject. */
  removing(subject: number): readonly RecordWrite[] {
    const written = this.#table.get(subject);
    return written === undefined ? [] : [this.#table.remove(written)];
  }

  #parseValues(written: WrittenSettings): SettingsValues {
    let values = this.#values.get(written);
    if (values === undefined) {
      values = settingsValues(written.contents);
      this.#values.set(written, values);
    }
    return values;
  }
}

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
