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
  | { readonly kind: "approved"; readonly by: Approver };

/** Who approves a program. What ends the session, such as a new password, ends an approval that was not told. */
export interface Approver {
  readonly userId: number;
  readonly sessionId: string;
}

interface Grant {
  readonly userCode: string;
  /** The id of the program that began it. */
  readonly client: string;
  readonly network: string;
  readonly expiresMs: number;
  intervalMs: number;
  polledMs: number;
  decision: { readonly kind: "denied" } | { readonly kind: "approved"; readonly by: Approver } | undefined;
}

const lifetimeMs = 600_000;
const intervalMs = 5_000;
const slowerMs = 5_000;
/** A timer of the program may be early by this much. */
const earlyMs = 1_000;

const grantsMax = 1_000;
/**
 * Of one network; a further one takes the place of the oldest that waits, so that nobody is locked out by many of them. If
 * there are too many of all, it takes that of the oldest of the network that has most.
 */
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
  begin(from: string, client: string, nowMs: number): DeviceCodes {
    this.#removeExpired(nowMs);
    const network = networkPrefix(from);
    if (this.#ofStarts.begin(network, nowMs) > 0 || !this.#makeRoom(network))
      throw new TrawlError("overloaded", "too many programs are waiting to be authorized; try again in some minutes");
    const deviceCode = newSecretText();
    const userCode = newUserCode();
    this.#grants.set(hashOfSecretText(deviceCode), {
      userCode,
      client,
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
    const counts = new Map<string, number>();
    for (const grant of this.#grants.values())
      if (grant.decision === undefined) counts.set(grant.network, (counts.get(grant.network) ?? 0) + 1);
    const own = counts.get(network) ?? 0;
    if (own < ofNetworkMax && this.#grants.size < grantsMax) return true;
    const [most, count] = own >= ofNetworkMax ? [network, own] : [...counts].reduce(greater, [network, own]);
    // Where each network has few of them, those that wait come first.
    if (most !== network && count <= own + 1) return false;
    const [oldest] =
      [...this.#grants].find(([, grant]) => grant.network === most && grant.decision === undefined) ?? [];
    return oldest !== undefined && this.#grants.delete(oldest);
  }

  /**
   * Decides about the grant with this code, for good. False if there is none that waits. `who` limits attempts. Throws
   * `overloaded` after too many.
   */
  decide(typed: string, by: Approver | undefined, who: string, nowMs: number): boolean {
    this.#removeExpired(nowMs);
    if (this.#ofTries.begin(who, nowMs) > 0)
      throw new TrawlError("overloaded", "too many codes were tried; try again in an hour");
    const code = normalized(typed);
    const grant = [...this.#grants.values()].find((one) => one.userCode === code && one.decision === undefined);
    if (grant === undefined) return false;
    grant.decision = by === undefined ? { kind: "denied" } : { kind: "approved", by };
    return true;
  }

  /** A decision is told once, and only to the program that began. */
  poll(deviceCode: string, client: string, nowMs: number): PollOutcome {
    this.#removeExpired(nowMs);
    const key = hashOfSecretText(deviceCode);
    const grant = this.#grants.get(key);
    if (grant?.client !== client) return { kind: "expired" };
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

type CountOfNetwork = readonly [network: string, count: number];

function greater(a: CountOfNetwork, b: CountOfNetwork): CountOfNetwork {
  return b[1] > a[1] ? b : a;
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
