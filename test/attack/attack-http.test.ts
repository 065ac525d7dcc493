/** Attacks on HTTP itself: bodies, and one client that takes all that it can get while another asks for little. */
import { request, type ClientRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import t from "tap";
import { monotonicMs } from "../../src/base/deadline.js";
import { underAttack, usualBounds } from "../support/attack.js";
import { testDaemon, type DaemonProcess } from "../support/daemon.js";
import { GitFixture } from "../support/git-fixture.js";
import { until, within } from "../support/waiting.js";

/** Addresses of the loopback network: two clients. */
const greedy = "127.0.0.2";
const modest = "127.0.0.3";

/**
 * What the modest client waits for at most: some hundred times what it takes on an idle machine. Without shares it
 * waits for ever.
 */
const waitMsMax = 15_000;

interface Wish {
  readonly path: string;
  readonly graphql?: string;
}

function send(daemon: DaemonProcess, from: string, { path, graphql }: Wish): ClientRequest {
  const sending = request(daemon.url + path, {
    method: graphql === undefined ? "GET" : "POST",
    localAddress: from,
    agent: false,
  });
  sending.end(graphql === undefined ? undefined : JSON.stringify({ query: graphql }));
  return sending;
}

/** The status and the text of an answer. */
function answer(daemon: DaemonProcess, from: string, wish: Wish): Promise<string> {
  return within(
    new Promise((resolve, reject) => {
      send(daemon, from, wish)
        .on("error", reject)
        .on("response", (response: IncomingMessage) => {
          let text = "";
          response
            .on("data", (bytes: Buffer) => {
              text += bytes.toString();
            })
            .on("end", () => resolve(`${response.statusCode} ${text}`))
            .on("error", reject);
        });
    }),
    wish.path,
    waitMsMax,
  );
}

const daemon = await testDaemon(t, [
  "--set",
  "search.concurrent=16",
  "--set",
  "search.queue=64",
  "--set",
  "search.stallSeconds=600",
]);

t.test("a body in one-byte chunks", async (t) => {
  const port = Number(new URL(daemon.url).port);
  // V8's space of young objects alone grows to 48 MiB.
  const bounds = { ...usualBounds, grownBytesMax: 64 << 20 };
  await underAttack(t, daemon, bounds, "200,000 chunks", async () => {
    let text = "";
    const socket = connect(port, "127.0.0.1", () => {
      socket.write(
        `POST /.api/graphql HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\nx\r\n".repeat(200_000)}0\r\n\r\n`,
      );
    });
    socket.on("data", (bytes: Buffer) => {
      text += bytes.toString();
    });
    await until("the answer", () => text.startsWith("HTTP/1.1 400 "));
    socket.destroy();
  });
});

t.test("one client takes what it can get, and another is served", async (t) => {
  const source = GitFixture.create();
  t.teardown(() => source.remove());
  const line = "needle in a line of some length, so that a client which does not read stops its search soon\n";
  source.commit({ branch: "main", files: { "a/large.txt": line.repeat(40_000), "b/small.txt": "a rare thimble\n" } });
  await daemon.add("host/repo", source.path);
  const hostile = 'int x = "a" + f(1); /* '.repeat(20_000);
  const highlight = `{ highlightCode(code: ${JSON.stringify(hostile)}, fuzzyLanguage: "c", disableTimeout: true, isLightTheme: false) }`;
  const wishes: readonly Wish[] = [
    { path: "/.api/search/stream?q=thimble+count:all" },
    { path: "/host/repo/-/raw/b/small.txt" },
    { path: "/host/repo/-/raw/b?format=tar" },
    {
      path: "/.api/graphql",
      graphql: '{ repository(name: "host/repo") { commit(rev: "main") { blob(path: "b/small.txt") { content } } } }',
    },
  ];
  const expected = [/^200 [^]*thimble/, /^200 a rare thimble/, /^200 /, /^200 [^]*thimble/];
  const flood: ClientRequest[] = [];
  const statuses: number[] = [];
  const open = (wish: Wish, count: number): void => {
    for (let i = 0; i < count; i++) {
      // It reads no more than the head, and so holds what it got.
      flood.push(
        send(daemon, greedy, wish)
          .on("error", () => undefined)
          .on("response", (response: IncomingMessage) => {
            statuses.push(response.statusCode ?? 0);
            response.pause().on("error", () => undefined);
          }),
      );
    }
  };
  open({ path: "/.api/search/stream?q=needle+count:all" }, 120);
  open({ path: "/host/repo/-/raw/?format=tar" }, 12);
  open({ path: "/host/repo/-/raw/a/large.txt" }, 80);
  open({ path: "/.api/graphql", graphql: highlight }, 12);
  await until(
    "the greedy client has what it may have",
    () => statuses.filter((status) => status === 200).length >= 14 && statuses.includes(429),
  );
  const startMs = monotonicMs();
  await Promise.all(
    wishes.map(async (wish, i) => t.match(await answer(daemon, modest, wish), expected[i] ?? /^$/, wish.path)),
  );
  t.comment(`served within ${(monotonicMs() - startMs).toFixed(0)} ms`);
  for (const sending of flood) sending.destroy();
});
