import { type ErrorCode, errorMessage, TrawlError } from "../base/errors.js";
import { findRateLimit, RateLimitError, type ReceivedHeaders } from "../base/rate-limit.js";
import { type HttpResponse, openHttp } from "../git/run/http.js";

export interface HostResponse {
  readonly status: number;
  readonly headers: ReceivedHeaders;
  readonly text: string;
  /** When the host says that it answered; "" if it does not. */
  readonly date: string;
}

/** What a request is beyond its URL and its headers. */
export interface HostRequest {
  readonly method?: "GET" | "POST";
  /** JSON. */
  readonly body?: string;
  readonly bodyBytesMax: number;
}

/** A host refused a request, or answered with something else than was asked for. */
export class HostError extends TrawlError {
  /** Of HTTP. */
  readonly status: number;
  /** See `HostResponse`. */
  readonly date: string;

  constructor(code: ErrorCode, status: number, message: string, date = "") {
    super(code, message);
    this.status = status;
    this.date = date;
  }
}

const requestMs = 30_000;

/** A page of 100 repositories takes less than 1 MB. */
const pageRequest: HostRequest = { bodyBytesMax: 16 * 1024 * 1024 };

/**
 * Reads a URL, through the proxy and with the certificate authorities that git uses. Redirects are not followed: the token
 * would be sent to another place. Throws a `RateLimitError` if the host refuses because of its limits, and a `HostError` for another
 * status than 200, and 201 to a POST, with `not-found` for 404; other failures are `git` errors that name the host.
 */
export async function readUrl(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  request: HostRequest = pageRequest,
): Promise<HostResponse> {
  const response = await exchange(url, headers, signal, request);
  const { status, headers: received, text, date } = response;
  if (status === 200 || (status === 201 && request.method === "POST")) return response;
  const limit = findRateLimit(status, received, text, new Date().getTime());
  if (limit !== undefined) throw new RateLimitError(url.host, limit);
  // An answer that a proxy has changed may still have the secret that was asked for.
  const said = status < 300 ? "" : `: ${text.slice(0, 200).replaceAll(/\s+/g, " ")}`;
  const message = `${url.origin}${url.pathname} answered ${status}${said}`;
  if (status === 404) throw new HostError("not-found", status, message, date);
  // Azure DevOps answers with a page for people and 203 if it does not accept a token.
  if (status === 401 || status === 403 || status === 203)
    throw new HostError("forbidden", status, `${message}; check the token`, date);
  if (status >= 300 && status < 400)
    throw new HostError(
      "bad-config",
      status,
      `${message}; it redirects to ${String(received["location"])}: configure that URL`,
    );
  throw new HostError("git", status, message, date);
}

async function exchange(
  url: URL,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  { method = "GET", body, bodyBytesMax }: HostRequest,
): Promise<HostResponse> {
  const limited = AbortSignal.any([signal, AbortSignal.timeout(requestMs)]);
  const sent = body === undefined ? headers : { ...headers, "Content-Type": "application/json" };
  const response = await openHttp(url, { method, headers: sent, body, signal: limited });
  const { status, headers: received } = response;
  const date = String(received["date"] ?? "");
  return { status, headers: received, text: await readBody(response, url.host, bodyBytesMax), date };
}

async function readBody({ body }: HttpResponse, host: string, bodyBytesMax: number): Promise<string> {
  const parts: Buffer[] = [];
  let byteCount = 0;
  try {
    for await (const part of body) {
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
