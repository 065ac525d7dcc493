import { createServer as createHttpServer } from "node:http";
import { connect, createServer, type AddressInfo } from "node:net";
import { pino } from "pino";
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { sleep } from "../../../src/base/deadline.js";
import { descriptorLimit, limitIn, openAnswersMax } from "../../../src/http/server/descriptor-share.js";
import { plainText } from "../../../src/http/server/headers.js";
import type { RequestObserver } from "../../../src/http/server/handler.js";
import { parseTraceParent } from "../../../src/http/server/request.js";
import type { HttpRequest, RequestHead } from "../../../src/http/server/request.js";
import type { HttpResponse } from "../../../src/http/server/response.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import type { TraceParent } from "../../../src/model/request-origin.js";
import { until, waitMsMax } from "../../support/waiting.js";

const noTuning = () => {};

function startServer(observe: RequestObserver, add: (server: HttpServer) => void) {
  const server = new HttpServer(silentLog(), observe);
  add(server);
  const port = server.listen("127.0.0.1", 0, noTuning);
  return { server, port, url: `http://127.0.0.1:${port}` };
}

t.test("descriptors are reserved for other work of the daemon", async (t) => {
  t.equal(
    limitIn(
      "Limit                     Soft Limit           Hard Limit           Units\nMax open files            20000                30000                files\n",
    ),
    20_000,
  );
  t.equal(limitIn("Max open files            unlimited            unlimited            files\n"), Infinity);
  t.same([64, 1_024, 65_536, Infinity].map(openAnswersMax), [32, 512, 64_512, Infinity]);
  t.ok(descriptorLimit() > 0);
  const { server, url } = startServer(
    () => undefined,
    (server) => {
      server.setOpenMax(2);
      server.route(
        "GET",
        "/stream",
        (_request, response) => void response.startStream(200, plainText).write(Buffer.from("x")),
      );
      server.route("GET", "/healthz", (_request, response) => response.reply(200, plainText, "ok\n"));
    },
  );
  t.teardown(() => server.stop(0));
  const client = new AbortController();
  const open = await Promise.all([0, 1].map(() => fetch(`${url}/stream`, { signal: client.signal })));
  t.same(
    open.map(({ status }) => status),
    [200, 200],
  );
  const refused = await fetch(`${url}/stream`);
  t.same([refused.status, refused.headers.get("retry-after")], [503, "1"]);
  t.match(refused.headers.get("connection"), /close/);
  t.match(await refused.text(), /^Too many requests are open/);
  t.equal((await fetch(`${url}/healthz`)).status, 200, "whether it lives is told all the same");
  client.abort();
  await until("their places are free", () => server.openResponses === 0);
  const again = await fetch(`${url}/stream`);
  t.equal(again.status, 200);
  await again.body?.cancel();
});

