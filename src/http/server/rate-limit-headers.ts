import type { Quota } from "../../model/quota.js";
import type { Headers } from "./headers.js";

/** The largest integer of a structured field (RFC 9651, 3.3.1). */
const integerMax = 999_999_999_999_999;

/**
 * The limits that apply to a request and the remaining quota of each, in the syntax of draft-ietf-httpapi-ratelimit-headers-11.
 * Each client reads only its own, so a partition key would say nothing.
 */
export function rateLimitHeaders(quotas: readonly Quota[]): Headers {
  if (quotas.length === 0) return {};
  return {
    "RateLimit-Policy": quotas.map(policyItem).join(", "),
    RateLimit: quotas.map(({ name, left, resetSeconds }) => limitItem(name, left, resetSeconds)).join(", "),
  };
}

/** What is said to a client that has to wait, of a limit that grows with each attempt. */
export function waitHeaders(name: string, seconds: number): Headers {
  return { "Retry-After": String(seconds), RateLimit: limitItem(name, 0, seconds) };
}

function policyItem({ name, unit, countMax, windowSeconds }: Quota): string {
  const quotaUnit = unit === "requests" ? "" : `;qu="${unit}"`;
  return `"${name}";q=${toInteger(countMax)}${quotaUnit}${windowSeconds === undefined ? "" : `;w=${windowSeconds}`}`;
}

function limitItem(name: string, left: number, seconds: number | undefined): string {
  return `"${name}";r=${toInteger(left)}${seconds === undefined ? "" : `;t=${toInteger(seconds)}`}`;
}

function toInteger(value: number): number {
  return Math.min(Math.max(0, Math.ceil(value)), integerMax);
}
