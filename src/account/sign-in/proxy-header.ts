import { Networks } from "../../base/networks.js";

/** What a request says by the header: nothing, the user whom a proxy has signed in, or something from elsewhere. */
export type ProxyName =
  | { readonly kind: "none" }
  | { readonly kind: "named"; readonly name: string }
  | { readonly kind: "untrusted"; readonly message: string };

interface ProxiedRequest {
  readonly headers: ReadonlyMap<string, string>;
  /** The address that has opened the connection. */
  readonly peerAddress?: string;
}

const none: ProxyName = { kind: "none" };

const nameCharsMax = 320;

/**
 * A header in which a proxy names the user whom it has signed in. Only the address that opened the connection counts, and it has
 * to be listed: whoever else sends the header is refused, because they may believe that they are signed in.
 */
export class ProxyHeader {
  /** In lower case; "" if it is off. */
  readonly #header: string;
  readonly #proxies: Networks;

  /** Throws `bad-config` for an invalid address. */
  constructor(header: string, proxies: readonly string[]) {
    this.#header = header.toLowerCase();
    this.#proxies = new Networks(proxies, "auth.headerProxies");
  }

  read({ headers, peerAddress }: ProxiedRequest): ProxyName {
    if (this.#header === "") return none;
    const name = headers.get(this.#header)?.trim() ?? "";
    if (name === "") return none;
    if (peerAddress === undefined || !this.#proxies.has(peerAddress))
      return {
        kind: "untrusted",
        message: `The header ${this.#header} comes from ${peerAddress ?? "an unknown address"}, which is not in auth.headerProxies.`,
      };
    if (name.length > nameCharsMax) return { kind: "untrusted", message: `The header ${this.#header} is too long.` };
    return { kind: "named", name };
  }
}