t.test("responses", async (t) => {
  const observed: string[] = [];
  const { server, url } = startServer(
    ({ method, status, route, durationMs }) =>
      observed.push(`${method} ${status} ${route}${durationMs >= 0 ? "" : " before it began"}`),
    (server) => {
      server.route("GET", "/text", (request, response) => response.reply(200, plainText, `q=${request.query}`));
      server.route("GET", "/late", async (request, response) => {
        await sleep(5);
        response.reply(200, plainText, `${request.path} ${request.query} ${request.headers.get("x-word")}`);
      });
      server.route("GET", "/repos/NAME/raw/PATH", (request, response) => {
        response.reply(200, plainText, JSON.stringify(request.params));
      });
      server.routeWithBody("POST", "/echo", 100_000, (request, response) =>
        response.reply(200, plainText, request.body),
      );
      server.route("GET", "/throws", () => {
        throw new TypeError("deliberate");
      });
      server.route("GET", "/rejects", async () => {
        await sleep(1);
        throw new TypeError("deliberate");
      });
      server.route("GET", "/twice", (_request, response) => {
        response.reply(200, plainText, "first");
        response.reply(200, plainText, "second");
      });
    },
  );
  t.teardown(() => server.stop(0));

  const named = { headers: { "X-Request-Id": "id-1" } };
  const rows: [name: string, path: string, init: RequestInit, status: number, body: string][] = [
    ["query text stays raw", "/text?q=a%20b&c=1", {}, 200, "q=q=a%20b&c=1"],
    ["request outlives an await", "/late?x=1", { headers: { "X-Word": "w" } }, 200, "/late x=1 w"],
    [
      "captures hold slashes and are decoded",
      "/repos/host/a%20b/raw/d/e.c",
      {},
      200,
      '{"NAME":"host/a b","PATH":"d/e.c"}',
    ],
    ["broken percent-encoding", "/repos/%zz/raw/x", {}, 404, "not found\n"],
    ["unknown path", "/nope", {}, 404, "not found\n"],
    ["unknown path under the API", "/.api/nope", {}, 404, "no route\n"],
    ["other method", "/text", { method: "POST" }, 405, "method not allowed\n"],
    ["body", "/echo", { method: "POST", body: "x".repeat(100_000) }, 200, "x".repeat(100_000)],
    ["empty body", "/echo", { method: "POST" }, 200, ""],
    ["body above the limit", "/echo", { method: "POST", body: "x".repeat(100_001) }, 413, "body too large\n"],
    ["a throw is a 500", "/throws", named, 500, "internal error in request id-1\n"],
    ["a rejection is a 500", "/rejects", named, 500, "internal error in request id-1\n"],
    ["the first reply counts", "/twice", {}, 200, "first"],
  ];
  for (const [name, path, init, status, body] of rows) {
    await t.test(name, async (t) => {
      const response = await fetch(url + path, init);
      t.equal(response.status, status);
      t.equal(await response.text(), body);
    });
  }

  const head = await fetch(`${url}/text?abc`, { method: "HEAD" });
  t.equal(head.status, 200);
  t.equal(head.headers.get("content-length"), "5", "HEAD says how long the body would be");
  t.equal(await head.text(), "");
  const refused = await fetch(`${url}/text`, { method: "DELETE" });
  t.equal(refused.headers.get("allow"), "GET, HEAD");
  await refused.text();
  for (const one of [
    "GET 200 /text",
    "HEAD 200 /text",
    "GET 200 /repos/NAME/raw/PATH",
    "GET 500 /throws",
    "GET 404 none",
    "POST 405 none",
    "POST 413 /echo",
  ])
    t.ok(observed.includes(one), one);
});

t.test("each request has an id, and may be part of a trace", async (t) => {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const server = new HttpServer(log, () => undefined);
  server.route("GET", "/", ({ requestId, traceParent }, response) =>
    response.reply(200, plainText, JSON.stringify({ requestId, traceParent })),
  );
  server.route("GET", "/throws", () => {
    throw new TypeError("deliberate");
  });
  const url = `http://127.0.0.1:${server.listen("127.0.0.1", 0, noTuning)}`;
  t.teardown(() => server.stop(0));
  const ask = async (headers: Record<string, string>, path = "/") => {
    const response = await fetch(url + path, { headers });
    const text = await response.text();
    const told = response.headers.get("x-request-id") ?? "";
    return { told, text, seen: text.startsWith("{") ? (JSON.parse(text) as Partial<RequestHead>) : {} };
  };
  for (const id of ["a", "Z9._~:+/=@-", "x".repeat(128)]) {
    const { told, seen } = await ask({ "X-Request-Id": id });
    t.same([told, seen.requestId], [id, id]);
  }
  for (const id of ["", "a b", 'a"b', "a\tb", "x".repeat(129), "\u00e4"]) {
    const { told, seen } = await ask({ "X-Request-Id": id });
    t.match(told, /^[0-9a-f-]{36}$/, JSON.stringify(id));
    t.equal(seen.requestId, told);
  }
  t.not((await ask({})).told, (await ask({})).told);
  const { told, text } = await ask(
    { "X-Request-Id": "q-7", traceparent: `00-${"ab".repeat(16)}-${"cd".repeat(8)}-01` },
    "/throws",
  );
  t.equal(told, "q-7");
  t.equal(text, "internal error in request q-7\n");
  t.match(lines, [{ requestId: "q-7", traceId: "ab".repeat(16), msg: "request failed: deliberate" }]);
  t.equal((await ask({ "X-Request-Id": "q-8" }, "/none")).told, "q-8", "answers without a route have it, too");
});

t.test("traceparent", (t) => {
  const [traceId, spanId] = ["0123456789abcdef".repeat(2), "00f067aa0ba902b7"];
  const rows: [header: string, expected: TraceParent | undefined][] = [
    [`00-${traceId}-${spanId}-01`, { traceId, spanId, isSampled: true }],
    [`00-${traceId}-${spanId}-00`, { traceId, spanId, isSampled: false }],
    [`00-${traceId}-${spanId}-ff`, { traceId, spanId, isSampled: true }],
    [`cc-${traceId}-${spanId}-01-what-is-later`, { traceId, spanId, isSampled: true }],
    [`cc-${traceId}-${spanId}-01`, { traceId, spanId, isSampled: true }],
    [`00-${traceId}-${spanId}-01-what-is-later`, undefined],
    [`cc-${traceId}-${spanId}-01.later`, undefined],
    [`ff-${traceId}-${spanId}-01`, undefined],
    [`00-${"0".repeat(32)}-${spanId}-01`, undefined],
    [`00-${traceId}-${"0".repeat(16)}-01`, undefined],
    [`00-${traceId.toUpperCase()}-${spanId}-01`, undefined],
    [`00-${traceId}-${spanId}`, undefined],
    [`00-${traceId.slice(1)}-${spanId}-01`, undefined],
    ["", undefined],
  ];
  for (const [header, expected] of rows) t.same(parseTraceParent(header), expected, header);
  t.equal(parseTraceParent(undefined), undefined);
  t.end();
});

