import { connect } from "node:net";
import t from "tap";
import { TrustedHosts, type HostNames } from "../../../src/http/access/request-check.js";
import { testDaemon } from "../../support/daemon.js";
import { sharedDaemon } from "../../support/shared-daemon.js";
import { within } from "../../support/waiting.js";

const loopback: HostNames = { listenHost: "127.0.0.1", externalUrl: "", trustedHosts: [], machine: "box" };

t.test("accepted host names", (t) => {
  const rows: readonly (readonly [
    name: string,
    given: Partial<HostNames>,
    good: readonly string[],
    bad: readonly string[],
  ])[] = [
    [
      "on loopback",
      {},
      [
        "localhost",
        "LOCALHOST:7080",
        "localhost.",
        "127.0.0.1:7080",
        "127.0.0.1",
        "[::1]:7080",
        "10.1.2.3:80",
        "[2001:db8::1]",
      ],
      [
        "",
        ":7080",
        "box",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "evil.example:7080",
        "[::1",
        "[evil.example]",
        "[]",
        "localhost@evil.example",
        "localhost,evil.example",
      ],
    ],
    [
      "on all addresses",
      { listenHost: "0.0.0.0" },
      ["box", "box:7080", "localhost", "192.168.1.9:7080"],
      ["box.evil.example", "evil.example"],
    ],
    ["on all of IPv6", { listenHost: "::" }, ["[::]:7080", "box"], ["evil.example", ":"]],
    ["by a name", { listenHost: "trawl.internal" }, ["trawl.internal:7080"], ["trawl", "internal"]],
    [
      "outside",
      { externalUrl: "https://Search.example.org:8443" },
      ["search.example.org:8443", "search.example.org", "localhost"],
      ["example.org"],
    ],
    [
      "by configuration",
      { trustedHosts: ["trawl", "Search.example.org"] },
      ["trawl:7080", "search.example.org"],
      ["box"],
    ],
  ];
  for (const [name, given, good, bad] of rows) {
    const hosts = new TrustedHosts({ ...loopback, ...given });
    for (const host of good) t.ok(hosts.has(host), `${name}: ${host}`);
    for (const host of bad) t.notOk(hosts.has(host), `${name}: not ${host}`);
    t.notOk(hosts.has(undefined));
  }
  for (const wrong of ["", "https://a.example", "a.example:80", "a.example/", "*.example", "a b"]) {
    t.throws(
      () => new TrustedHosts({ ...loopback, trustedHosts: [wrong] }),
      { code: "bad-config", message: /trustedHosts/ },
      JSON.stringify(wrong),
    );
  }
  t.end();
});

