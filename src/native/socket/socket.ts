import { addonIfBuilt, loadAddon } from "../kernel/addon.js";
import { getSystemErrorName } from "node:util";

/**
 * Limits the unsent bytes that the system keeps for each connection: sets TCP_NOTSENT_LOWAT on the socket of this
 * process that listens on `port`; the sockets it accepts inherit it. A slow client is then detected after `bytes`, not
 * after the megabytes to which a send buffer grows. Returns whether it was set: false if nothing is listening there or
 * the system does not support the option. Throws `bad-config` if the addon is not built.
 */
export function limitUnsentBytes(port: number, bytes: number): boolean {
  return loadAddon().limitUnsentBytes(port, bytes);
}

/**
 * Reverts `limitUnsentBytes` for the connections at that port, and allows the kernel to accept at least `bytes` more
 * for each, as far as `net.core.wmem_max` permits: accepted data still reaches its client after this process has
 * exited. Returns the number of connections; 0 if the addon is not built.
 */
export function widenSendBuffers(port: number, bytes: number): number {
  return addonIfBuilt()?.widenSendBuffers(port, bytes) ?? 0;
}

/**
 * The descriptor of this process's socket that listens on `port`; undefined if there is none, or if the addon is not
 * built.
 */
export function findListener(port: number): number | undefined {
  return addonIfBuilt()?.listenerOf(port) || undefined;
}

/**
 * Replaces the socket behind the descriptor that listens on `port` by a listening socket that another process has
 * opened, and closes the old socket: accepting there returns the connections of `given`, including those that are
 * already waiting. Returns the port of `given`, whose descriptor is then closed; undefined, with nothing changed, if it
 * is not listening or the addon is not built.
 *
 * Caller guarantees: the socket at `port` was opened in this iteration of the event loop.
 */
export function replaceListener(port: number, given: number): number | undefined {
  return addonIfBuilt()?.replaceListener(port, given) || undefined;
}

/**
 * The outcome of a datagram: it is in the receiver's queue, the system refused it (with its error name), or there is no
 * addon.
 */
export type DatagramOutcome = "sent" | "no-addon" | { readonly error: string };

/**
 * Sends one datagram to a Unix socket, which Node cannot do: `address` is the path of a file or, after an `@`, an
 * abstract name. Never waits: a full queue is the error EAGAIN. With a `descriptor`, the receiver gets its own
 * descriptor for the same file.
 */
export function sendDatagram(address: string, message: string, descriptor?: number): DatagramOutcome {
  const addon = addonIfBuilt();
  if (addon === undefined) return "no-addon";
  const error = addon.sendDatagram(Buffer.from(address), Buffer.from(message), descriptor ?? 0);
  return error === 0 ? "sent" : { error: getSystemErrorName(-error) };
}
