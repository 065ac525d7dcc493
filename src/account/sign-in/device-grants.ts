import { randomInt } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import { hashOfSecretText, newSecretText } from "../identity/secret-text.js";
import { networkPrefix, attemptsIn, RateLimiter } from "../records/rate-limiter.js";

/** What a program gets to show to its user, and to ask with. */
export interface DeviceCodes {
  readonly deviceCode: string;
  /** The user compares it with what the program shows, or types it: eight letters with a dash. */
  readonly userCode: string;
  readonly lifetimeSeconds: number;
  readonly intervalSeconds: number;
}

/** The state of a grant, as the program that waits for it is told. */
export type PollOutcome =
  | { readonly kind: "pending" | "slow-down" | "denied" | "expired" }
  | { readonly kind: "approved"; readonly userId: number };

interface Grant {
  readonly userCode: string;
  readonly network: string;
  readonly expiresMs: number;
  intervalMs: number;
  polledMs: number;
  decision: { readonly kind: "denied" } | { readonly kind: "approved"; readonly userId: number } | undefined;
}

const lifetimeMs = 600_000;
const intervalMs = 5_000;
const slowerMs = 5_000;
/** A timer of the program may be early by this much. */
const earlyMs = 1_000;

const grantsMax = 1_000;
/** Of one network; a further one takes the place of the oldest that waits, so that nobody is locked out by many of them. */
const ofNetworkMax = 100;

/** Without vowels, so that no words appear, and without letters that look like others. */
const letters = "BCDFGHJKLMNPQRSTVWXZ";
const userCodeLetters = 8;

const hourMs = 3_600_000;
/** Starts from one network per hour, and codes that a user or network may try: one of 26 billion is right. */
const limitOfStarts = attemptsIn(hourMs, 600);
const limitOfTries = attemptsIn(hourMs, 60);

/**
 * Requests of programs to act for a user who signs in elsewhere (OAuth 2.0 device authorization, RFC 8628): the program
 * shows a code, its user approves that code in a browser, and the program, which asks every few seconds, is told once.
 *
 * They are held in memory for ten minutes: after a restart, the program begins again. Times are monotonic.
 */
export class DeviceGrants {
  /** By hash of the device code, the oldest first. */
  readonly #grants = new Map<string, Grant>();
  readonly #ofStarts = new RateLimiter(limitOfStarts);
  readonly #ofTries = new RateLimiter(limitOfTries);

  /** Throws `overloaded` if there are too many, or too many were begun from this network. */
  begin(from: string, nowMs: number): DeviceCodes {
    this.#removeExpired(nowMs);
    const network = networkPrefix(from);
    if (this.#ofStarts.begin(network, nowMs) > 0 || !this.#makeRoom(network))
      throw new TrawlError("overloaded", "too many programs are waiting to be authorized; try again in some minutes");
    const deviceCode = newSecretText();
    const userCode = newUserCode();
    this.#grants.set(hashOfSecretText(deviceCode), {
      userCode,
      network,
      expiresMs: nowMs + lifetimeMs,
      intervalMs,
      polledMs: -Infinity,
      decision: undefined,
    });
    return { deviceCode, userCode, lifetimeSeconds: lifetimeMs / 1000, intervalSeconds: intervalMs / 1000 };
  }

  /** False if there is none. Grants that are decided but not told stay. */
  #makeRoom(network: string): boolean {
    const ofNetwork = [...this.#grants].filter(([, grant]) => grant.network === network);
    if (ofNetwork.length < ofNetworkMax) return this.#grants.size < grantsMax;
    const [oldest] = ofNetwork.find(([, { decision }]) => decision === undefined) ?? [];
    return oldest !== undefined && this.#grants.delete(oldest);
  }

  /**
   * Decides about the grant with this code, for good. False if there is none that waits. `who` limits attempts. Throws
   * `overloaded` after too many.
   */
  decide(typed: string, userId: number | undefined, who: string, nowMs: number): boolean {
    this.#removeExpired(nowMs);
    if (this.#ofTries.begin(who, nowMs) > 0)
      throw new TrawlError("overloaded", "too many codes were tried; try again in an hour");
    const code = normalized(typed);
    const grant = [...this.#grants.values()].find((one) => one.userCode === code && one.decision === undefined);
    if (grant === undefined) return false;
    grant.decision = userId === undefined ? { kind: "denied" } : { kind: "approved", userId };
    return true;
  }

  /** Withdraws what the user has approved and no program was told yet, because the user's password has changed. */
  withdraw(userId: number): void {
    for (const grant of this.#grants.values())
      if (grant.decision?.kind === "approved" && grant.decision.userId === userId) grant.decision = { kind: "denied" };
  }

  /** A decision is told once. */
  poll(deviceCode: string, nowMs: number): PollOutcome {
    this.#removeExpired(nowMs);
    const key = hashOfSecretText(deviceCode);
    const grant = this.#grants.get(key);
    if (grant === undefined) return { kind: "expired" };
    if (grant.decision !== undefined) {
      this.#grants.delete(key);
      return grant.decision;
    }
    const isEarly = nowMs - grant.polledMs < grant.intervalMs - earlyMs;
    grant.polledMs = nowMs;
    if (isEarly) grant.intervalMs += slowerMs;
    return { kind: isEarly ? "slow-down" : "pending" };
  }

  #removeExpired(nowMs: number): void {
    for (const [key, { expiresMs }] of this.#grants) {
      if (expiresMs > nowMs) return;
      this.#grants.delete(key);
    }
  }
}

function newUserCode(): string {
  return normalized(Array.from({ length: userCodeLetters }, () => letters[randomInt(letters.length)]).join(""));
}

/** What people type: in any case, with or without the dash. */
function normalized(typed: string): string {
  const text = typed
    .slice(0, 32)
    .toUpperCase()
    .replace(/[^A-Z]/g, "");
  return `${text.slice(0, userCodeLetters / 2)}-${text.slice(userCodeLetters / 2)}`;
}
