import { randomBytes } from "node:crypto";
import { addonIfBuilt } from "../kernel/addon.js";

/** The header that marks a request of HTTP/1.0, of which the value is the secret of the filter. */
export const versionMark = "trawl-http10";

/**
 * Lets uWebSockets.js, whose binary is given, read requests in forms that it refuses: behind blank lines, with a target in
 * absolute form, for the server as a whole (`OPTIONS *`, of which the path is then `/*`), and in HTTP/1.0; see
 * request-filter.h. Returns the secret, which is the value of `versionMark` of a request in HTTP/1.0, and of its `Host`
 * if it has none. Undefined if the addon is not built, or does not know how to do it.
 *
 * Caller guarantees: the binary is loaded, has accepted no connection, and is used by this thread only.
 */
export function filterRequests(binary: string): string | undefined {
  secret ??= randomBytes(16).toString("hex");
  return addonIfBuilt()?.filterInput(Buffer.from(`${binary}\0${secret}\0`)) === true ? secret : undefined;
}

let secret: string | undefined;
