import { lookup, type LookupAddress } from "node:dns";
import { BlockList, isIP, type LookupFunction } from "node:net";
import { TrawlError } from "./errors.js";
import { lazy } from "./lazy.js";

/** A set of addresses, and of networks such as `10.0.0.0/8`. */
export class Networks {
  readonly #list = new BlockList();

  /** `option` is the name of the setting that contains them. Throws `bad-config` for an invalid one. */
  constructor(networks: readonly string[], option: string) {
    for (const text of networks) this.#add(text, option);
  }

  has(address: string): boolean {
    return this.#list.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
  }

  #add(text: string, option: string): void {
    const [address = "", bits, ...more] = text.split("/");
    const family = isIP(address);
    const bitsMax = family === 4 ? 32 : 128;
    const length = bits === undefined ? bitsMax : Number(bits);
    if (family === 0 || more.length > 0 || bits === "" || !Number.isInteger(length) || length < 0 || length > bitsMax) {
      throw new TrawlError(
        "bad-config",
        `${option}: ${JSON.stringify(text)} is neither an address nor a network such as 10.0.0.0/8`,
      );
    }
    this.#list.addSubnet(address, length, family === 4 ? "ipv4" : "ipv6");
  }
}

/** Networks that are not public: private, local, shared, for documentation and measurements, reserved, multicast. */
const closedIpv4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
];

/**
 * Everything but 2000::/3, from which all public addresses come: local, site-local (fec0::/10), unique local and multicast
 * addresses, and all forms that stand for IPv4 (::/96, ::ffff:0:0/96, SIIT's ::ffff:0:0:0/96, 64:ff9b::/96, 64:ff9b:1::/48). In
 * 2000::/3, the networks of protocols (Teredo), for documentation, and 6to4, which stands for IPv4 as well.
 */
const closedIpv6 = ["::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"];

/**
 * Made when they are first needed: Node compiles a large regular expression to read addresses of IPv6. They are two, since
 * a list takes an address of IPv4 for its mapped form, which is in a network of IPv6.
 */
const closed = lazy(() => ({ ipv4: new Networks(closedIpv4, ""), ipv6: new Networks(closedIpv6, "") }));

/** Whether an IP address is one that everybody on the internet can reach. */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  return version === 6 ? !closed().ipv6.has(address) : version === 4 && !closed().ipv4.has(address);
}

/**
 * Resolves a name to those of its addresses that `refusal` does not refuse, with a sentence. The connection is made to one of them,
 * whatever the name resolves to a moment later. Not called for an address.
 */
export function checkedLookup(refusal: (host: string, address: string) => string | undefined): LookupFunction {
  return (host, options, callback) => {
    lookup(host, { ...options, all: true }, (error, found: LookupAddress[]) => {
      if (error !== null) return callback(error, []);
      const allowed = found.filter(({ address }) => refusal(host, address) === undefined);
      const [first] = allowed;
      if (first === undefined) return callback(new TrawlError("forbidden", refusal(host, found[0].address) ?? ""), []);
      if (options.all === true) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}
