import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { NullServer } from "../../native-bench/load/null-server.js";
import { SmallRequests, type SmallPace, type SmallRequest } from "../../native-bench/load/small-requests.js";
import { operations } from "../../native-bench/suites/graphql.js";
import { graphqlVersion, graphqlWays, startGraphqlServer } from "../../native-bench/peers/graphql-servers.js";
import { endAll } from "../../native-bench/system/processes.js";

const ask = (path: string): SmallRequest => ({ method: "GET", path, headers: {}, body: "" });
const pace: SmallPace = { connections: 4, ratePerSecond: undefined, seconds: 0.3 };

function serve(t: Test, delayMs: (request: number) => number, stall?: { everyMs: number; forMs: number }): NullServer {
  const server = new NullServer({ delayMs, stall });
  t.teardown(() => server.stop());
  return server;
}

t.test("small requests", async (t) => {
  const generator = await SmallRequests.compile(t.testdir());
  t.test("each connection sends its next request when it has its response", async (t) => {
    const server = serve(t, () => 20);
    const { answered, count, p50Ms } = await generator.measure(server.url, [ask("/x")], pace);
    t.equal(answered, server.requestCount, "each is answered");
    t.ok(answered <= 4 * 15 && count <= answered, `${answered} of at most 60 in 0.3 s`);
    t.ok(p50Ms >= 19, `p50 is ${p50Ms} ms`);
  });
  t.test("at a constant rate, latency counts from the time at which a request was due", async (t) => {
    // For 300 of every 500 ms no answer goes out: three of five requests wait, and half of those for 150 ms and longer.
    const { url } = serve(t, () => 0, { everyMs: 500, forMs: 300 });
    const { answered, p50Ms, p90Ms } = await generator.measure(url, [ask("/x")], {
      connections: 1,
      ratePerSecond: 100,
      seconds: 1,
    });
    // A machine that is busy may not come to the last ones.
    t.ok(answered >= 50 && answered <= 100, `${answered} answers`);
    t.ok(p90Ms > 150 && p50Ms > 5, `p50 ${p50Ms} ms, p90 ${p90Ms} ms`);
  });
  t.test("a stream is read to its end", async (t) => {
    const { url } = serve(t, () => 0);
    const { answered, bytesPerSecond } = await generator.measure(
      url,
      [ask("/.api/search/stream?q=bytes:200000")],
      pace,
    );
    t.ok(answered > 0 && bytesPerSecond * 0.3 > 200_000, `${answered} answers, ${bytesPerSecond} bytes a second`);
  });
  t.test("an invalid response ends the run", async (t) => {
    const { url } = serve(t, () => 0);
    await t.rejects(generator.measure(url, [ask("/status:500")], pace), { message: /not 200/ });
    let length = 1;
    const growing = createServer((_, response) => response.end("x".repeat(length++)));
    await new Promise<void>((resolve) => growing.listen(0, "127.0.0.1", resolve));
    t.teardown(() => growing.close());
    await t.rejects(
      generator.measure(`http://127.0.0.1:${(growing.address() as AddressInfo).port}`, [ask("/x")], pace),
      {
        message: /not as long as/,
      },
    );
    await t.rejects(generator.measure("http://127.0.0.1:1", [ask("/x")], pace), { message: /cannot connect/ });
  });
});

t.test("the other servers return the configured data", async (t) => {
  t.teardown(endAll);
  const repositories = Array.from({ length: 30 }, (_, i) => ({
    id: `${i}`,
    name: `r${i}`,
    description: "",
    url: `/r${i}`,
    stars: i,
    isFork: false,
    isArchived: false,
    isPrivate: true,
  }));
  const dataFile = join(t.testdir(), "data.json");
  writeFileSync(dataFile, JSON.stringify({ repositories, currentUser: { username: "alice" } }));
  const wanted = [
    { repositories: { nodes: repositories.slice(0, 25) } },
    { repositories: { nodes: repositories } },
    { currentUser: { username: "alice" } },
  ];
  for (const way of graphqlWays) {
    const url = await startGraphqlServer(way, dataFile);
    t.match(graphqlVersion(way), /^\d+\.\d+\.\d+$/);
    for (const [i, { query }] of operations.entries()) {
      const response = await fetch(`${url}/.api/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query }),
      });
      t.same(await response.json(), { data: wanted[i] }, `${way}: ${query}`);
    }
  }
});
