import { RateLimiter, attemptsIn } from "../../account/records/rate-limiter.js";
import { monotonicMs } from "../../base/deadline.js";
import type { Log } from "../../base/log.js";
import type { TrustedHosts } from "./trusted-hosts.js";
import type { RequestHead } from "../server/request.js";

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
  return ({ path, headers, remoteAddress }) => {
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
        { host: name, from: remoteAddress },
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