t.test("listening", async (t) => {
  const first = startServer(
    () => {},
    () => {},
  );
  t.teardown(() => first.server.stop(0));
  const second = new HttpServer(silentLog(), () => {});
  t.throws(
    () => second.listen("127.0.0.1", first.port, noTuning),
    { code: "conflict", message: /in use/ },
    "a second daemon on the port is refused",
  );

  const foreign = createServer();
  await new Promise<void>((resolve) => foreign.listen(0, "127.0.0.1", resolve));
  t.teardown(() => foreign.close());
  const taken = (foreign.address() as AddressInfo).port;
  t.throws(() => second.listen("127.0.0.1", taken, noTuning), { code: "conflict" });

  let tuned: number | undefined;
  const port = second.listen("127.0.0.1", 0, (port) => {
    tuned = port;
  });
  t.equal(tuned, port, "the listener is tuned with the port that it got");
  await second.stop(0);
  await second.stop(0);
});

t.test("a client that disconnects", async (t) => {
  const events: string[] = [];
  let begun = false;
  const { server, port } = startServer(
    ({ method, status }) => events.push(`${method} ${status}`),
    (server) => {
      server.route("GET", "/slow", async (_request, response) => {
        begun = true;
        response.onClosed(() => events.push("closed"));
        await until("the response is closed", () => response.closed);
        response.reply(200, plainText, "nobody reads this");
        events.push("replied into the void");
      });
    },
  );
  t.teardown(() => server.stop(0));
  const socket = connect(port, "127.0.0.1");
  socket.write("GET /slow HTTP/1.1\r\nHost: x\r\n\r\n");
  await until("the request has arrived", () => begun);
  socket.destroy();
  await until("the answer was written", () => events.length === 3);
  t.same(events, ["GET 499", "closed", "replied into the void"]);
});

t.test("stop", async (t) => {
  let finish = (): void => undefined;
  const { server, url } = startServer(
    () => {},
    (server) => {
      server.route("GET", "/slow", async (_request, response) => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        response.reply(200, plainText, "whole");
      });
    },
  );
  const answer = fetch(`${url}/slow`).then((response) => response.text());
  await until("the request has arrived", () => server.openResponses === 1);
  const stopped = server.stop(60_000);
  await t.rejects(fetch(`${url}/slow`), "no further connection is taken");
  finish();
  t.equal(await answer, "whole", "an open response ends in peace");
  await stopped;
  t.equal(server.openResponses, 0);
});

t.test("stop closes what does not end in time", async (t) => {
  const { server, url } = startServer(
    () => {},
    (server) => {
      server.route("GET", "/endless", (_request, response) => {
        response.startStream(200, plainText).write(Buffer.from("begun"));
      });
    },
  );
  const response = await fetch(`${url}/endless`);
  const body = response.text();
  await server.stop(50);
  await t.rejects(body, "the client sees that the answer is not whole");
});

