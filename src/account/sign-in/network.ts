/**
 * The whole IPv4 address, or the network half of an IPv6 address: whoever has one address in such a network has all of
 * them.
 */
export function networkPrefix(address: string): string {
  const groups = address.split(":");
  return groups.length === 8 && !address.startsWith("0000:0000:0000:0000:0000:ffff")
    ? groups.slice(0, 4).join(":")
    : address;
}
