import { TrawlError } from "../../base/errors.js";

const dayMs = 86_400_000;

export interface LifetimeSettings {
  /** Of a token for which nothing else is asked. */
  readonly defaultDays: number;
  readonly longestDays: number;
  /** Whether a token may be asked for that never ends. */
  readonly allowsNever: boolean;
}

/** How long access tokens live: each ends by itself unless that is allowed and asked for. */
export class TokenLifetimes {
  readonly #settings: LifetimeSettings;

  constructor(settings: LifetimeSettings) {
    this.#settings = settings;
  }

  get allowsNever(): boolean {
    return this.#settings.allowsNever;
  }

  /**
   * Milliseconds until a new token ends, undefined for never; `asked` is undefined where nothing was asked. Throws
   * `bad-request` for what is not allowed.
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
