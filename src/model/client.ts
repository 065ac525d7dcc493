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

/** A limit on what one client may do, and how much of it is left. */
export interface Quota {
  /** ASCII without quotation marks and backslashes. */
  readonly name: string;
  readonly unit: QuotaUnit;
  readonly countMax: number;
  readonly left: number;
  /** The time to which the limit applies; undefined for what is counted only while it lasts. */
  readonly windowSeconds?: number;
  /** Until there may be more left. */
  readonly resetSeconds?: number;
}

/**
 * The first three are those of the draft about the `RateLimit` headers. Text that searches scan is content that the
 * server processes; there is no unit for the time of its threads.
 */
export type QuotaUnit = "requests" | "concurrent-requests" | "content-bytes" | "trawl-worker-milliseconds";
