import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { errorMessage, TrawlError } from "../base/errors.js";

/** A request was refused until a time. */
export class RateLimitError extends TrawlError {
  readonly waitMs: number;

  constructor(host: string, waitMs: number) {
    super("too-many-requests", `${host} allows no more requests for ${Math.ceil(waitMs / 1000)} s`);
    this.waitMs = waitMs;
  }
}

export interface HostResponse {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

const requestMs = 30_000;

/** A page of 100 repositories takes less than 1 MB. */
const bodyBytesMax = 16 * 1024 * 1024;

/** A host that asks for a longer wait is asked again after this. */
const waitMsMax = 3_600_000;
const waitMsDefault = 60_000;

/**
 * Reads a URL. Redirects are not followed: the token would be sent to another place. Throws a `RateLimitError` if the
 * host refuses because of its limits, and `not-found` for 404; other failures are `git` errors that name the host.
 */
export async function readUrl(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<HostResponse> {
  const response = await begin(url, headers, signal);
  const text = await readBody(response, url.host);
  const { statusCode: status = 0 } = response;
  if (status === 200) return { status, headers: response.headers, text };
  if (isRateLimited(response)) throw new RateLimitError(url.host, waitAsked(response, new Date().getTime()));
  const message = `${url.origin}${url.pathname} answered ${status}: ${text.slice(0, 200).replaceAll(/\s+/g, " ")}`;
  if (status === 404) throw new TrawlError("not-found", message);
  if (status === 401 || status === 403) throw new TrawlError("forbidden", `${message}; check the token`);
  if (status >= 300 && status < 400)
    throw new TrawlError("bad-config", `${message}; it redirects to ${response.headers.location}: configure that URL`);
  throw new TrawlError("git", message);
}

function begin(url: URL, headers: Readonly<Record<string, string>>, signal: AbortSignal): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const make = url.protocol === "https:" ? httpsRequest : httpRequest;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(requestMs)]);
    const request = make(url, { headers: { "User-Agent": "trawl", ...headers }, signal: limited }, resolve);
    request.on("error", (cause) =>
      reject(new TrawlError("git", `${url.host} cannot be reached: ${errorMessage(cause)}`, { cause })),
    );
    request.end();
  });
}

async function readBody(response: IncomingMessage, host: string): Promise<string> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  try {
    for await (const part of response as AsyncIterable<Buffer>) {
      byteCount += part.length;
      if (byteCount > bodyBytesMax) throw new TrawlError("git", `${host} sent more than ${bodyBytesMax} bytes at once`);
      parts.push(part);
    }
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    throw new TrawlError("git", `${host} ended its response early: ${errorMessage(error)}`, { cause: error });
  }
  return Buffer.concat(parts).toString();
}

function isRateLimited({ statusCode, headers }: IncomingMessage): boolean {
  if (statusCode === 429) return true;
  const isOut = headers["x-ratelimit-remaining"] === "0" || headers["retry-after"] !== undefined;
  return (statusCode === 403 || statusCode === 503) && isOut;
}

/** `Retry-After` in seconds, or the time of the reset in seconds since 1970, as GitHub and GitLab send it. */
function waitAsked({ headers }: IncomingMessage, nowMs: number): number {
  const after = Number(headers["retry-after"]);
  const reset = Number(headers["x-ratelimit-reset"] ?? headers["ratelimit-reset"]);
  const waitMs = after > 0 ? after * 1000 : reset > 0 ? reset * 1000 - nowMs : waitMsDefault;
  return Math.min(Math.max(waitMs, 1_000), waitMsMax);
}
