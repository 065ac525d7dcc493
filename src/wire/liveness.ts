import type { Http2Session } from "node:http2";
import { callEvery } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";

/** How often the other end is asked whether it is there; and a node without which its searches can go on elsewhere. */
const askMs = 1_000;
export const askReplaceableMs = 250;

/** After so many questions without an answer it is not; a connection that is not made meanwhile is given up, too. */
const unansweredMax = 5;

/**
 * Destroys the session when its other end has been silent: its process may be stopped, or the network cut, and neither ends a
 * connection. A main thread that is busy answers late, so several answers may be missing.
 */
export function watchSession(
  session: Http2Session,
  name: string,
  onMissed: () => void = () => undefined,
  everyMs = askMs,
): void {
  let unanswered = 0;
  const timer = callEvery(everyMs, () => {
    if (session.destroyed) return timer.cancel();
    if (unanswered >= unansweredMax) {
      onMissed();
      return session.destroy(
        new TrawlError("overloaded", `${name} has been silent for ${(everyMs * unansweredMax) / 1_000} seconds`),
      );
    }
    unanswered++;
    // Until it is connected, and once it is closed, it calls back at once, with an error.
    session.ping((error) => {
      if (error === null) unanswered = 0;
    });
  });
  session.once("close", () => timer.cancel());
}
