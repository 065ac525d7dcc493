import { callEvery } from "../base/deadline.js";

/** How often the other end is asked whether it is there; and a node without which its searches can go on elsewhere. */
export const askMs = 1_000;
export const askReplaceableMs = 250;

/** After so many questions without an answer it is not; a connection that is not made meanwhile is given up, too. */
const unansweredMax = 5;

/** A connection whose other end may fall silent. */
export interface Watched {
  readonly isClosed: boolean;
  /** Asks the other end for an answer, if it is connected. */
  ping(): void;
  destroy(reason: string): void;
}

/**
 * Destroys the connection when its other end has been silent: its process may be stopped, or the network cut, and neither ends a
 * connection. A main thread that is busy answers late, so several answers may be missing. `heard` is to be called for whatever
 * arrives, `cancel` when the connection has ended.
 */
export function watchConnection(
  connection: Watched,
  name: string,
  everyMs: number,
  onMissed: () => void,
): { readonly heard: () => void; readonly cancel: () => void } {
  let unanswered = 0;
  const timer = callEvery(everyMs, () => {
    if (connection.isClosed) return timer.cancel();
    if (unanswered >= unansweredMax) {
      timer.cancel();
      onMissed();
      return connection.destroy(`${name} has been silent for ${(everyMs * unansweredMax) / 1_000} seconds`);
    }
    unanswered++;
    connection.ping();
  });
  const heard = (): void => {
    unanswered = 0;
  };
  return { heard, cancel: () => timer.cancel() };
}
