import { TrawlError } from "../../base/errors.js";

/** Why a request to the daemon gave no answer that can be used. */
export class ApiError extends TrawlError {
  /** 0 if the daemon could not be reached. */
  readonly status: number;

  constructor(status: number, message: string) {
    super("bad-request", message);
    this.name = "ApiError";
    this.status = status;
  }

  get isOffline(): boolean {
    return this.status === 0;
  }
}

/** Cookies are only accepted together with this header, which another site's page cannot send. */
export const ownHeaders = { "X-Requested-With": "Trawl" };

/** Like `fetch`, but anything other than a success is an `ApiError`. An abort is thrown as it is. */
export function request(path: string, init: RequestInit = {}): Promise<Response> {
  return send(path, { ...init, headers: { ...ownHeaders, ...init.headers } });
}

/**
 * The same for an address outside of `/.api/`, where the cookie is accepted without further headers. Only a request
 * without them is answered by what the document of the page has loaded in advance.
 */
export function requestPage(
  path: string,
  signal: AbortSignal,
  headers?: Readonly<Record<string, string>>,
): Promise<Response> {
  return send(path, headers === undefined ? { signal } : { signal, headers });
}

const unreachable = "The server cannot be reached. Check the connection; it may also be restarting.";

async function send(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, unreachable);
  });
  const { status, headers } = response;
  const isMarkup = /^text\/html\b/i.test(headers.get("Content-Type") ?? "");
  if (response.ok && !isMarkup) return response;
  // The daemon answers requests in plain text or JSON: markup is the page of something in between, such as a proxy.
  const text = isMarkup ? "" : (await response.text().catch(() => "")).trim();
  if (isMarkup) await response.body?.cancel();
  throw new ApiError(status, refusalText(status, text, isMarkup, headers.get("Retry-After")));
}

/** Why a request was refused, and when to try again if that is known. */
export function refusalText(status: number, text: string, isMarkup: boolean, retryAfter: string | null): string {
  const said = isMarkup
    ? `A proxy between this page and the server answered instead of it, with status ${status}.`
    : text === ""
      ? `The server answered with status ${status}.`
      : text;
  const seconds = waitSeconds(retryAfter);
  if ((status !== 429 && status !== 503) || seconds === undefined) return said;
  return `${said} Try again in ${seconds === 1 ? "a second" : `${seconds} seconds`}.`;
}

/** `Retry-After` is a number of seconds, or a date. */
function waitSeconds(given: string | null): number | undefined {
  if (given === null) return undefined;
  const seconds = /^\d+$/.test(given) ? Number(given) : (Date.parse(given) - new Date().getTime()) / 1000;
  return Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : undefined;
}

/** A document of the pages, which is markup. */
export async function requestDocument(path: string): Promise<string> {
  const response = await fetch(path, { headers: ownHeaders, cache: "no-store" }).catch(() => undefined);
  if (response?.ok === true) return response.text();
  throw new ApiError(response?.status ?? 0, unreachable);
}

/** Sends a form as JSON. Throws an `ApiError` with the daemon's sentence if it is refused. */
export async function sendForm(path: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  await request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(fields),
  });
}

/** Begins to link an account at an identity provider; returns the address where its user signs in there. */
export async function beginLink(provider: string): Promise<string> {
  const response = await request(`/-/oidc/${encodeURIComponent(provider)}/link`, { method: "POST" });
  return ((await response.json()) as { readonly location: string }).location;
}