t.test("a request may arrive in any pieces", async (t) => {
  const { server, port } = startServer(
    () => {},
    (server) => {
      server.route("GET", "/", (request, response) => response.reply(200, plainText, `[${request.query.length}]`));
      server.routeWithBody("POST", "/echo", 10_000, (request, response) =>
        response.reply(200, plainText, `[${Buffer.from(request.body).toString()}]`),
      );
    },
  );
  t.teardown(() => server.stop(0));
  const get = "GET /?ab HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n";
  const sized = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
  const chunked = "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
  const bodies = async (pieces: readonly string[], count: number): Promise<string[]> =>
    bodiesIn(await sendPieces(port, pieces, (answer) => bodiesIn(answer).length === count));
  const absolute = "GET http://y:80?abc HTTP/1.1\r\nhost: x\r\n\r\n";
  const old = "POST /echo HTTP/1.0\r\nConnection: keep-alive\r\nContent-Length: 5\r\n\r\nhello";
  const likeRequests = "\r\n\r\nGET http://x/ HTTP/1.0\r\n\r\n";
  const inBody = `POST http://x/echo HTTP/1.1\r\nHost: x\r\nContent-Length: ${likeRequests.length}\r\n\r\n${likeRequests}`;
  const extended =
    'POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5;a="b";c\r\nhello\r\n' +
    `${likeRequests.length.toString(16)}\r\n${likeRequests}\r\n0;d\r\nA: b\r\n\r\n`;
  for (const [name, text, expected] of [
    ["GET", get, ["[2]"]],
    ["a body with its length", sized, ["[hello]"]],
    ["a body in chunks", chunked, ["[hello]"]],
    ["pipelined", get + sized + get, ["[2]", "[hello]", "[2]"]],
    ["a target in absolute form", absolute, ["[3]"]],
    ["HTTP/1.0", "GET /?ab HTTP/1.0\r\n\r\n", ["[2]"]],
    ["HTTP/1.0 with a body, and what follows is no request", old + get, ["[hello]"]],
    ["blank lines", `\r\n\r\n${get}\r\n${sized}\r\n${get}\r\n`, ["[2]", "[hello]", "[2]"]],
    ["bodies like requests", inBody + extended, [`[${likeRequests}]`, `[hello${likeRequests}]`]],
    [
      "all of them",
      `\r\n${absolute}${chunked}\r\n${absolute}${sized}${get}${old}`,
      ["[3]", "[hello]", "[3]", "[hello]", "[2]", "[hello]"],
    ],
  ] as const) {
    const cuts = Array.from({ length: text.length - 1 }, (_, at) => at + 1);
    const answers = await Promise.all(cuts.map((at) => bodies([text.slice(0, at), text.slice(at)], expected.length)));
    t.same(
      cuts.filter((_, at) => answers[at]?.join() !== expected.join()),
      [],
      `${name}: cut in two at each byte`,
    );
    t.same(await bodies([...text], expected.length), expected, `${name}: byte by byte`);
  }
  const long = `GET /?${"q".repeat(60_000)} HTTP/1.1\r\nHost: x\r\nCookie: ${"c".repeat(4_000)}\r\n\r\n`;
  t.same(await bodies(segmentsOf(long + long), 2), ["[60000]", "[60000]"], "segments of 536 bytes");
});

t.test("what the server as a whole can do", async (t) => {
  const { server, port } = startServer(
    () => {},
    (server) => {
      server.route("GET", "/", (_, response) => response.reply(200, plainText, ""));
      server.routeWithBody("POST", "/post", 1000, (_, response) => response.reply(200, plainText, ""));
    },
  );
  t.teardown(() => server.stop(0));
  for (const version of ["1.1", "1.0"]) {
    const bytes = `OPTIONS * HTTP/${version}\r\nHost: x\r\nConnection: close\r\n\r\n`;
    t.match(
      await sendPieces(port, [bytes], () => false),
      /^HTTP\/1\.1 200 OK\r\nAllow: GET, HEAD, POST, OPTIONS\r\n[^]*\r\n\r\n$/,
    );
  }
});

t.test("a client of HTTP/1.0", async (t) => {
  const { server, port, url } = startServer(
    () => {},
    (server) => {
      server.otherwise((request, response) =>
        response.reply(200, plainText, JSON.stringify([request.path, [...request.headers]])),
      );
      server.route("GET", "/sized", (_request, response) => {
        response.startSizedStream(200, plainText, 5).writeLast(Buffer.from("whole"));
      });
      server.route("GET", "/stream", (_request, response) => {
        response.startStream(200, plainText).writeLast(Buffer.from("in chunks"));
      });
    },
  );
  t.teardown(() => server.stop(0));
  const untilClosed = (text: string): Promise<string> => sendPieces(port, [text], () => false);
  for (const [method, path, headers, status, body] of [
    ["GET", "/a", "", 200, '["/a",[["connection","close"]]]'],
    ["GET", "/a", "Host: x\r\n", 200, '["/a",[["connection","close"],["host","x"]]]'],
    ["GET", "/a", "Connection: keep-alive\r\nTrawl-Http10: 1\r\n", 200, '["/a",[["connection","close"]]]'],
    ["GET", "http://h:1/a", "Host: x\r\n", 200, '["/a",[["connection","close"],["host","h:1"]]]'],
    ["GET", "http://h/a", "", 200, '["/a",[["connection","close"],["host","h"]]]'],
    ["HEAD", "/a", "", 200, ""],
    ["GET", "/sized", "", 200, "whole"],
    ["GET", "/stream", "", 505, /^This answer is a stream, which needs HTTP\/1\.1.*proxy_http_version 1\.1/],
  ] as const) {
    const answer = await untilClosed(`${method} ${path} HTTP/1.0\r\n${headers}\r\n`);
    t.match(answer, new RegExp(`^HTTP/1\\.1 ${status} [^]*\r\nConnection: close\r\n`), `${method} ${path} ${headers}`);
    t.notMatch(answer, /keep-alive|chunked/i);
    t.match(answer.slice(answer.indexOf("\r\n\r\n") + 4), body);
  }
  t.match(await untilClosed("GET /a HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n"), /^HTTP\/1\.1 400/);
  const marked = await fetch(`${url}/stream`, { headers: { "Trawl-Http10": "1" } });
  t.equal(await marked.text(), "in chunks", "the mark is not a client's");
  for (let left = 0; left < 20; left++) {
    // The next connection gets the descriptor.
    const socket = connect(port, "127.0.0.1");
    socket.write("GET /left HTTP/1.0\r\nHost");
    for (let turns = 0; turns < 4; turns++) await new Promise(setImmediate);
    socket.destroy();
    t.equal((await fetch(`${url}/a`)).status, 200, "half a head is no part of the next connection");
  }
});

