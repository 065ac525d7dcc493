import { attemptsIn, RateLimiter } from "../../account/records/rate-limiter.js";
import { monotonicMs } from "../../base/deadline.js";
import type { Log } from "../../base/log.js";
import { originFields } from "../../model/request-origin.js";
import type { RequestHead } from "../server/request.js";
import { isIP } from "node:net";
import { TrawlError } from "../../base/errors.js";

/** Paths and headers are parsed on the main thread, so their length is limited. Query strings have their own limit. */
const pathLengthMax = 16 << 10;
const headerLengthMax = 16 << 10;
const headersLengthMax = 64 << 10;

/** Limit on logged refusals, so that a sender of many cannot fill the log. */
const loggedRefusals = attemptsIn(60_000, 10);
const loggedLength = 200;

/** The response to a request that is refused before it is processed. */
export interface HeadRefusal {
  readonly status: 414 | 421 | 431;
  readonly message: string;
}

/** What is wrong with a request, regardless of its route; undefined if nothing is. */
export function requestCheck(
  hosts: Pick<TrustedHosts, "has">,
  log: Log,
): (request: RequestHead) => HeadRefusal | undefined {
  const logged = new RateLimiter(loggedRefusals);
  return (request) => {
    const { path, headers, remoteAddress } = request;
    if (path.length > pathLengthMax)
      return { status: 414, message: `The path has ${path.length} characters, more than ${pathLengthMax}.` };
    const long = tooLong(headers);
    if (long !== undefined) return { status: 431, message: long };
    const host = headers.get("host");
    // A load balancer may use its own host name for probes, and the response reveals nothing. Only a request in HTTP/1.0 has
    // none at all, and no browser sends one.
    if (host === undefined || hosts.has(host) || path === "/healthz") return undefined;
    const name = host.slice(0, loggedLength);
    if (logged.begin("", monotonicMs()) === 0)
      log.warn(
        { ...originFields(request), host: name, from: remoteAddress },
        "a request was refused because its Host is not a name of this server: if it should be, set externalUrl or trustedHosts",
      );
    return {
      status: 421,
      message: `${JSON.stringify(name)} is not a name of this server. If it should be one, set externalUrl, or list it in trustedHosts.`,
    };
  };
}

function tooLong(headers: ReadonlyMap<string, string>): string | undefined {
  let length = 0;
  for (const [name, value] of headers) {
    length += name.length + value.length;
    if (value.length > headerLengthMax)
      return `The header ${name.slice(0, loggedLength)} has ${value.length} characters, more than ${headerLengthMax}.`;
  }
  return length > headersLengthMax
    ? `The headers have ${length} characters, more than ${headersLengthMax}.`
    : undefined;
}

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
