import { receiverName, type SavedSearch, type SearchNotification } from "../account/settings/saved-searches.js";
import { callAfter, type PendingCall } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { maySee } from "../catalog/visible-tables.js";
import type { Viewer } from "../model/viewer.js";
import type { DeliveryRecord, DeliveryState, DeliveryStore } from "./delivery-store.js";
import { announce } from "./announcement.js";
import type { NotifyEnvironment } from "./notify-environment.js";
import { mailProblem, type MailSender } from "./mail.js";
import { toMessage } from "./message.js";
import { type BodyHeader, type StoredPayload, visiblePart } from "./payload.js";
import { type Delivered, post } from "./post.js";
import type { Receivers } from "./receivers.js";

/** A look-up of a name occupies one of the threads that also read and write files, so only a few run at once. */
const concurrentMax = 2;

/** Beside those, one mail: a mail server that hangs holds up mail only. */
const mailsMax = 1;

/** Longest time between two attempts, also if a receiver asks for a longer one. */
const retryMsMax = 3 * 3_600_000;

/** After an error of the disk, the state of a delivery is written again after this time. */
const storeRetryMs = 5_000;

export interface QueueServices {
  readonly environment: NotifyEnvironment;
  readonly deliveries: DeliveryStore;
  readonly receivers: Receivers;
  readonly mail: MailSender;
  /** The search with its notification; undefined if that is off. */
  readonly find: (searchId: number) => SavedSearch | undefined;
  readonly viewerOf: (search: SavedSearch) => Viewer | undefined;
  /** Called when a delivery has ended, so that its search may be evaluated again. */
  readonly onEnded: () => void;
}

/** What an owner is told of an error of ours. */
const ownProblem = "the message could not be made; the log of the server says why";

/**
 * Delivers what waits: those of one saved search one after another, a few searches at a time. A delivery that is not
 * accepted is tried again later, with the same id, up to a number of attempts; so is one whose outcome is unknown
 * because the daemon was killed. Times between attempts are measured by the monotonic clock, and begin anew at a start.
 */
export class DeliveryQueue {
  readonly #services: QueueServices;
  /** Searches whose first delivery can be attempted now, in the order in which they became ready. */
  readonly #ready = new Set<number>();
  readonly #running = new Map<number, Promise<void>>();
  /** Those of the running searches that send mail. */
  readonly #mailing = new Set<number>();
  readonly #waiting = new Map<number, PendingCall>();
  readonly #stop = new AbortController();
  #isOpen = false;

  constructor(services: QueueServices) {
    this.#services = services;
  }

