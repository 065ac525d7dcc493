import { randomBytes } from "node:crypto";
import type { NotificationFormat, SavedSearch, SearchNotification } from "../account/settings/saved-searches.js";
import type { Author } from "../account/records/audit-log.js";
import { type RateLimitPolicy, RateLimiter } from "../account/records/rate-limiter.js";
import { monotonicMs } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";
import type { AddedRecords, RepositoryChange } from "../catalog/catalog-change.js";
import { anonymous, type Viewer } from "../model/viewer.js";
import { ChangeJournal } from "./change-journal.js";
import { DeliveryQueue } from "./delivery-queue.js";
import { type DeliveryRecord, DeliveryStore, pendingMax } from "./delivery-store.js";
import { Evaluator, searchRequest } from "./evaluator.js";
import { MailSender } from "./mail.js";
import type { NotifyEnvironment } from "./notify-environment.js";
import { type StoredPayload, sumCounts } from "./payload.js";
import { PositionStore, type SearchPosition } from "./position-store.js";
import { Receivers } from "./receivers.js";
import { secretPrefix } from "./message.js";

const secretBytes = 32;

/** Tests of one owner: nobody's mailbox or chat is to be filled by them. */
const limitOfTests: RateLimitPolicy = {
  freeCount: 50,
  firstWaitMs: 10_000,
  longestWaitMs: 60_000,
  periodMs: 3_600_000,
};

/**
 * Notifications of saved searches: when repositories have changed, the searches of their owners are evaluated, and what
 * came, went and moved in their results is delivered to their webhooks, chats and mailboxes.
 */
export class Notifications {
  readonly #environment: NotifyEnvironment;
  readonly #receivers: Receivers;
  readonly #mail: MailSender;
  readonly #journal: ChangeJournal;
  readonly #positions: PositionStore;
  readonly #deliveries: DeliveryStore;
  readonly #queue: DeliveryQueue;
  /** Messages without changes, by owner. */
  readonly #tests = new RateLimiter(limitOfTests);
  readonly #evaluator: Evaluator;

