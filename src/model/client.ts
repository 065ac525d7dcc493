import type { Viewer } from "./viewer.js";

/** The identity whose share of the machine is used: the user or, without an account, the network of the address. */
export function clientKey({ userId }: Pick<Viewer, "userId">, address: string): string {
  return userId === undefined ? clientNetwork(address) : `user ${userId}`;
}

/** The client of work that the operator requests. */
export const operatorClient = "operator";

/**
 * For IPv6, whoever has one address has all addresses with the same first 64 bits. IPv6 addresses have eight groups of
 * four digits.
 */
export function clientNetwork(address: string): string {
  const groups = address.split(":");
  if (groups.length !== 8) return address;
  if (address.startsWith(mappedPrefix)) return addressOfVersion4(groups);
  return `${groups.slice(0, 4).join(":")}::/64`;
}

/** Prefix of an IPv4 address on a dual-stack socket. */
const mappedPrefix = "0000:0000:0000:0000:0000:ffff:";

function addressOfVersion4(groups: readonly string[]): string {
  return groups
    .slice(6)
    .flatMap((group) => [group.slice(0, 2), group.slice(2)])
    .map((byte) => Number.parseInt(byte, 16))
    .join(".");
}
