import { getSystemErrorName } from "node:util";
import { addonIfBuilt } from "../addon.js";

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