t.test("requests are taken and refused as by a strict parser", async (t) => {
  let seen: string[] = [];
  const see = (method: string, target: string, host: string | undefined, body: string): void => {
    // Node leaves the absolute form to its user.
    const [, authority = host ?? "", path = target] = /^https?:\/\/([^/?]*)(.*)$/i.exec(target) ?? [];
    seen.push(`${method} ${path.startsWith("/") ? path : `/${path}`} ${authority} ${body}`.trim());
  };
  const { server, port } = startServer(
    () => {},
    (server) => {
      const answer = ({ method, path, query, headers, body }: HttpRequest, response: HttpResponse): void => {
        see(
          method,
          query === "" ? path : `${path}?${query}`,
          headers.get("host"),
          Buffer.from(body).toString("latin1"),
        );
        response.reply(200, plainText, "");
      };
      server.otherwise(answer);
      server.routeWithBody("POST", "/post", 1000, answer);
    },
  );
  const reference = createHttpServer((request, response) => {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      see(method, url, headers.host, Buffer.concat(parts).toString("latin1"));
      response.end();
    });
  });
  reference.on("clientError", (_error, socket) => socket.destroy());
  await new Promise<void>((resolve) => reference.listen(0, "127.0.0.1", resolve));
  t.teardown(async () => {
    reference.close();
    await server.stop(0);
  });
  const requestsSeen = async (at: number, bytes: string): Promise<string[]> => {
    seen = [];
    await new Promise<void>((resolve) => {
      const socket = connect(at, "127.0.0.1");
      socket.on("error", () => {});
      socket.on("close", () => resolve());
      socket.resume();
      socket.end(bytes, "latin1");
    });
    return seen;
  };
  const last = "GET /last HTTP/1.1\r\nHost: x\r\n\r\n";
  const body = (headers: string, bytes: string) => `POST /post HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${bytes}`;
  const chunks = (bytes: string) => body("Transfer-Encoding: chunked", bytes);
  const same = undefined;
  /** Each is followed by an ordinary request; where Node's parser differs, what is taken here, and why. */
  const rows: readonly (readonly [bytes: string, taken: readonly string[] | undefined, why?: string])[] = [
    ["", same],
    ["\r\n", same],
    ["\n", same],
    ["\r\n\r\n", same],
    ["\r\n".repeat(9), [], "sixteen bytes of blank lines are enough"],
    ["GET /a HTTP/1.1\r\nHost: x\r\n\r\n", same],
    ["GET /a?b=%20#c HTTP/1.1\r\nHost: x\r\n\r\n", same],
    ["GET http://h/a?b HTTP/1.1\r\nHost: h\r\n\r\n", same],
    ["GET HTTPS://h:81 HTTP/1.1\r\nHost: x\r\n\r\n", same],
    ["GET http://[::1]:80/a HTTP/1.1\r\nHost: x\r\n\r\n", same],
    ["GET http://user@h/ HTTP/1.1\r\nHost: h\r\n\r\n", [], "a user's name in a target is an error (RFC 9110, 4.2.4)"],
    ["GET http:///a HTTP/1.1\r\nHost: h\r\n\r\n", [], "Node leaves it to its user whether the target names a host"],
    ["GET http://h:8x/a HTTP/1.1\r\nHost: h\r\n\r\n", [], "Node leaves it to its user whether the target names a host"],
    ["GET ftp://h/a HTTP/1.1\r\nHost: h\r\n\r\n", [], "only http and https are served"],
    ["OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", ["GET /last x"], "the server itself answers"],
    ["OPTIONS * HTTP/1.1\r\n\r\n", [], "after an error the connection is closed"],
    ["OPTIONS *? HTTP/1.1\r\nHost: x\r\n\r\n", [], "only * itself is the server as a whole"],
    ["options * HTTP/1.1\r\nHost: x\r\n\r\n", [], "methods are in capitals"],
    ["GET * HTTP/1.1\r\nHost: x\r\n\r\n", [], "only OPTIONS is for the server as a whole"],
    ["CONNECT x:80 HTTP/1.1\r\nHost: x:80\r\n\r\n", same],
    ["GET a HTTP/1.1\r\nHost: x\r\n\r\n", same],
    ["GET /a HTTP/1.0\r\n\r\n", same],
    ["GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", ["GET /a"], "a connection of HTTP/1.0 has one request"],
    ["POST /post HTTP/1.0\r\nContent-Length: 2\r\nConnection: close\r\n\r\nab", same],
    [
      "POST /post HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      [],
      "HTTP/1.0 has no chunks (RFC 9112, 6.1)",
    ],
    ["GET /a\r\n", same],
    ["GET /a HTTP/0.9\r\nHost: x\r\n\r\n", [], "the versions served are 1.0 and 1.1"],
    ["GET /a HTTP/1.2\r\nHost: x\r\n\r\n", same],
    ["GET /a HTTP/2.0\r\nHost: x\r\n\r\n", [], "the versions served are 1.0 and 1.1"],
    ["GET /a http/1.1\r\nHost: x\r\n\r\n", same],
    ["GET /a HTTP/1.1 \r\nHost: x\r\n\r\n", same],
    ["GET  /a HTTP/1.1\r\nHost: x\r\n\r\n", [], "there is a single space (RFC 9112, 3)"],
    ["GET /a  HTTP/1.1\r\nHost: x\r\n\r\n", [], "there is a single space (RFC 9112, 3)"],
    ["GET\t/a HTTP/1.1\r\nHost: x\r\n\r\n", same],
    [" GET /a HTTP/1.1\r\nHost: x\r\n\r\n", same],
    [" /a HTTP/1.1\r\nHost: x\r\n\r\n", same],
    ["G@T /a HTTP/1.1\r\nHost: x\r\n\r\n", same],
    ["BREW /a HTTP/1.1\r\nHost: x\r\n\r\n", ["BREW /a x", "GET /last x"], "any method is read, and answered with 405"],
    ["GET /a\x7f HTTP/1.1\r\nHost: x\r\n\r\n", same],
    ["GET /a\0 HTTP/1.1\r\nHost: x\r\n\r\n", same],
    ["GET /a HTTP/1.1\nHost: x\n\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\nA: b\rc\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\nA: b\0\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\nA: b\x01\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\nA: b\tc\xff\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\nA:\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\nA\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\nA b: c\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\nA : b\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", [], "a server may refuse folded lines (RFC 9112, 5.2)"],
    ["GET /a HTTP/1.1\r\n folded\r\nHost: x\r\n\r\n", same],
    ["GET /a HTTP/1.1\r\n\r\n", [], "after an error the connection is closed"],
    ["GET http://h/a HTTP/1.1\r\n\r\n", [], "after an error the connection is closed"],
    ["GET /a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", [], "a second Host is an error (RFC 9112, 3.2)"],
    ["GET http://h/a HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n", [], "a second Host is an error (RFC 9112, 3.2)"],
    [body("Content-Length: 2", "ab"), same],
    [body("Content-Length:02 ", "ab"), same],
    [body("Content-Length: 2", "ab\r\n"), same],
    [body("Content-Length: 0", ""), same],
    [body("Content-Length: 2\r\nContent-Length: 2", "ab"), same],
    [body("Content-Length: +2", "ab"), same],
    [body("Content-Length: 2, 2", "ab"), same],
    [body("Content-Length: 2\r\nTransfer-Encoding: chunked", "0\r\n\r\n"), same],
    [body("Transfer-Encoding: gzip", "0\r\n\r\n"), same],
    [body("Transfer-Encoding : chunked", "0\r\n\r\n"), same],
    [body(": b\r\nContent-Length: 2", "ab"), same],
    [chunks("2\r\nab\r\n0\r\n\r\n"), same],
    [chunks("002\r\nab\r\n1\r\nc\r\n000\r\n\r\n"), same],
    [chunks("0A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n\r\n\r\n"), same],
    [chunks("2;a=b\r\nab\r\n0;c\r\n\r\n"), same],
    [chunks("2\r\nab\r\n0\r\nA: b\r\nC: d\r\n\r\n"), same],
    [chunks("2\r\nab\r\n0\r\nA\r\n\r\n"), ["POST /post x ab"], "the body is known before the lines after it"],
    [chunks("2\nab\r\n0\r\n\r\n"), same],
    [chunks("2\r\nabXX0\r\n\r\n"), same],
    [chunks("2\r\nab\r\n0\r\nXX"), ["POST /post x ab"], "the body is known before the lines after it"],
    [chunks("2\r\nabc\r\n0\r\n\r\n"), same],
    [chunks("-2\r\nab\r\n0\r\n\r\n"), same],
    [chunks("0x2\r\nab\r\n0\r\n\r\n"), same],
    [chunks("\r\n"), same],
    [chunks(`${"0".repeat(9)}\r\n\r\n`), [], "eight digits are enough for a size"],
    ["\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03", same],
    ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", same],
  ];
  for (const [bytes, taken, why] of rows) {
    const ours = await requestsSeen(port, bytes + last);
    const theirs = await requestsSeen((reference.address() as AddressInfo).port, bytes + last);
    t.same(ours, taken ?? theirs, `${JSON.stringify(bytes)} ${why ?? ""}`);
  }
});