  /** Throws `bad-config`. */
  constructor(environment: NotifyEnvironment) {
    const { store, accounts, limits } = environment;
    const { savedSearches } = accounts;
    this.#environment = environment;
    this.#receivers = new Receivers(limits.origins, limits.networks);
    this.#mail = new MailSender(environment.mail);
    this.#journal = new ChangeJournal(store, () => savedSearches.notifying.size > 0);
    this.#positions = new PositionStore(store);
    this.#deliveries = new DeliveryStore(store);
    const find = (id: number): SavedSearch | undefined => this.#find(id);
    const viewerOf = (search: SavedSearch): Viewer | undefined => this.#viewerOf(search);
    this.#queue = new DeliveryQueue({
      environment,
      deliveries: this.#deliveries,
      receivers: this.#receivers,
      mail: this.#mail,
      find,
      viewerOf,
      onEnded: () => this.#evaluator.schedule(),
    });
    this.#evaluator = new Evaluator({
      environment,
      journal: this.#journal,
      positions: this.#positions,
      find,
      viewerOf,
      hasRoom: (id) =>
        this.#deliveries.pendingBytes < limits.queueBytes && this.#deliveries.pendingOf(id).length < pendingMax,
      enqueue: (search, payload, position) => this.#add(search, payload, position),
    });
    this.#journal.onChange = () => this.#evaluator.schedule();
  }

  *load(): Generator<void, void> {
    yield* this.#journal.load();
    yield* this.#positions.load();
    yield* this.#deliveries.load();
  }

  async start(): Promise<void> {
    // Not before: loading the saved searches turns nothing on. The table still has the earlier record when it calls this.
    this.#environment.accounts.savedSearches.onNotificationChanged = (id) => setImmediate(() => void this.#forget(id));
    for (const id of this.#deliveries.searchIds())
      if (this.#find(id) === undefined) await this.#deliveries.removeOf(id);
    this.#queue.start();
    this.#evaluator.start();
  }

  async stop(): Promise<void> {
    await Promise.all([this.#evaluator.stop(), this.#queue.stop()]);
  }

  /** For `Catalog.onStaging`. */
  stage(changed: readonly RepositoryChange[]): AddedRecords | undefined {
    return this.#journal.stage(changed);
  }

  /** Throws `bad-query`, or `bad-request` if the query is not one of whose results the new ones can be found. */
  async requireEvaluable(search: Pick<SavedSearch, "query" | "ownerId">, viewer: Viewer): Promise<void> {
    await this.#environment.searcher.watchedKind(searchRequest(search, viewer));
  }

  /**
   * Turns notifications on, from now on, or sends them to another address; the secret is a new one. Caller guarantees: the
   * author may act for the owner of the search.
   */
  async enable(
    search: SavedSearch,
    { url, format }: Pick<SearchNotification, "url"> & { readonly format: NotificationFormat },
    author: Author,
    viewer: Viewer,
  ): Promise<SavedSearch> {
    const address = format === "MAIL" ? `mailto:${this.#mail.require(url)}` : this.#receivers.require(url).href;
    await this.requireEvaluable(search, viewer);
    const { savedSearches } = this.#environment.accounts;
    const { countMax } = this.#environment.limits;
    if (search.notification === undefined && savedSearches.notifying.size >= countMax)
      throw new TrawlError(
        "too-many-requests",
        `there are too many saved searches with notifications (notifications.countMax is ${countMax})`,
      );
    const notification = {
      url: address,
      format,
      // Neither chats nor readers of mail look at a signature.
      secret: format === "WEBHOOK" ? secretPrefix + randomBytes(secretBytes).toString("base64") : "",
      enabledBy: author.id,
      enabledAt: new Date().toISOString(),
      key: randomBytes(8).toString("hex"),
      position: this.#journal.position,
    };
    return savedSearches.update(search.id, { notification }, author);
  }

  /** What waits is not delivered any more. */
  disable({ id }: SavedSearch, author: Author): Promise<SavedSearch> {
    return this.#environment.accounts.savedSearches.update(id, { notification: undefined }, author);
  }

  /** Sends a message without changes. Throws `bad-request` if notifications are off, and `too-many-requests`. */
  async test(search: SavedSearch): Promise<DeliveryRecord> {
    if (search.notification === undefined)
      throw new TrawlError("bad-request", "the saved search has no notifications: turn them on first");
    if (this.#deliveries.pendingOf(search.id).length >= pendingMax)
      throw new TrawlError("too-many-requests", `${pendingMax} deliveries of this search are waiting already`);
    const waitMs = this.#tests.begin(String(search.ownerId), monotonicMs());
    if (waitMs > 0)
      throw new TrawlError("too-many-requests", `too many tests: try again in ${Math.ceil(waitMs / 1000)} s`);
    return this.#add(search, { event: "ping", repositories: [], matches: [] }, undefined);
  }

  usage(): { readonly searchCount: number; readonly waitingCount: number; readonly waitingBytes: number } {
    return {
      searchCount: this.#environment.accounts.savedSearches.notifying.size,
      waitingCount: this.#deliveries.pendingCount,
      waitingBytes: this.#deliveries.pendingBytes,
    };
  }

  /** Recent deliveries of a search, the newest first. */
  deliveries({ id, notification }: SavedSearch): readonly DeliveryRecord[] {
    return notification === undefined ? [] : this.#deliveries.of(id).toReversed();
  }

  #find(id: number): SavedSearch | undefined {
    const search = this.#environment.accounts.savedSearches.get(id);
    return search?.notification === undefined ? undefined : search;
  }

  #viewerOf(search: SavedSearch): Viewer | undefined {
    return ownerViewer(search, this.#environment.accounts);
  }

  /** Stores a delivery, with the position of its search in one transaction. */
  async #add(
    search: SavedSearch,
    payload: StoredPayload,
    position: SearchPosition | undefined,
  ): Promise<DeliveryRecord> {
    const bytes = Buffer.from(JSON.stringify(payload));
    const number = this.#deliveries.newNumber();
    const delivery: DeliveryRecord = {
      id: `${search.id}-${number}-${randomBytes(8).toString("hex")}`,
      searchId: search.id,
      number,
      event: payload.event,
      counts: sumCounts(payload.repositories),
      payloadBytes: bytes.length,
      createdAt: new Date().toISOString(),
      state: "PENDING",
      attempts: 0,
      lastAttemptAt: "",
      error: "",
    };
    const added = [this.#deliveries.adding(delivery, bytes)];
    if (position !== undefined) added.push(this.#positions.setting(search, position));
    await this.#environment.store.apply(added.flatMap(({ records }) => records));
    for (const { show } of added) show();
    if (this.#find(search.id)?.notification?.key === search.notification?.key) this.#queue.add(search.id);
    else await this.#deliveries.removeOf(search.id);
    return delivery;
  }

  /** A notification was turned on or off: what waits is not to be delivered. */
  async #forget(id: number): Promise<void> {
    this.#queue.forget(id);
    try {
      await this.#deliveries.removeOf(id);
    } catch (error) {
      this.#environment.log.warn({ search: id, err: error }, "deliveries of a saved search could not be removed");
    }
    this.#evaluator.schedule();
  }
}

/**
 * As whom a saved search is evaluated: its owner, with the permissions of this moment. An organization sees what all of
 * its members see. Undefined if whoever turned notifications on may not act for the owner any more, or is gone.
 */
function ownerViewer(
  { ownerId, notification }: SavedSearch,
  accounts: NotifyEnvironment["accounts"],
): Viewer | undefined {
  const enabler = notification === undefined ? undefined : accounts.activeUser(notification.enabledBy);
  if (enabler === undefined) return undefined;
  const user = accounts.activeUser(ownerId);
  if (user !== undefined) return enabler.id === user.id || enabler.isSiteAdmin ? accounts.toViewer(user) : undefined;
  const organization = accounts.organizations.get(ownerId);
  if (organization === undefined) return undefined;
  if (!enabler.isSiteAdmin && !organization.memberIds.includes(enabler.id)) return undefined;
  return { ...anonymous, name: organization.name, readerNames: [organization.name.toLowerCase()] };
}