  start(): void {
    this.#isOpen = true;
    for (const searchId of this.#services.deliveries.searchIds()) this.add(searchId);
  }

  /** Attempts that are running are given up, and repeated after the next start. */
  async stop(): Promise<void> {
    this.#isOpen = false;
    for (const retry of this.#waiting.values()) retry.cancel();
    this.#stop.abort();
    await Promise.all(this.#running.values());
  }

  /** Must be called when a search has a further delivery. */
  add(searchId: number): void {
    if (this.#running.has(searchId) || this.#waiting.has(searchId)) return;
    if (this.#services.deliveries.pendingOf(searchId).length === 0) return;
    this.#ready.add(searchId);
    this.#fill();
  }

  /** Must be called when the deliveries of a search have been removed. */
  forget(searchId: number): void {
    this.#waiting.get(searchId)?.cancel();
    this.#waiting.delete(searchId);
    this.#ready.delete(searchId);
  }

  #fill(): void {
    for (const searchId of this.#ready) {
      if (!this.#isOpen) return;
      const isMail = this.#services.find(searchId)?.notification?.format === "MAIL";
      const [count, countMax] = isMail
        ? [this.#mailing.size, mailsMax]
        : [this.#running.size - this.#mailing.size, concurrentMax];
      if (count >= countMax) continue;
      this.#ready.delete(searchId);
      if (isMail) this.#mailing.add(searchId);
      const done = this.#attemptFirst(searchId).then((retryMs) => {
        this.#running.delete(searchId);
        this.#mailing.delete(searchId);
        if (!this.#isOpen) return;
        if (retryMs > 0) this.#wait(searchId, retryMs);
        else this.add(searchId);
        this.#fill();
      });
      this.#running.set(searchId, done);
    }
  }

  #wait(searchId: number, retryMs: number): void {
    const retry = callAfter(retryMs, () => {
      this.#waiting.delete(searchId);
      this.add(searchId);
    });
    this.#waiting.set(searchId, retry);
  }

  /** Returns the time until the next attempt; 0 if the delivery has ended. Never rejects. */
  async #attemptFirst(searchId: number): Promise<number> {
    const { deliveries, environment, onEnded } = this.#services;
    const { metrics } = environment;
    const [delivery] = deliveries.pendingOf(searchId);
    if (delivery === undefined) return 0;
    try {
      const { state, outcome, attempts } = await this.#attempt(delivery);
      if (this.#stop.signal.aborted) return 0;
      const { status, error } = outcome;
      const lastAttemptAt = attempts > delivery.attempts ? new Date().toISOString() : delivery.lastAttemptAt;
      if (outcome.detail !== undefined)
        environment.log.warn({ search: searchId, error: outcome.detail }, "a notification was not sent");
      if (state !== "DELIVERED") this.#audit(searchId, state, error);
      await deliveries.update({ ...delivery, state, attempts, lastAttemptAt, status, error });
      // It was removed meanwhile, as by another address: what follows does not wait for it.
      if (!deliveries.has(delivery)) return 0;
      if (attempts > delivery.attempts)
        metrics.notificationAttempts.inc({ outcome: state === "DELIVERED" ? "accepted" : "refused" });
      if (state !== "PENDING") metrics.notificationsEnded.inc({ outcome: state.toLowerCase() });
      if (state !== "PENDING") onEnded();
      return state === "PENDING" ? this.#retryMs(attempts, outcome.waitMs) : 0;
    } catch (error) {
      environment.log.warn({ search: searchId, error: errorMessage(error) }, "a notification could not be delivered");
      return storeRetryMs;
    }
  }

  /** What an owner is told of an attempt, for the operator. */
  #audit(searchId: number, state: DeliveryState, reason: string): void {
    const search = this.#services.find(searchId);
    if (search?.notification === undefined) return;
    const to = receiverName(search.notification);
    const owner = this.#ownerName(search);
    this.#services.environment.audit.recordUndelivered({ owner, savedSearch: searchId, to, state, reason });
  }

  #ownerName({ ownerId }: SavedSearch): string {
    const { accounts } = this.#services.environment;
    return (accounts.user(ownerId) ?? accounts.organizations.get(ownerId))?.name ?? "";
  }

  #retryMs(attempts: number, waitMs: number | undefined): number {
    const usualMs = this.#services.environment.limits.retryMs * 3 ** (attempts - 1);
    // Not sooner than usual, even if the receiver says so: otherwise the attempts would be over in seconds.
    return Math.min(Math.max(waitMs ?? 0, usualMs), retryMsMax);
  }

  async #attempt(
    delivery: DeliveryRecord,
  ): Promise<{ readonly state: DeliveryState; readonly outcome: Delivered; readonly attempts: number }> {
    const { find, viewerOf, environment, deliveries } = this.#services;
    const search = find(delivery.searchId);
    const viewer = search === undefined ? undefined : viewerOf(search);
    const payload = deliveries.payload(delivery);
    const visible = payload === undefined || viewer === undefined ? undefined : this.#visible(payload, viewer);
    if (search?.notification === undefined || visible === undefined) {
      const outcome = { status: undefined, error: "the owner may no longer see what changed" };
      return { state: "WITHHELD", outcome, attempts: delivery.attempts };
    }
    const attempts = delivery.attempts + 1;
    const outcome = await this.#send(search.notification, this.#header(delivery, search), visible);
    if (outcome.error === "") return { state: "DELIVERED", outcome, attempts };
    const hasFailed = outcome.isFinal === true || attempts >= environment.limits.attemptsMax;
    return { state: hasFailed ? "FAILED" : "PENDING", outcome, attempts };
  }

  #visible(payload: StoredPayload, viewer: Viewer): StoredPayload | undefined {
    return visiblePart(payload, (id) => {
      const repository = this.#services.environment.repository(id);
      return repository !== undefined && repository.removedAt === "" && maySee(repository, viewer);
    });
  }

  #header({ id, createdAt }: DeliveryRecord, search: SavedSearch): BodyHeader {
    const { searchKey, baseUrl: getBaseUrl } = this.#services.environment;
    const baseUrl = getBaseUrl();
    const url = `${baseUrl}/search?${new URLSearchParams({ q: search.query, patternType: "standard" })}`;
    return { id, createdAt, search, owner: this.#ownerName(search), searchId: searchKey(search.id), url, baseUrl };
  }

  /** The operator's lists may have changed since the address was accepted. */
  async #send(notification: SearchNotification, header: BodyHeader, payload: StoredPayload): Promise<Delivered> {
    const { receivers, mail, environment } = this.#services;
    const { url, format } = notification;
    try {
      if (format === "MAIL") {
        const one = {
          id: header.id,
          event: payload.event,
          to: mail.require(url),
          announcement: announce(header, payload),
        };
        return await mail.send(one, this.#stop.signal);
      }
      const to = receivers.require(url);
      const message = toMessage(notification, header, payload, (id) => environment.repository(id)?.name ?? "");
      return await post(to, message, receivers, environment.userAgent, this.#stop.signal);
    } catch (error) {
      // An error of ours would happen again at each attempt, and hold up all that follows.
      if (!(error instanceof TrawlError)) return { status: undefined, error: ownProblem, detail: errorMessage(error) };
      // About a file of the operator's, and not the address that the user gave.
      if (error.code === "bad-config") return { status: undefined, error: mailProblem, detail: error.message };
      return { status: undefined, error: error.message };
    }
  }
}