t.test("a request of which the end or the host is ambiguous is refused, and its connection closed", async (t) => {
  let handled = 0;
  const { server, port, url } = startServer(
    () => {},
    (server) => {
      server.otherwise((_request, response) => {
        handled++;
        response.reply(200, plainText, "");
      });
    },
  );
  t.teardown(() => server.stop(0));
  const smuggled = "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n";
  const faults: [headers: string, message: RegExp][] = [
    ...["5\r\nContent-Length: 6", "5\r\ncontent-length: 5"].map((value): [string, RegExp] => [
      `Content-Length: ${value}`,
      /content-length occurs twice/,
    ]),
    ...["", "+5", "-1", "5,5", "5 5", "0x5", "5.0", "1e1", "9".repeat(30)].map((value): [string, RegExp] => [
      `Content-Length: ${value}`,
      /Content-Length is not a number/,
    ]),
    ...["", "xchunked", "gzip, chunked", "chunked, chunked", "chunked,", "identity", "chunked;q=1", '"chunked"'].map(
      (value): [string, RegExp] => [`Transfer-Encoding: ${value}`, /only Transfer-Encoding/],
    ),
    ["Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", /transfer-encoding occurs twice/],
    ["HOST: y", /host occurs twice/],
    ["Host: x", /host occurs twice/],
  ];
  for (const [headers, message] of faults) {
    for (const after of ["", "0\r\n\r\n", smuggled, `0\r\n\r\n${smuggled}`, `hello${smuggled}`]) {
      const answer = await sendPieces(port, [`POST /x HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n${after}`], () => false);
      // With further bytes, the connection may be closed without an answer.
      if (after === "") t.match(answer, /^HTTP\/1\.1 400[^]*\r\nConnection: close\r\n/i, headers);
      if (after === "" && !answer.includes("<h1>Bad Request</h1>")) t.match(answer, message);
      t.match(answer, /^(HTTP\/1\.1 (400|505)(?![^]*HTTP\/1\.1)|$)/, `${headers}, then ${JSON.stringify(after)}`);
    }
  }
  t.equal(handled, 0, "none of them is handled, nor what follows it");
  const honest = await fetch(url, { method: "POST", body: "x" });
  t.equal(honest.status, 200);
  t.equal(honest.headers.get("keep-alive"), "timeout=7", "a client knows when not to reuse the connection any more");
  const last = await sendPieces(port, ["GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"], () => false);
  t.match(last, /^HTTP\/1\.1 200/);
  t.notMatch(last, /keep-alive/i);
});

