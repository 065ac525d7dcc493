import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Author } from "../records/audit-log.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import type { RecordTable, RecordTables, RecordWrite } from "../records/record-table.js";
import { requireRoom } from "../identity/validation.js";
import { checkSettings, mergedSettings, settingsValues, type SettingsValues } from "./settings-text.js";

/** Settings as somebody wrote them. */
export interface WrittenSettings {
  /** Whose they are: the id of a user or an organisation, or `siteSubject`. */
  readonly id: number;
  /** Grows with each change. */
  readonly version: number;
  readonly authorId: number;
  /** RFC 3339: when this version was written. */
  readonly createdAt: string;
  /** JSON with comments. */
  readonly contents: string;
}

/** The settings of the site are everybody's. */
export const siteSubject = 0;

/** Texts of settings that are kept altogether. */
const totalCharactersMax = 256 << 20;

/** The settings of the site, of organisations and of users: the latest of each, in memory and in the record store. */
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

  /** What holds where these subjects have settings, the least important first. */
  merged(subjects: readonly number[]): SettingsValues {
    return mergedSettings(
      subjects.flatMap((subject) => {
        const written = this.#table.get(subject);
        return written === undefined ? [] : [this.#parseValues(written)];
      }),
    );
  }

  /**
   * Changes settings: `edit` is given the text so far, `{}` when there is none. Rejects with `conflict` unless
   * `lastVersion` is the version so far, undefined for none: two who edit at the same time must not undo each other.
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

  /** The steps of a change that forget the settings of who is gone. */
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
