import { refusalError, type FairSemaphore, type Release } from "../../base/fair-semaphore.js";
import type { TrawlError } from "../../base/errors.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpResponse } from "../server/response.js";

/** How long a refused client should wait. */
export const retryAfter: Headers = { "Retry-After": "1" };

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
): Promise<Release | undefined> {
  const full = permits.refusal(client);
  if (full !== undefined) {
    replyRefusal(response, refusalError(full, what), headers);
    return undefined;
  }
  return new Promise((resolve) => {
    const leave = permits.acquire(client, (release) => (response.closed ? release() : resolve(release)));
    response.onClosed(() => {
      leave();
      resolve(undefined);
    });
  });
}

export function replyRefusal(response: HttpResponse, { httpStatus, message }: TrawlError, headers: Headers): void {
  response.reply(httpStatus, { ...plainText, ...headers, ...retryAfter }, `${message}\n`);
}
