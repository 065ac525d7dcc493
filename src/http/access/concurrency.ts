import { refusalError, type FairSemaphore, type Release } from "../../base/fair-semaphore.js";
import type { Quota } from "../../model/client.js";
import { rateLimitHeaders } from "../server/headers.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpResponse } from "../server/response.js";

/** How long a refused client should wait. */
export const retryAfter: Headers = { "Retry-After": "1" };

/** What decides whether a client may do more at the same time. */
export type ClientPermits = Pick<FairSemaphore, "refusal" | "room">;

/** Answers a request with an error, in the format of its route. */
export type ReplyError = (response: HttpResponse, status: number, message: string, headers: Headers) => void;

/** The format of most routes: a line of plain text. */
export const replyText: ReplyError = (response, status, message, headers) =>
  response.reply(status, { ...plainText, ...headers }, `${message}\n`);

/**
 * Waits for a permit; undefined if the client disconnected before, or was refused and has its response. `what` is a
 * plural, as in "archives".
 */
export async function takePermit(
  permits: FairSemaphore,
  client: string,
  what: string,
  response: HttpResponse,
  headers: Headers,
  replyError = replyText,
): Promise<Release | undefined> {
  if (isRefused(permits, client, what, response, headers, replyError)) return undefined;
  return new Promise((resolve) => {
    const leave = permits.acquire(client, (release) => (response.closed ? release() : resolve(release)));
    response.onClosed(() => {
      leave();
      resolve(undefined);
    });
  });
}

/** Whether there is no permit for the client, not even after waiting; then it has its response. */
export function isRefused(
  permits: ClientPermits,
  client: string,
  what: string,
  response: HttpResponse,
  headers: Headers,
  replyError: ReplyError,
): boolean {
  const full = permits.refusal(client);
  if (full === undefined) return false;
  const { httpStatus, message } = refusalError(full, what);
  const { countMax } = permits.room(client);
  // Of the limit for all clients, nobody has a part.
  const quotas: readonly Quota[] =
    full === "client" ? [{ name: what, unit: "concurrent-requests", countMax, left: 0, resetSeconds: 1 }] : [];
  replyError(response, httpStatus, message, { ...headers, ...retryAfter, ...rateLimitHeaders(quotas) });
  return true;
}
