import type { Viewer } from "./viewer.js";

/** Who takes a share of the machine: the user, or the network of somebody without an account. */
export function clientKey({ userId }: Pick<Viewer, "userId">, address: string): string {
  return userId === undefined ? clientNetwork(address) : `user ${userId}`;
}

/** The share of work that the operator orders. */
export const operatorClient = "operator";

/**
 * Within IPv6, who has one address has all of its first 64 bits. Addresses of IPv6 have eight groups of four digits.
 */
export function clientNetwork(address: string): string {
  const groups = address.split(":");
  if (groups.length !== 8) return address;
  if (address.startsWith(mappedPrefix)) return addressOfVersion4(groups);
  return `${groups.slice(0, 4).join(":")}::/64`;
}

/** Of an address of IPv4 on a socket that takes both. */
const mappedPrefix = "0000:0000:0000:0000:0000:ffff:";

function addressOfVersion4(groups: readonly string[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group.slice(0, 2), group.slice(2)])
    .map((byte) => Number.parseInt(byte, 16))
    .join(".");
}
