import { TrawlError } from "../../base/errors.js";
import { auditEntry, type Author, type Actor } from "../records/audit-log.js";
import type { TransactionQueue } from "../records/transaction-queue.js";
import { GroupIndex, type RecordTable, type RecordTables, type RecordWrite } from "../records/record-table.js";
import { requireRoom } from "../records/validation.js";

/** A query stored for later use. */
export interface SavedSearch {
  readonly id: number;
  /** The id of a user or an organization. */
  readonly ownerId: number;
  readonly description: string;
  readonly query: string;
  readonly isDraft: boolean;
  /** Whether it is visible to users other than its owner or the owner's members. */
  readonly isPublic: boolean;
  readonly createdBy: number;
  readonly createdAt: string;
  readonly updatedBy: number;
  readonly updatedAt: string;
  /** Absent if nobody is told of changes of its results. */
  readonly notification?: SearchNotification | undefined;
}

/** What is sent: signed JSON to a webhook, a message as a chat shows it, or a mail. */
export const notificationFormats = ["WEBHOOK", "SLACK", "TEAMS", "DISCORD", "MAIL"] as const;
export type NotificationFormat = (typeof notificationFormats)[number];

/** Where changes of the results of a saved search are sent. */
export interface SearchNotification {
  /** Of the webhook, which gets them; `mailto:ADDRESS` for mail. */
  readonly url: string;
  /** Absent for a webhook, in what versions before 0.2.0 have stored. */
  readonly format?: NotificationFormat;
  /** What deliveries are signed with; "" if they are not. */
  readonly secret: string;
  /** The user who turned it on. */
  readonly enabledBy: number;
  /** RFC 3339. */
  readonly enabledAt: string;
  /** A random text, different each time it is turned on. */
  readonly key: string;
  /** The position in the journal of changes after which changes are sent. */
  readonly position: number;
}

/** The properties that the author of a saved search chooses. */
export type SavedSearchText = Pick<SavedSearch, "description" | "query" | "isDraft">;

const ofOwnerMax = 1000;
const savedSearchCountMax = 100_000;
const descriptionCharsMax = 1024;
const queryCharsMax = 10_000;

/** Saved searches, in memory and in the record store. */
export class SavedSearches {
  readonly #changes: TransactionQueue;
  readonly #hasOwner: (id: number) => boolean;
  readonly #table: RecordTable<SavedSearch>;
  readonly #publicIdsOfOwner = new GroupIndex<SavedSearch>(({ isPublic, ownerId }) => (isPublic ? [ownerId] : []));
  readonly #idsOfOwner = new GroupIndex<SavedSearch>(({ ownerId }) => [ownerId]);
  readonly #notifying = new Set<number>();

  /** Called with the id of a saved search when its notification is being turned on or off, also by deleting it. */
  onNotificationChanged: (id: number) => void = () => undefined;

  constructor(tables: RecordTables, changes: TransactionQueue, hasOwner: (id: number) => boolean) {
    this.#changes = changes;
    this.#hasOwner = hasOwner;
    this.#table = tables.add<SavedSearch>("saved-search/", (before, after) => {
      this.#idsOfOwner.change(before, after);
      this.#publicIdsOfOwner.change(before, after);
      this.#observeNotification(before, after);
    });
  }

  get count(): number {
    return this.#table.count;
  }

  /** The ids of those with notifications. */
  get notifying(): ReadonlySet<number> {
    return this.#notifying;
  }

  all(): Iterable<SavedSearch> {
    return this.#table.values();
  }

  hasPublicForOwner(ownerId: number): boolean {
    return this.#publicIdsOfOwner.count(ownerId) > 0;
  }

  get(id: number): SavedSearch | undefined {
    return this.#table.get(id);
  }

  create(given: SavedSearchText & Pick<SavedSearch, "ownerId" | "isPublic">, author: Author): Promise<SavedSearch> {
    checkText(given);
    return this.#changes.commit(
      () => {
        this.#requireRoom(given.ownerId);
        requireRoom(this.#table.count, savedSearchCountMax, "saved searches");
        const now = new Date().toISOString();
        const result: SavedSearch = {
          id: this.#changes.newId(),
          ...given,
          createdBy: author.id,
          createdAt: now,
          updatedBy: author.id,
          updatedAt: now,
        };
        return { steps: [this.#table.put(result)], result };
      },
      ({ id, ownerId }) => auditEntry("saved-search-created", author.actor, { savedSearch: id, owner: ownerId }),
    );
  }

  update(
    id: number,
    changes: Partial<SavedSearchText & Pick<SavedSearch, "ownerId" | "isPublic" | "notification">>,
    author: Author,
  ): Promise<SavedSearch> {
    return this.#changes.commit(
      () => {
        const before = this.#require(id);
        // Otherwise the webhook of the earlier owner would get what the new owner may see.
        const kept = (changes.ownerId ?? before.ownerId) === before.ownerId ? before.notification : undefined;
        const result = {
          ...before,
          notification: kept,
          ...changes,
          updatedBy: author.id,
          updatedAt: new Date().toISOString(),
        };
        checkText(result);
        if (result.ownerId !== before.ownerId) this.#requireRoom(result.ownerId);
        return { steps: [this.#table.put(result)], result };
      },
      ({ ownerId, isPublic, notification }) =>
        auditEntry("saved-search-changed", author.actor, {
          savedSearch: id,
          owner: ownerId,
          isPublic,
          ...("notification" in changes
            ? { webhook: receiverName(notification), format: notification?.format ?? "" }
            : {}),
        }),
    );
  }

  delete(id: number, actor: Actor): Promise<SavedSearch> {
    return this.#changes.commit(
      () => {
        const before = this.#require(id);
        return { steps: [this.#table.remove(before)], result: before };
      },
      () => auditEntry("saved-search-deleted", actor, { savedSearch: id }),
    );
  }

  /** The writes that delete the saved searches of a deleted owner. */
  removing(ownerId: number): readonly RecordWrite[] {
    return this.#idsOfOwner
      .of(ownerId)
      .flatMap((id) => this.#table.get(id) ?? [])
      .map((search) => this.#table.remove(search));
  }

  #observeNotification(before: SavedSearch | undefined, after: SavedSearch | undefined): void {
    const id = (after ?? before)?.id ?? 0;
    if (after?.notification === undefined) this.#notifying.delete(id);
    else this.#notifying.add(id);
    if (before?.notification?.key !== after?.notification?.key) this.onNotificationChanged(id);
  }

  #require(id: number): SavedSearch {
    const search = this.#table.get(id);
    if (search === undefined) throw new TrawlError("not-found", "there is no such saved search (any more)");
    return search;
  }

  #requireRoom(ownerId: number): void {
    if (!this.#hasOwner(ownerId)) throw new TrawlError("not-found", "there is no such owner (any more)");
    requireRoom(this.#idsOfOwner.count(ownerId), ofOwnerMax, "saved searches of this owner");
  }
}

/** As it is in the audit log: the path of a URL may be a secret. */
export function receiverName(notification: SearchNotification | undefined): string {
  if (notification === undefined) return "";
  const { url, format } = notification;
  return format === "MAIL" ? url : new URL(url).origin;
}

function checkText({ description, query }: SavedSearchText): void {
  if (description.trim() === "") throw new TrawlError("bad-request", "a saved search needs a description");
  if (description.length > descriptionCharsMax)
    throw new TrawlError("bad-request", `the description is longer than ${descriptionCharsMax} characters`);
  if (query.length > queryCharsMax)
    throw new TrawlError("bad-request", `the query is longer than ${queryCharsMax} characters`);
}
