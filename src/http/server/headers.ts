import type { Quota } from "../../model/client.js";

/** Header names are written as given. */
export type Headers = Readonly<Record<string, string>>;

export const plainText: Headers = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };

/** The reason phrases of the statuses in use. */
export const statusText: Readonly<Record<number, string>> = {
  200: "OK",
  201: "Created",
  202: "Accepted",
  204: "No Content",
  206: "Partial Content",
  302: "Found",
  303: "See Other",
  304: "Not Modified",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  409: "Conflict",
  413: "Payload Too Large",
  414: "URI Too Long",
  415: "Unsupported Media Type",
  416: "Range Not Satisfiable",
  421: "Misdirected Request",
  422: "Unprocessable Entity",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  500: "Internal Server Error",
  501: "Not Implemented",
  502: "Bad Gateway",
  503: "Service Unavailable",
  505: "HTTP Version Not Supported",
  507: "Insufficient Storage",
};

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
