import { TrawlError } from "../../base/errors.js";

const dayMs = 86_400_000;

export interface LifetimeSettings {
  /** The lifetime of a token if none is requested. */
  readonly defaultDays: number;
  readonly longestDays: number;
  /** Whether tokens without expiry may be requested. */
  readonly allowsNever: boolean;
}

/** Lifetimes of access tokens: each expires unless a token without expiry is allowed and requested. */
export class TokenLifetimes {
  readonly #settings: LifetimeSettings;

  constructor(settings: LifetimeSettings) {
    this.#settings = settings;
  }

  get allowsNever(): boolean {
    return this.#settings.allowsNever;
  }

  /**
   * Milliseconds until a new token expires, undefined for never; `asked` is undefined if nothing was requested. Throws
   * `bad-request` if the request is not allowed.
   */
  lifetimeMs(asked: number | "never" | undefined): number | undefined {
    const { defaultDays, longestDays, allowsNever } = this.#settings;
    if (asked === undefined) return Math.min(defaultDays, longestDays) * dayMs;
    if (asked === "never") {
      if (allowsNever) return undefined;
      throw new TrawlError(
        "bad-request",
        `access tokens without expiry are not allowed: request at most ${longestDays} days, or set auth.allowTokensWithoutExpiry`,
      );
    }
    if (asked > longestDays * dayMs)
      throw new TrawlError(
        "bad-request",
        `the access token would be valid for more than ${longestDays} days, the maximum set by auth.maxTokenDays`,
      );
    return asked;
  }
}
