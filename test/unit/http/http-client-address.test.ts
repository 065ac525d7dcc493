import t from "tap";
import { ClientAddresses } from "../../../src/http/server/client-address.js";

const proxied = new ClientAddresses(["127.0.0.1", "10.0.0.0/8", "::1", "fd00::/8"]);

t.test("the client is the address that the last trusted proxy reports", async (t) => {
  const rows: readonly (readonly [why: string, peer: string, forwardedFor: string | undefined, expected: string])[] = [
    ["no proxy", "192.0.2.1", undefined, "192.0.2.1"],
    ["one who is not trusted makes something up", "192.0.2.1", "198.51.100.9", "192.0.2.1"],
    ["one proxy", "127.0.0.1", "192.0.2.7", "192.0.2.7"],
    ["two proxies", "127.0.0.1", "192.0.2.7, 10.1.2.3", "192.0.2.7"],
    ["what a client writes before", "127.0.0.1", "127.0.0.1, 198.51.100.9, 192.0.2.7", "192.0.2.7"],
    ["a proxy that speaks for itself", "127.0.0.1", undefined, "127.0.0.1"],
    ["IPv6", "0000:0000:0000:0000:0000:0000:0000:0001", "2001:db8::5", "2001:0db8:0000:0000:0000:0000:0000:0005"],
    ["IPv6 of a zone", "127.0.0.1", "fe80::1%eth0", "fe80:0000:0000:0000:0000:0000:0000:0001"],
    ["IPv4 in IPv6", "127.0.0.1", "::ffff:192.0.2.7", "0000:0000:0000:0000:0000:ffff:c000:0207"],
    ["all zeros", "127.0.0.1", "::", "0000:0000:0000:0000:0000:0000:0000:0000"],
    ["all groups", "127.0.0.1", "1:2:3:4:5:6:7:8", "0001:0002:0003:0004:0005:0006:0007:0008"],
    ["an IPv4 proxy on an IPv6 socket", "0000:0000:0000:0000:0000:ffff:7f00:0001", "192.0.2.7", "192.0.2.7"],
    ["no address", "127.0.0.1", "unknown", "127.0.0.1"],
    ["nothing", "127.0.0.1", "", "127.0.0.1"],
    ["more than is looked at", "127.0.0.1", `192.0.2.7${", 10.0.0.1".repeat(100)}`, "10.0.0.1"],
  ];
  for (const [why, peer, forwardedFor, expected] of rows) t.equal(proxied.of(peer, forwardedFor), expected, why);
});

t.test("invalid addresses are reported", async (t) => {
  for (const text of ["proxy", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/8", "::1/129", "10.0.0.0/-1", ""]) {
    t.throws(() => new ClientAddresses([text]), {
      code: "bad-config",
      message: `trustedProxies: ${JSON.stringify(text)} is neither an address nor a network such as 10.0.0.0/8`,
    });
  }
});
