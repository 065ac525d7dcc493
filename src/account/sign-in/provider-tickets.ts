import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { newSecretText } from "../identity/secret-text.js";
import type { SignInChecks } from "./identity-provider.js";

/** One sign-in at a provider that has begun. */
export interface Ticket extends SignInChecks {
  readonly provider: string;
  /** The path to which the browser goes afterwards. */
  readonly returnTo: string;
  /** The user who links an account of the provider to theirs; absent for a sign-in. */
  readonly linksUserId?: number;
  readonly expiresMs: number;
}

/** Time for signing in at the provider. */
export const ticketMs = 600_000;

/** A longer path does not fit into a cookie. */
const returnToCharsMax = 1_500;

const statePattern = /^[0-9a-f]{64}$/;

/**
 * The sign-ins that have begun, each in a cookie of its browser: so nobody can fill a table with them, and the answer of a provider is
 * of use only in the browser that asked for it. A cookie is signed with a key of this process: what was begun before a restart has
 * to be begun again.
 */
export class ProviderTickets {
  readonly #key = randomBytes(32);

  issue(provider: string, returnTo: string, linksUserId: number | undefined, nowMs: number): Ticket {
    return {
      provider,
      returnTo: isOwnPath(returnTo) ? returnTo : "/",
      state: newSecretText(),
      nonce: newSecretText(),
      verifier: newSecretText(),
      expiresMs: nowMs + ticketMs,
      ...(linksUserId === undefined ? {} : { linksUserId }),
    };
  }

  /** The value of the cookie. */
  seal(ticket: Ticket): string {
    const text = Buffer.from(JSON.stringify(ticket)).toString("base64url");
    return `${text}.${this.#sign(text)}`;
  }

  /** The ticket in a cookie, if it is one for this answer; undefined otherwise. */
  open(cookie: string, provider: string, state: string, nowMs: number): Ticket | undefined {
    const [text = "", signature = ""] = cookie.split(".");
    const expected = Buffer.from(this.#sign(text));
    const given = Buffer.from(signature);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined;
    // Written by this process.
    const ticket = JSON.parse(Buffer.from(text, "base64url").toString()) as Ticket;
    return ticket.provider === provider && ticket.state === state && ticket.expiresMs > nowMs ? ticket : undefined;
  }

  #sign(text: string): string {
    return createHmac("sha256", this.#key).update(text).digest("base64url");
  }
}

/** The name of the cookie for the answer with this `state`: several tabs may sign in at once. Undefined for a state that is none. */
export function ticketCookie(state: string): string | undefined {
  return statePattern.test(state) ? `trawl-sign-in-${state.slice(0, 8)}` : undefined;
}

/** Whether it is a path of this site, and not the address of another one as browsers understand it. */
export function isOwnPath(path: string): boolean {
  return /^\/(?![/\\])[^\u0000-\u0020\\\u007f]*$/.test(path) && path.length <= returnToCharsMax;
}
