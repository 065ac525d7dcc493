import { loadAddon } from "./addon.js";

/**
 * Bounds what the system keeps of each connection's bytes that have not been sent: sets TCP_NOTSENT_LOWAT on the socket
 * of this process that listens on `port`; the sockets it accepts inherit it. Then a slow client is noticed after
 * `bytes`, not after the megabytes that a send buffer grows to. Returns whether it was set: false when nothing listens
 * there or the system has no such option. Throws `bad-config` when the addon is not built.
 */
export function limitUnsentBytes(port: number, bytes: number): boolean {
  return loadAddon().limitUnsentBytes(port, bytes);
}
