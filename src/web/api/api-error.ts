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
export function requestPage(path: string, signal: AbortSignal): Promise<Response> {
  return send(path, { signal });
}

async function send(path: string, init: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch((error: unknown) => {
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "The server cannot be reached. Check the connection; it may also be restarting.");
  });
  if (response.ok) return response;
  const text = (await response.text().catch(() => "")).trim();
  throw new ApiError(response.status, text === "" ? `The server answered with status ${response.status}.` : text);
}

/** Sends a form as JSON. Throws an `ApiError` with the daemon's sentence if it is refused. */
export async function sendForm(path: string, fields: Readonly<Record<string, unknown>>): Promise<void> {
  await request(path, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(fields),
  });
}
