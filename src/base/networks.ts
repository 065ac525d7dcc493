import { BlockList, isIP } from "node:net";
import { TrawlError } from "./errors.js";

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
