import { connect, createServer, type AddressInfo } from "node:net";
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { sleep } from "../../../src/base/deadline.js";
import { descriptorLimit, limitIn, openAnswersMax } from "../../../src/http/server/descriptor-share.js";
import { plainText } from "../../../src/http/server/headers.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import { until, waitMsMax } from "../../support/waiting.js";

const noTuning = () => {};

function startServer(observe: (method: string, status: number) => void, add: (server: HttpServer) => void) {
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
    (method, status) => observed.push(`${method} ${status}`),
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
    ["a throw is a 500", "/throws", {}, 500, "internal error\n"],
    ["a rejection is a 500", "/rejects", {}, 500, "internal error\n"],
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
  t.ok(observed.includes("GET 200") && observed.includes("GET 500") && observed.includes("POST 413"));
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
    (method, status) => events.push(`${method} ${status}`),
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
  for (const [name, text, expected] of [
    ["GET", get, ["[2]"]],
    ["a body with its length", sized, ["[hello]"]],
    ["a body in chunks", chunked, ["[hello]"]],
    ["pipelined", get + sized + get, ["[2]", "[hello]", "[2]"]],
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
    ["HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", /^(HTTP\/1\.1 505|$)/],
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
