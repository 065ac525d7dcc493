import { isIP } from "node:net";
import { Networks } from "./networks.js";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * The proxy for a URL, by the variables of the environment that libcurl, and therefore git, reads: `https_proxy` or
 * `http_proxy`, else `all_proxy`, unless `no_proxy` has the host. Undefined without one. In upper case `HTTP_PROXY` is
 * ignored, as libcurl does, because a web server sets it from the header `Proxy` of a request.
 */
export function proxyFor(url: URL, environment: Environment): string | undefined {
  const own = url.protocol === "https:" ? ["https_proxy", "HTTPS_PROXY"] : ["http_proxy"];
  const given = [...own, "all_proxy", "ALL_PROXY"].map((name) => environment[name]).find(Boolean);
  if (given === undefined || isExcepted(url, environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""))
    return undefined;
  return given.includes("://") ? given : `http://${given}`;
}

/** A host is excepted by its name, by a domain that it is in, by its address, by a network, and all hosts by `*`. */
function isExcepted(url: URL, exceptions: string): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return exceptions
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => entry === "*" || isExceptedBy(entry.toLowerCase(), host, port));
}

function isExceptedBy(entry: string, host: string, port: string): boolean {
  if (isIP(host) !== 0) return isAddressIn(entry.replace(/^\[|\]$/g, ""), host) || entry === `${host}:${port}`;
  const colon = entry.indexOf(":");
  if (colon >= 0 && entry.slice(colon + 1) !== port) return false;
  const name = (colon < 0 ? entry : entry.slice(0, colon)).replace(/^\*?\./, "").replace(/\.$/, "");
  return name !== "" && (host === name || host.endsWith(`.${name}`));
}

/** An entry that is neither an address nor a network has no address. */
function isAddressIn(entry: string, address: string): boolean {
  const [base = ""] = entry.split("/");
  if (isIP(base) !== isIP(address)) return false;
  try {
    return new Networks([entry], "no_proxy").has(address);
  } catch {
    return false;
  }
}
