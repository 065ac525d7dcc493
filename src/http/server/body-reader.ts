import { callAfter } from "../../base/deadline.js";
import { refusalError, type FullShare } from "../../base/fair-semaphore.js";
import { plainText } from "./headers.js";
import type { RequestBody } from "./request-body.js";
import type { HttpResponse } from "./response.js";
import type { NativeResponse } from "./uws-binding.js";

export const tooLarge = "body too large\n";
const tooManyPieces = "the body arrives in too many small pieces; send larger chunks\n";
const tooSlow = "the body did not arrive in time\n";

/** Time limit for a whole body. uWebSockets.js disconnects earlier if less than 16 KB/s arrive for 10 to 12 s. */
const bodyMsMax = 60_000;

/**
 * Reads a body and calls `done` when it is complete; errors are answered here. Each chunk is copied, because its memory
 * belongs to uWebSockets.js again when the callback returns.
 */
export function readBody(res: NativeResponse, body: RequestBody, response: HttpResponse, done: () => void): void {
  const cut = callAfter(bodyMsMax, () => response.reply(408, plainText, tooSlow));
  response.onClosed(() => {
    cut.cancel();
    body.release();
  });
  res.onData((chunk, isLast) => {
    if (response.closed) return;
    const refused = body.push(new Uint8Array(chunk), isLast);
    if (refused === "too-large") return response.reply(413, plainText, tooLarge);
    if (refused === "too-many-pieces") return response.reply(400, plainText, tooManyPieces);
    if (refused !== undefined) return refuseBody(response, refused);
    if (!isLast) return;
    cut.cancel();
    done();
  });
}

function refuseBody(response: HttpResponse, full: FullShare): void {
  const { httpStatus, message } = refusalError(full, "bytes of request bodies");
  response.reply(httpStatus, { ...plainText, "Retry-After": "1" }, `${message}\n`);
}
