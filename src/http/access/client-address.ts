import { BlockList, isIP } from "node:net";
import { TrawlError } from "../../base/errors.js";

/** Of one header; a client may write as many addresses into it as fit into its head. */
const hopsMax = 20;

/**
 * Where a request comes from when proxies stand before the daemon.
 *
 * Each proxy adds whom it has heard from at the end of `X-Forwarded-For`. What a trusted proxy has added is true, so
 * from the end of the list the first address that is none of a trusted proxy is the client's. What stands before it the
 * client may have made up.
 */
export class ClientAddresses {
  readonly #proxies = new BlockList();

  /** Addresses, or networks as in `10.0.0.0/8`, of trusted proxies. Throws `bad-config` for other texts. */
  constructor(proxies: readonly string[]) {
    for (const text of proxies) this.#trust(text);
  }

  /** `peer` is who has opened the connection. Addresses of IPv6 are given in eight groups of four digits. */
  of(peer: string, forwardedFor: string | undefined): string {
    let address = peer;
    if (forwardedFor === undefined) return address;
    const hops = forwardedFor.split(",").slice(-hopsMax);
    for (let hop = hops.pop(); hop !== undefined && this.#isProxy(address); hop = hops.pop()) {
      const before = hop.trim();
      if (isIP(before) === 0) break;
      address = isIP(before) === 6 ? expanded(before) : before;
    }
    return address;
  }

  #trust(text: string): void {
    const [address = "", bits, ...more] = text.split("/");
    const family = isIP(address);
    const bitsMax = family === 4 ? 32 : 128;
    const length = bits === undefined ? bitsMax : Number(bits);
    if (family === 0 || more.length > 0 || bits === "" || !Number.isInteger(length) || length < 0 || length > bitsMax) {
      throw new TrawlError(
        "bad-config",
        `trustedProxies: ${JSON.stringify(text)} is neither an address nor a network such as 10.0.0.0/8`,
      );
    }
    this.#proxies.addSubnet(address, length, family === 4 ? "ipv4" : "ipv6");
  }

  #isProxy(address: string): boolean {
    return this.#proxies.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  }
}

/** As the sockets' addresses come: the part of an address that stands for its network is then its first half. */
function expanded(address: string): string {
  const [withoutZone = ""] = address.split("%");
  const [head = "", tail] = inGroups(withoutZone).split("::");
  const before = head === "" ? [] : head.split(":");
  const after = tail === undefined || tail === "" ? [] : tail.split(":");
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => "0");
  return [...before, ...zeros, ...after].map((group) => group.toLowerCase().padStart(4, "0")).join(":");
}

/** With the last four bytes as two groups, where they are written as an address of IPv4. */
function inGroups(address: string): string {
  const from = address.lastIndexOf(":") + 1;
  const [a, b, c, d] = address.slice(from).split(".");
  return d === undefined ? address : `${address.slice(0, from)}${joinGroups(a, b)}:${joinGroups(c, d)}`;
}

function joinGroups(high = "0", low = "0"): string {
  return (Number(high) * 256 + Number(low)).toString(16);
}
