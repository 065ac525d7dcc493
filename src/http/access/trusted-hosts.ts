import { isIP } from "node:net";
import { TrawlError } from "../../base/errors.js";

export interface HostNames {
  /** The host of `listen`. */
  readonly listenHost: string;
  readonly externalUrl: string;
  /** Additional names, without a port. */
  readonly trustedHosts: readonly string[];
  /** The host name of the machine. */
  readonly machine: string;
}

/**
 * The names by which clients may reach this server.
 *
 * A page of another site can make its own name resolve to our address (DNS rebinding): for the browser, its scripts
 * then have our origin, and may read everything that the user of the browser can reach. The request still contains the
 * name of that site in its `Host` header, so a request with an unknown name is refused. IP addresses and `localhost`
 * cannot be rebound, and are always accepted. Ports are not compared, because forwarding changes them.
 */
export class TrustedHosts {
  readonly #names: ReadonlySet<string>;

  /** Throws `bad-config` for an invalid trusted host. */
  constructor({ listenHost, externalUrl, trustedHosts, machine }: HostNames) {
    const isLoopback =
      listenHost === "::1" || listenHost.startsWith("127.") || listenHost.toLowerCase() === "localhost";
    const external = externalUrl === "" ? [] : [new URL(externalUrl).host];
    this.#names = new Set(
      ["localhost", listenHost, ...external, ...(isLoopback ? [] : [machine]), ...trustedHosts.map(requireName)].map(
        hostName,
      ),
    );
  }

  /** `host` is a `Host` header. */
  has(host: string | undefined): boolean {
    const name = hostName(host ?? "");
    return name !== "" && (this.#names.has(name) || isIP(name) !== 0);
  }
}

function requireName(text: string): string {
  if (text !== "" && hostName(text) === text.toLowerCase() && !/[\s/@*]/.test(text)) return text;
  throw new TrawlError(
    "bad-config",
    `trustedHosts: ${JSON.stringify(text)} is not a host name; give it without scheme, port and path, as in search.example.org`,
  );
}

/** Without the port, the brackets of an IPv6 address and the trailing dot; in lower case. */
function hostName(host: string): string {
  const end = host.startsWith("[") ? host.indexOf("]") : host.indexOf(":");
  // An IPv6 address without brackets is not a valid `Host` header, but it can be the host of `listen`.
  if (!host.startsWith("[") && host.indexOf(":") !== host.lastIndexOf(":") && isIP(host) === 6)
    return host.toLowerCase();
  const name = host.startsWith("[") ? host.slice(1, end < 0 ? 1 : end) : end < 0 ? host : host.slice(0, end);
  return (name.endsWith(".") ? name.slice(0, -1) : name).toLowerCase();
}
