import { lookup, type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";
import { TrawlError } from "./errors.js";

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
