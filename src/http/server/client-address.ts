import { isIP } from "node:net";
import { Networks } from "../../base/networks.js";

/** Addresses examined in one header; a client may write as many as fit. */
const hopsMax = 20;

/**
 * The address of the client when there are proxies in front of the daemon.
 *
 * Each proxy appends the address of its peer to `X-Forwarded-For`. What a trusted proxy has appended is true, so the
 * client's address is the last one in the list that does not belong to a trusted proxy. The client may have made up
 * everything before it.
 */
export class ClientAddresses {
  readonly #proxies: Networks;

  /** Addresses, or networks such as `10.0.0.0/8`, of trusted proxies. Throws `bad-config` for invalid ones. */
  constructor(proxies: readonly string[]) {
    this.#proxies = new Networks(proxies, "trustedProxies");
  }

  /** `peer` is the address that opened the connection. IPv6 addresses are given in eight groups of four digits. */
  of(peer: string, forwardedFor: string | undefined): string {
    let address = peer;
    if (forwardedFor === undefined) return address;
    const hops = forwardedFor.split(",").slice(-hopsMax);
    for (let hop = hops.pop(); hop !== undefined && this.#proxies.has(address); hop = hops.pop()) {
      const before = hop.trim();
      if (isIP(before) === 0) break;
      address = isIP(before) === 6 ? expanded(before) : before;
    }
    return address;
  }
}

/**
 * Expands an address to the format of the sockets' addresses, in which the first half of an IPv6 address is its
 * network.
 */
function expanded(address: string): string {
  const [withoutZone = ""] = address.split("%");
  const [head = "", tail] = inGroups(withoutZone).split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].map((group) => group.toLowerCase().padStart(4, "0")).join(":");
}

/** Converts the last four bytes to two groups if they are written as an IPv4 address. */
function inGroups(address: string): string {
  const from = address.lastIndexOf(":") + 1;
  const [a, b, c, d] = address.slice(from).split(".");
  return d === undefined ? address : `${address.slice(0, from)}${joinGroups(a, b)}:${joinGroups(c, d)}`;
}

function joinGroups(high = "0", low = "0"): string {
  return (Number(high) * 256 + Number(low)).toString(16);
}
