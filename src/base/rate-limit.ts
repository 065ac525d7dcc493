import { TrawlError } from "./errors.js";

/** A request was refused until a time. */
export class RateLimitError extends TrawlError {
  readonly host: string;
  readonly waitMs: number;
  /** Whether the host has said for how long. */
  readonly isAsked: boolean;
  readonly limit: string;

  /** `limit` names the limit, if the host does. */
  constructor(host: string, { waitMs, isAsked, limit }: RateLimit) {
    super("too-many-requests", `${host} allows no more requests for ${Math.ceil(waitMs / 1000)} s${limit}`);
    this.host = host;
    this.waitMs = waitMs;
    this.isAsked = isAsked;
    this.limit = limit;
  }
}

/** Why a host refuses requests, and for how long. */
export interface RateLimit {
  readonly waitMs: number;
  readonly isAsked: boolean;
  /** The end of a sentence. */
  readonly limit: string;
}

export type ReceivedHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** A host that asks for a longer wait is asked again after this. */
export const rateWaitMsMax = 3_600_000;
const waitMsDefault = 60_000;

/** The limit because of which a host has refused a request; undefined if it refused for another reason. */
export function findRateLimit(
  status: number,
  headers: ReceivedHeaders,
  text: string,
  nowMs: number,
): RateLimit | undefined {
  if (status !== 429 && status !== 403 && status !== 503) return undefined;
  // GitHub limits the rate of requests beside their number, and then need not send any header.
  const isSecondary = /secondary rate limit|abuse detection/i.test(text);
  const isOut = headers["x-ratelimit-remaining"] === "0" || headers["retry-after"] !== undefined;
  if (!isSecondary && !isOut && status !== 429) return undefined;
  const waitMs = waitAsked(headers, nowMs);
  return {
    waitMs: Math.min(Math.max(waitMs ?? waitMsDefault, 1_000), rateWaitMsMax),
    isAsked: waitMs !== undefined,
    limit: isSecondary ? " (its secondary rate limit, on many requests at once)" : "",
  };
}

/** `Retry-After` in seconds or as a date, or the time of the reset in seconds since 1970, as GitHub and GitLab send it. */
function waitAsked(headers: ReceivedHeaders, nowMs: number): number | undefined {
  const asked = String(headers["retry-after"] ?? "");
  const reset = Number(headers["x-ratelimit-reset"] ?? headers["ratelimit-reset"]);
  const dateMs = /[a-z]/i.test(asked) ? Date.parse(asked) - nowMs : Number.NaN;
  const afterMs = Number.isNaN(dateMs) ? Number(asked) * 1000 : Math.max(dateMs, 1);
  return afterMs > 0 ? afterMs : reset > 0 ? reset * 1000 - nowMs : undefined;
}
