import { addonIfBuilt, loadAddon } from "../addon.js";

/**
 * Bounds what the system keeps of each connection's bytes that have not been sent: sets TCP_NOTSENT_LOWAT on the socket
 * of this process that listens on `port`; the sockets it accepts inherit it. Then a slow client is noticed after
 * `bytes`, not after the megabytes that a send buffer grows to. Returns whether it was set: false when nothing listens
 * there or the system has no such option. Throws `bad-config` when the addon is not built.
 */
export function limitUnsentBytes(port: number, bytes: number): boolean {
  return loadAddon().limitUnsentBytes(port, bytes);
}

/**
 * Takes back what `limitUnsentBytes` did to the connections at that port, and lets the kernel take at least `bytes`
 * more of each, as far as `net.core.wmem_max` allows: what it has taken still reaches its client when this process has
 * ended. Returns the number of connections, 0 where the addon is not built.
 */
export function widenSendBuffers(port: number, bytes: number): number {
  return addonIfBuilt()?.widenSendBuffers(port, bytes) ?? 0;
}

/**
 * The descriptor of this process's socket that listens on `port`; undefined without one, and where the addon is not
 * built.
 */
export function findListener(port: number): number | undefined {
  return addonIfBuilt()?.listenerOf(port) || undefined;
}

/**
 * Puts a listening socket that another process has opened behind the descriptor of the one that listens on `port`, and
 * closes that one: whoever accepts there gets the connections of `given`, those that wait already included. Returns the
 * port of `given`, whose descriptor is closed then; undefined, and nothing has changed, when it does not listen or the
 * addon is not built.
 *
 * Caller guarantees: the socket at `port` was opened in this turn of the event loop.
 */
export function replaceListener(port: number, given: number): number | undefined {
  return addonIfBuilt()?.replaceListener(port, given) || undefined;
}
