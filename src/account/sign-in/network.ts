/** An address of IPv4, and of IPv6 the half that says which network: who has one there has all. */
export function networkPrefix(address: string): string {
  const groups = address.split(":");
  return groups.length === 8 && !address.startsWith("0000:0000:0000:0000:0000:ffff")
    ? groups.slice(0, 4).join(":")
    : address;
}