t.test("invalid requests do not affect others", async (t) => {
  const { server, port, url } = startServer(
    () => {},
    (server) => {
      server.route("GET", "/", (request, response) => response.reply(200, plainText, `${request.query.length}`));
      server.route("GET", "/repos/NAME", (request, response) =>
        response.reply(200, plainText, request.params["NAME"] ?? ""),
      );
      server.routeWithBody("POST", "/echo", 1000, (request, response) => response.reply(200, plainText, request.body));
    },
  );
  t.teardown(() => server.stop(0));
  const rows: [name: string, bytes: string | Buffer, answer: RegExp][] = [
    ["no HTTP at all", "hello\r\n\r\n", /^(HTTP\/1\.1 [45]|$)/],
    ["HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", /^HTTP\/1\.1 200/],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", /^HTTP\/1\.1 505/],
    ["TLS", Buffer.from("160301020001000100", "hex"), /^HTTP\/1\.1 400/],
    ["no host", "GET / HTTP/1.1\r\n\r\n", /^(HTTP\/1\.1 400|$)/],
    ["header without end", `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${"a".repeat(1 << 20)}`, /^(HTTP\/1\.1 4|$)/],
    ["a thousand headers", `GET / HTTP/1.1\r\nHost: x\r\n${"X-A: b\r\n".repeat(1000)}\r\n`, /^(HTTP\/1\.1 4|$)/],
    [
      "both length and chunks",
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
      /^(HTTP\/1\.1 400|$)/,
    ],
    ["negative length", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", /^(HTTP\/1\.1 4|$)/],
    [
      "bad chunk",
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n",
      /^(HTTP\/1\.1|$)/,
    ],
    [
      "NUL and bytes that are no text",
      Buffer.from("GET /repos/\u0000\u00ff%00%ff HTTP/1.1\r\nHost: x\r\nX: \u0000\u00fe\r\n\r\n", "latin1"),
      /^(HTTP\/1\.1|$)/,
    ],
    ["query of 3,000 bytes", `GET /?${"%41".repeat(1000)} HTTP/1.1\r\nHost: x\r\n\r\n`, /\r\n\r\n3000$/],
    [
      "several at once",
      "GET /?1 HTTP/1.1\r\nHost: x\r\n\r\nGET /?22 HTTP/1.1\r\nHost: x\r\n\r\n",
      /\r\n\r\n1HTTP[\s\S]*\r\n\r\n2$/,
    ],
    ["a method of its own", "BREW / HTTP/1.1\r\nHost: x\r\n\r\n", /^(HTTP\/1\.1 405|$)/],
    ["path outside", "GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\n\r\n", /^HTTP\/1\.1 404/],
  ];
  for (const [name, bytes, answer] of rows) {
    t.match(await rawExchange(port, bytes, answer), answer, name);
    t.equal(await (await fetch(`${url}/?ab`)).text(), "2", `and then an honest request, after: ${name}`);
  }
});

t.test("hundreds of clients that disconnect leave nothing behind", async (t) => {
  let begun = 0;
  let closed = 0;
  const { server, port } = startServer(
    () => {},
    (server) => {
      server.route("GET", "/", (_request, response) => {
        begun++;
        response.onClosed(() => {
          closed++;
        });
        response.startStream(200, plainText).write(Buffer.from("x"));
      });
    },
  );
  t.teardown(() => server.stop(0));
  const sockets = Array.from({ length: 300 }, () => {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    return socket;
  });
  await until("all have begun", () => begun === 300);
  t.equal(server.openResponses, 300);
  for (const [at, socket] of sockets.entries()) {
    if (at % 2 === 0) socket.destroy();
    else socket.resetAndDestroy();
  }
  await until("all are closed", () => closed === 300);
  t.equal(server.openResponses, 0);
});

/**
 * What the server answers until that is as expected or it closes; silence, where that is expected, is over in a moment.
 */
function rawExchange(port: number, bytes: string | Buffer, expected: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect(port, "127.0.0.1");
    const finish = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    socket.on("data", (data) => {
      answer += data.toString("latin1");
      if (expected.test(answer)) finish();
    });
    socket.on("error", finish);
    socket.on("close", finish);
    socket.write(bytes);
    const timer = setTimeout(finish, expected.test("") ? 60 : waitMsMax);
  });
}

/** Sends the pieces so that the server reads each of them by itself, until the answer is complete or the server closes. */
function sendPieces(port: number, pieces: readonly string[], isComplete: (answer: string) => boolean): Promise<string> {
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect({ port, host: "127.0.0.1", noDelay: true }, async () => {
      for (const piece of pieces) {
        socket.write(piece, "latin1");
        // The server, which is in this process, reads between two turns of the event loop.
        for (let turns = 0; turns < 2; turns++) await new Promise(setImmediate);
      }
    });
    socket.on("data", (data) => {
      answer += data.toString("latin1");
      if (isComplete(answer)) socket.destroy();
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve(answer));
  });
}

/** The bodies of the complete responses, which are in brackets. */
function bodiesIn(answer: string): string[] {
  return answer.match(/\[[^\]]*\]/g) ?? [];
}

/** Pieces of the smallest maximum segment size that a network may have. */
function segmentsOf(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / 536) }, (_, at) => text.slice(536 * at, 536 * (at + 1)));
}
