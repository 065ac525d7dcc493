import { connect } from "node:net";
import t, { type Test } from "tap";
import { silentLog } from "../../../src/base/log.js";
import { ByteBudget, RequestBody } from "../../../src/http/server/request-body.js";
import { plainText } from "../../../src/http/server/headers.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import { until, within } from "../../support/waiting.js";

t.test("a body that arrives in small pieces is not slower", (t) => {
  const budget = new ByteBudget(1 << 20, 1 << 20);
  const body = new RequestBody(1 << 20, budget, "a");
  let mostBytes = 0;
  for (let i = 0; i < 10_000; i++) {
    if (body.push(Buffer.alloc(64, i), false) !== undefined) t.fail("refused");
    mostBytes = Math.max(mostBytes, budget.bytes);
  }
  t.equal(body.push(new Uint8Array(0), true), undefined);
  t.ok(mostBytes <= 2 * 640_000, `${mostBytes} bytes for 640,000`);
  t.equal(body.bytes.length, 640_000);
  t.ok(body.bytes.every((byte, i) => byte === (Math.floor(i / 64) & 255)));
  body.release();
  body.release();
  t.equal(budget.bytes, 0);
  const single = new RequestBody(1 << 20, budget, "a");
  const answers = Array.from({ length: 4097 }, () => single.push(Buffer.from("x"), false));
  t.same([answers[4095], answers[4096]], [undefined, "too-many-pieces"], "one who sends single bytes is stopped");
  t.end();
});

t.test("rejected bodies", (t) => {
  const budget = new ByteBudget(10_000, 6_000);
  const of = (client: string): RequestBody => new RequestBody(5_000, budget, client);
  const bytes = (count: number): Uint8Array => new Uint8Array(count);
  const rows: readonly (readonly [
    name: string,
    body: RequestBody,
    count: number,
    isLast: boolean,
    refused: string | undefined,
  ])[] = [
    ["one that is whole takes its length", of("a"), 5_000, true, undefined],
    ["one byte more", of("a"), 5_001, true, "too-large"],
    ["more than the client has left", of("a"), 1_001, true, "client"],
    ["as much as it has left", of("a"), 1_000, true, undefined],
    ["another client", of("b"), 4_000, true, undefined],
    ["more than all have left", of("c"), 1, true, "all"],
  ];
  for (const [name, body, count, isLast, refused] of rows) t.equal(body.push(bytes(count), isLast), refused, name);
  t.equal(budget.bytes, 10_000);
  for (const [, body] of rows) body.release();
  t.equal(budget.bytes, 0);
  t.end();
});

interface Exchange {
  readonly answer: () => string;
  send(bytes: string | Buffer): Promise<void>;
}

function exchange(t: Test, port: number): Exchange {
  let answer = "";
  const socket = connect(port, "127.0.0.1");
  socket
    .on("error", () => undefined)
    .on("data", (bytes: Buffer) => {
      answer += bytes.toString();
    });
  t.teardown(() => socket.destroy());
  return {
    answer: () => answer,
    send: (bytes) =>
      within(
        new Promise((resolve, reject) => socket.write(bytes, (error) => (error ? reject(error) : resolve()))),
        "sending",
      ),
  };
}

t.test("a body is rejected before it is read", async (t) => {
  const server = new HttpServer(silentLog(), () => {});
  t.teardown(() => server.stop(0));
  const budget = new ByteBudget(3_000_000, 2_000_000);
  server.setBodyBudget(budget);
  let bodyCount = 0;
  server.routeWithAdmission("POST", "/body", 1_000_000, (request, response) => {
    const client = request.headers.get("x-client");
    if (client === undefined) return void response.reply(401, plainText, "who are you?\n");
    return {
      client,
      handler: async ({ body, headers }, answer) => {
        bodyCount++;
        if (headers.has("x-wait")) await until("the client left", () => answer.closed);
        answer.reply(200, plainText, `${body.length}\n`);
      },
    };
  });
  const port = server.listen("127.0.0.1", 0, () => {});
  const head = (headers: string): string => `POST /body HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`;
  const big = Buffer.alloc(1_000_001, "x");
  const rows: readonly (readonly [name: string, headers: string, first: string | Buffer, status: number])[] = [
    ["who sends no credential", "Content-Length: 900000", "", 401],
    ["by the length that is announced", "X-Client: a\r\nContent-Length: 1000001", "", 413],
    ["by a huge one", "X-Client: a\r\nContent-Length: 999999999", "", 413],
    [
      "by what has come",
      "X-Client: a\r\nTransfer-Encoding: chunked",
      Buffer.concat([Buffer.from("f4241\r\n"), big]),
      413,
    ],
  ];
  for (const [name, headers, first, status] of rows) {
    const { answer, send } = exchange(t, port);
    await send(head(headers));
    if (first !== "") await send(first);
    await until(name, () => answer().startsWith(`HTTP/1.1 ${status} `));
  }
  t.equal(bodyCount, 0);

  const refused = exchange(t, port);
  await refused.send(head("Content-Length: 900000"));
  await until("the refusal", () => refused.answer().includes("who are you?"));
  await refused.send(big.subarray(0, 900_000));
  await refused.send("POST /body HTTP/1.1\r\nHost: x\r\nX-Client: a\r\nContent-Length: 2\r\n\r\nok");
  await until("the next answer on the same connection", () => refused.answer().endsWith("2\n"));
  t.equal(budget.bytes, 0, "what was refused is not held");
  bodyCount = 0;

  const heads = ["a", "a", "a", "b", "b"].map((client) => ({ client, ...exchange(t, port) }));
  for (const { client, answer, send } of heads) {
    const before = bodyCount;
    await send(`${head(`X-Client: ${client}\r\nX-Wait: 1\r\nContent-Length: 1000000`)}${"x".repeat(1_000_000)}`);
    await until("it is received or refused", () => bodyCount > before || answer() !== "");
  }
  await until("the third of one client is refused", () => heads[2]?.answer().startsWith("HTTP/1.1 429 ") === true);
  await until("and then what is too much for all", () => heads[4]?.answer().startsWith("HTTP/1.1 503 ") === true);
  t.match(heads[2]?.answer(), /Retry-After: 1\r\n/);
  t.same(heads.filter(({ answer }) => answer() !== "").length, 2);
});
