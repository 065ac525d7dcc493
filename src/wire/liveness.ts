import type { Http2Session } from "node:http2";
import { callEvery } from "../base/deadline.js";
import { TrawlError } from "../base/errors.js";

/** How often the other end is asked whether it is there, and after how many questions without an answer it is not. */
const askMs = 1_000;
const unansweredMax = 5;

/** The other end of a connection is missed after this many seconds. */
export const silenceSeconds = (askMs * unansweredMax) / 1_000;

/**
 * Destroys the session when its other end has been silent: its process may be stopped, or the network cut, and neither ends a
 * connection. A main thread that is busy answers late, so several answers may be missing.
 */
export function watchSession(session: Http2Session, name: string): void {
  let unanswered = 0;
  const timer = callEvery(askMs, () => {
    if (session.destroyed) return timer.cancel();
    if (unanswered >= unansweredMax)
      return session.destroy(new TrawlError("overloaded", `${name} has been silent for ${silenceSeconds} seconds`));
    unanswered++;
    session.ping(() => {
      unanswered = 0;
    });
  });
  session.once("close", () => timer.cancel());
}
