import { TrawlError } from "../base/errors.js";
import { isPublicAddress, Networks, checkedLookup } from "../base/networks.js";
import { requireOrigin } from "../base/origin.js";

const urlCharsMax = 2_048;

/**
 * To whom deliveries may go. A user chooses the URL, but the operator the origins: otherwise a user could make the
 * daemon send requests to services that only the daemon can reach (server-side request forgery).
 *
 * The address that is connected to is checked as well, whatever a name resolves to at that moment: it must be public,
 * written in the origin, or in a listed network.
 */
export class Receivers {
  readonly #origins: ReadonlySet<string>;
  readonly #listed: Networks;

  /** Throws `bad-config` for an origin or a network that is none. */
  constructor(origins: readonly string[], networks: readonly string[]) {
    this.#origins = new Set(origins.map((origin) => requireOrigin(origin, "notifications.origins")));
    this.#listed = new Networks(networks, "notifications.networks");
  }

  /** The URL, if deliveries may go there. Throws `bad-request` that says what to do. */
  require(text: string): URL {
    if (text.length > urlCharsMax || !URL.canParse(text))
      throw new TrawlError(
        "bad-request",
        `the webhook must be an http or https URL of at most ${urlCharsMax} characters`,
      );
    const url = new URL(text);
    if (url.protocol !== "https:" && url.protocol !== "http:")
      throw new TrawlError("bad-request", "the URL of the webhook must begin with https:// or http://");
    if (url.username !== "" || url.password !== "")
      throw new TrawlError("bad-request", "the URL of the webhook must not contain a user or password");
    if (this.#origins.size === 0)
      throw new TrawlError(
        "bad-request",
        `notifications are not enabled here: the operator has to list ${url.origin} in notifications.origins`,
      );
    if (!this.#origins.has(url.origin))
      throw new TrawlError(
        "bad-request",
        `notifications may not be sent to ${url.origin}: the operator has to list it in notifications.origins`,
      );
    return url;
  }

  /** Why the address of a host must not be connected to; undefined if it may. */
  refusal(host: string, address: string): string | undefined {
    if (isPublicAddress(address) || this.#listed.has(address)) return undefined;
    return `${host} has the address ${address}, which is not public: the operator has to list it in notifications.networks`;
  }

  /** Resolves a name to the addresses that may be connected to. Not called for an address, which an origin lists. */
  readonly lookup = checkedLookup((host, address) => this.refusal(host, address));
}
