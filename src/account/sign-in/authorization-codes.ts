import { hash, timingSafeEqual } from "node:crypto";
import { BoundedMap } from "../../base/bounded-map.js";
import { hashOfSecretText, newSecretText } from "../identity/secret-text.js";
import type { Approver } from "./device-grants.js";

/** What a code is good for. */
export interface CodeTerms {
  /** The `client_id`. */
  readonly client: string;
  readonly redirectUri: string;
  /** Of PKCE with S256. */
  readonly challenge: string;
  readonly resource: string;
}

/** With what a program asks for the tokens of a code. */
export interface GivenWithCode {
  readonly client: string;
  readonly redirectUri: string;
  readonly verifier: string;
  /** Undefined if it names none. */
  readonly resource: string | undefined;
}

export type CodeOutcome =
  | {
      readonly kind: "redeemed";
      readonly by: Approver;
      readonly note: string;
      /** Must be called with the id of the token, undefined if none was made, so that it ends if the code is used again. */
      readonly settle: (tokenId: number | undefined) => void;
    }
  | { readonly kind: "replayed"; readonly tokenId: Promise<number | undefined> }
  | { readonly kind: "refused"; readonly reason: string };

/** A program redeems a code as soon as the browser brings it. */
const lifetimeMs = 60_000;

/** Of all users, and of one: a further one takes the place of the oldest. */
const codesMax = 1_000;
const ofUserMax = 20;

/** How long the use of a code is remembered, and of how many. */
const usedMs = 600_000;
const usedMax = 5_000;

interface Code extends CodeTerms {
  readonly by: Approver;
  readonly note: string;
  readonly expiresMs: number;
}

/**
 * The codes by which programs get their tokens after users have approved them (RFC 6749, section 4.1, with PKCE, RFC 7636). A code can
 * be used once, also if it is refused: a second use ends the token of the first, because one of the two programs has copied it.
 *
 * They are held in memory for a minute: after a restart, the program begins again. Times are monotonic.
 */
export class AuthorizationCodes {
  /** By hash, the oldest first. */
  readonly #codes = new Map<string, Code>();
  readonly #used = new BoundedMap<string, { readonly tokenId: Promise<number | undefined>; readonly untilMs: number }>(
    usedMax,
    () => 1,
  );

  /** `note` is that of the token. */
  issue(terms: CodeTerms, by: Approver, note: string, nowMs: number): string {
    for (const [key, { expiresMs }] of this.#codes) {
      if (expiresMs > nowMs) break;
      this.#codes.delete(key);
    }
    const own = [...this.#codes].filter(([, code]) => code.by.userId === by.userId);
    const [oldest] = own.length >= ofUserMax ? own[0] : this.#codes.size >= codesMax ? [...this.#codes.keys()] : [];
    if (oldest !== undefined) this.#codes.delete(oldest);
    const text = newSecretText();
    this.#codes.set(hashOfSecretText(text), { ...terms, by, note, expiresMs: nowMs + lifetimeMs });
    return text;
  }

  redeem(text: string, given: GivenWithCode, nowMs: number): CodeOutcome {
    const key = hashOfSecretText(text);
    const used = this.#used.get(key);
    if (used !== undefined && used.untilMs > nowMs) return { kind: "replayed", tokenId: used.tokenId };
    const code = this.#codes.get(key);
    this.#codes.delete(key);
    if (code === undefined || code.expiresMs <= nowMs)
      return { kind: "refused", reason: "the code is unknown, used or expired: begin again" };
    const reason = findMismatch(code, given);
    if (reason !== undefined) return { kind: "refused", reason: `${reason}; the code ends: begin again` };
    let settle: (tokenId: number | undefined) => void = () => undefined;
    const tokenId = new Promise<number | undefined>((resolve) => (settle = resolve));
    this.#used.set(key, { tokenId, untilMs: nowMs + usedMs });
    return { kind: "redeemed", by: code.by, note: code.note, settle };
  }
}

function findMismatch(code: Code, { client, redirectUri, verifier, resource }: GivenWithCode): string | undefined {
  if (client !== code.client) return "the code was given to another program";
  if (redirectUri !== code.redirectUri) return "redirect_uri is not that of the authorization";
  if (resource !== undefined && resource !== code.resource) return "resource is not that of the authorization";
  if (!isVerifierFor(code.challenge, verifier)) return "code_verifier is not that of the authorization (PKCE)";
  return undefined;
}

function isVerifierFor(challenge: string, verifier: string): boolean {
  if (!/^[\w.~-]{43,128}$/.test(verifier)) return false;
  const found = Buffer.from(hash("sha256", verifier, "base64url"));
  return found.length === challenge.length && timingSafeEqual(found, Buffer.from(challenge));
}