t.test("a request to a daemon under another host name", async (t) => {
  const daemon = await testDaemon(t, ["--set", 'trustedHosts=["trawl.test"]']);
  const { port } = new URL(daemon.url);
  const ask = (head: string): Promise<string> =>
    within(
      new Promise((resolve, reject) => {
        const socket = connect(Number(port), "127.0.0.1", () => socket.write(`${head}\r\nConnection: close\r\n\r\n`));
        let answer = "";
        socket
          .on("data", (bytes) => {
            answer += bytes.toString();
            if (/\r\n\r\n[^]*\n$/.test(answer)) socket.destroy();
          })
          .on("close", () => resolve(answer))
          .on("error", reject);
      }),
      head,
    );
  for (const path of ["/", "/metrics", "/.api/client-config", "/a/-/raw/", "/.api/search/stream?q=x", "/nothing"]) {
    const answer = await ask(
      `GET ${path} HTTP/1.1\r\nHost: evil.example:${port}\r\nOrigin: http://evil.example:${port}`,
    );
    t.match(answer, /^HTTP\/1\.1 421 Misdirected Request\r\n/, path);
    t.match(
      answer,
      /"evil\.example:\d+" is not a name of this server\. If it should be one, set externalUrl, or list it in trustedHosts\.\n$/,
    );
    t.notMatch(answer, /access-control-allow-origin/i);
  }
  t.match(await ask(`OPTIONS /.api/graphql HTTP/1.1\r\nHost: evil.example`), /^HTTP\/1\.1 421/);
  for (const host of [`127.0.0.1:${port}`, "localhost", "trawl.test", "10.0.0.1"]) {
    t.match(await ask(`GET / HTTP/1.1\r\nHost: ${host}`), /^HTTP\/1\.1 200/, host);
  }
  t.match(await ask("GET /healthz HTTP/1.1\r\nHost: probe"), /^HTTP\/1\.1 200/, "a load balancer probes by any name");
  t.match(await ask("GET /readyz HTTP/1.0"), /^HTTP\/1\.1 (200|503)[^]*\r\nConnection: close\r\n/, "or by none");
  t.match(await ask("GET /readyz HTTP/1.0\r\nHost: evil.example"), /^HTTP\/1\.1 421/);
  t.match(
    await ask("GET http://evil.example/ HTTP/1.1\r\nHost: localhost"),
    /^HTTP\/1\.1 421/,
    "the target has the name",
  );
  t.match(await ask("GET http://localhost/ HTTP/1.1\r\nHost: evil.example"), /^HTTP\/1\.1 200/);
  t.match(await ask("GET / HTTP/1.1"), /^HTTP\/1\.1 400/, "HTTP/1.1 needs one");
  for (let i = 0; i < 20; i++) await ask(`GET / HTTP/1.1\r\nHost: ${i}.example`);
  t.match(
    await ask("GET /.api/search/stream?q=x HTTP/1.0"),
    /^HTTP\/1\.1 505[^]*\r\nConnection: close\r\n[^]*proxy_http_version 1\.1/,
    "an answer whose length is not known beforehand",
  );
  const logged = (await daemon.wholeLog()).filter(({ msg }) => String(msg).includes("trustedHosts"));
  t.match(logged[0], { host: `evil.example:${port}`, from: "127.0.0.1" });
  t.equal(logged.length, 10, "the log tells, and is not filled");
});

t.test("checks that run before every handler", async (t) => {
  const daemon = await sharedDaemon(t);
  const rows: readonly (readonly [name: string, path: string, headers: Record<string, string>, status: number])[] = [
    ["a path of 16 KiB", `/${"a".repeat(16_383)}`, {}, 404],
    ["a longer one", `/${"a".repeat(16_384)}`, {}, 414],
    ["cookies of 16 KiB", "/", { cookie: "a=b;".repeat(4_096) }, 200],
    ["more of them", "/", { cookie: "a=b;".repeat(4_097) }, 431],
    [
      "headers of 64 KiB together",
      "/",
      Object.fromEntries(Array.from({ length: 5 }, (_, i) => [`x-${i}`, "a".repeat(14_000)])),
      431,
    ],
  ];
  for (const [name, path, headers, status] of rows) {
    const answer = await fetch(`${daemon.url}${path}`, { headers });
    t.equal(answer.status, status, name);
    await answer.text();
  }
  for (const path of ["/sign-in", "/nothing", "/robots.txt", "/favicon.ico", "/a/-/raw/x"]) {
    const { headers } = await fetch(`${daemon.url}${path}`);
    t.equal(headers.get("content-security-policy"), "default-src 'none'; frame-ancestors 'none'; sandbox", path);
    t.equal(headers.get("referrer-policy"), "same-origin", path);
  }
  const page = await fetch(`${daemon.url}/`);
  t.equal(page.headers.get("referrer-policy"), "same-origin");
  t.match(page.headers.get("content-security-policy"), /^default-src 'none'; script-src 'self'; style-src 'self';/);
  t.notMatch(page.headers.get("content-security-policy"), /unsafe/);
  for (const path of ["/", "/.api/client-config", "/.api/nothing", "/.api/search/stream?q=x", "/metrics"]) {
    const { headers } = await fetch(`${daemon.url}${path}`);
    t.equal(headers.get("x-content-type-options"), "nosniff", path);
    t.equal(headers.get("x-frame-options"), "DENY", path);
    t.equal(headers.get("cross-origin-resource-policy"), "same-origin", path);
  }
});
