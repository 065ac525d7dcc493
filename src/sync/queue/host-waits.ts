import { callAfter, type PendingCall } from "../../base/deadline.js";
import { rateWaitMsMax } from "../../base/rate-limit.js";
import { hostAndPort } from "../../git/run/remote-url.js";
import type { Repository } from "../../model/repository.js";
import type { HostLimit } from "../../protocol/ingest-messages.js";

interface Wait {
  readonly untilMs: number;
  readonly timer: PendingCall;
}

/** A wait becomes longer by up to this share, so that hosts are not asked by everybody at once. */
const jitterShare = 0.1;

/** Hosts that allow no more requests for some time: none of their repositories is synced until then. */
export class HostWaits {
  readonly #onEnd: () => void;
  readonly #waits = new Map<string, Wait>();
  /** How often each host has refused since it last answered. */
  readonly #refusals = new Map<string, number>();
  /** The hosts of repositories, because URLs are parsed slowly. */
  readonly #hosts = new Map<string, string | undefined>();

  /** `onEnd` is called at the end of each wait. */
  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
  }

  /** The wait doubles with each refusal if the host has not said how long it is to be. */
  begin({ host, waitMs, isAsked }: HostLimit): void {
    const nowMs = new Date().getTime();
    const known = this.#waits.get(host);
    // Requests that were sent before the host refused are refused, too.
    const count = (this.#refusals.get(host) ?? 0) + (known === undefined ? 1 : 0);
    this.#refusals.set(host, count);
    const wantedMs = isAsked ? waitMs : Math.min(rateWaitMsMax, waitMs * 2 ** Math.min(count - 1, 20));
    const delayMs = wantedMs * (1 + Math.random() * jitterShare);
    if (known !== undefined && known.untilMs >= nowMs + wantedMs) return;
    known?.timer.cancel();
    const timer = callAfter(delayMs, () => {
      this.#waits.delete(host);
      this.#onEnd();
    });
    this.#waits.set(host, { untilMs: nowMs + delayMs, timer });
  }

  /** The host of the repository has answered. */
  recordAnswer({ url }: Repository): void {
    if (this.#refusals.size > 0) this.#refusals.delete(this.#host(url) ?? "");
  }

  /** Why the repository waits; undefined if it does not. */
  reason({ url }: Repository): string | undefined {
    if (this.#waits.size === 0) {
      this.#hosts.clear();
      return undefined;
    }
    const host = this.#host(url);
    const wait = host === undefined ? undefined : this.#waits.get(host);
    return wait === undefined
      ? undefined
      : `${host} allows no more requests until ${new Date(wait.untilMs).toISOString().slice(0, 19)}Z`;
  }

  #host(url: string): string | undefined {
    if (!this.#hosts.has(url)) this.#hosts.set(url, hostAndPort(url));
    return this.#hosts.get(url);
  }

  close(): void {
    for (const { timer } of this.#waits.values()) timer.cancel();
    this.#waits.clear();
  }
}
