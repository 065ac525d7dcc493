/** Receivers of notifications, the journal of changes, and the queue when a receiver misbehaves. */
import { createHmac } from "node:crypto";
import { lookup } from "node:dns/promises";
import { readFileSync } from "node:fs";
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import type { Repository } from "../../../src/model/repository.js";
import { anonymous } from "../../../src/model/viewer.js";
import { ChangeJournal, commitsBefore } from "../../../src/notify/change-journal.js";
import { DeliveryQueue, type QueueServices } from "../../../src/notify/delivery-queue.js";
import { type DeliveryRecord, DeliveryStore } from "../../../src/notify/delivery-store.js";
import { parseWait, post } from "../../../src/notify/post.js";
import { Receivers } from "../../../src/notify/receivers.js";
import { sign, standardHeaders } from "../../../src/notify/message.js";
import { Receiver } from "../../support/receiver.js";
import { until } from "../../support/waiting.js";
import { MemoryRecords } from "../../support/memory-records.js";

const secret = "s".repeat(64);
const never = new AbortController().signal;
const body = Buffer.from("{}");
const message = { headers: { "X-Trawl-Event": "ping" }, body, isChat: false };
const send = (url: string, receivers: Receivers, isChat = false) =>
  post(new URL(url), { ...message, isChat }, receivers, "trawl/test", never);

t.test("only listed origins, and only addresses that are public or listed", async (t) => {
  const receivers = new Receivers(
    ["https://hooks.example.org", "http://10.0.0.5:9000/", "http://[::1]:80"],
    ["192.168.7.0/24"],
  );
  for (const url of [
    "https://hooks.example.org/a?b",
    "https://HOOKS.example.org:443/",
    "http://10.0.0.5:9000/x",
    "http://[::1]/",
  ])
    t.equal(receivers.require(url).href, new URL(url).href);
  for (const url of [
    "http://hooks.example.org/",
    "https://hooks.example.org:444/",
    "https://hooks.example.org.evil.org/",
    "https://hooks.example.org@evil.org/",
    "http://10.0.0.5/",
    "http://0x0a000005:9001/",
    "file:///etc/passwd",
    "hooks.example.org",
    "",
    `https://hooks.example.org/${"x".repeat(3_000)}`,
  ])
    t.throws(() => receivers.require(url), { code: "bad-request" }, url);
  t.equal(receivers.require("http://0x0a000005:9000/").host, "10.0.0.5:9000", "another way to write a listed address");
  t.throws(() => new Receivers([], []).require("https://hooks.example.org/"), {
    message: /not enabled here: .*notifications\.origins/,
  });
  for (const address of [
    "127.0.0.1",
    "10.1.2.3",
    "169.254.169.254",
    "192.168.1.1",
    "::1",
    "fe80::1",
    "fd00::1",
    "::ffff:10.0.0.1",
    "0.0.0.0",
    "64:ff9b::a00:1",
    "64:ff9b:1::a00:1",
    ...[
      "::a00:1",
      "::10.0.0.1",
      "::ffff:0:10.0.0.1",
      "::ffff:0:a00:1",
      "fec0::1",
      "feff::1",
      "100::1",
      "2002:a00:1::1",
    ],
    ...[
      "2001::1",
      "2001:db8::1",
      "3fff::1",
      "4000::1",
      "ff02::1",
      "192.0.2.1",
      "198.51.100.7",
      "203.0.113.9",
      "240.0.0.1",
    ],
    ...["255.255.255.255", "fe80::1%eth0", "not an address"],
  ])
    t.match(receivers.refusal("hooks.example.org", address), /not public: the operator has to list it/, address);
  for (const address of ["93.184.216.34", "2606:2800:220:1::1", "2001:4860:4860::8888", "223.255.255.1", "192.168.7.9"])
    t.equal(receivers.refusal("hooks.example.org", address), undefined, address);
  for (const origin of ["hooks.example.org", "https://hooks.example.org/path", "ftp://a", "https://u@a", "https://*"])
    t.throws(() => new Receivers([origin], []), { code: "bad-config" }, origin);
  t.throws(() => new Receivers([], ["10.0.0.0/33"]), { code: "bad-config", message: /notifications\.networks/ });
});

t.test("a name that stands for an address of this host is not connected to", async (t) => {
  const receiver = await Receiver.start(t);
  const { port } = new URL(receiver.origin);
  const origin = `http://localhost:${port}`;
  t.match(await send(origin, new Receivers([origin], [])), {
    status: undefined,
    error: /localhost has the address .* not public/,
  });
  t.equal(receiver.received.length, 0);
  const { address } = await lookup("localhost", 4);
  t.match(await send(origin, new Receivers([origin], [address, "::1"])), { status: 200, error: "" });
  t.match(receiver.received, [
    { headers: { "x-trawl-event": "ping", "content-type": "application/json", "user-agent": "trawl/test" } },
  ]);
});

t.test("redirects, errors and endless responses", async (t) => {
  const receiver = await Receiver.start(t);
  const receivers = new Receivers([receiver.origin], []);
  receiver.statuses.push(302, 500, 204);
  t.match(await send(receiver.origin, receivers), { status: 302, error: /redirects are not followed/ });
  t.match(
    await send(receiver.origin, receivers),
    { status: 500, error: /answered 500$/ },
    "nothing of the response is kept",
  );
  t.same(await send(receiver.origin, receivers), { status: 204, error: "" });
  t.equal(receiver.received.length, 3);
  let sentBytes = 0;
  receiver.respond = (response) => {
    response.writeHead(200);
    const write = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16 * 1024))) sentBytes += 16 * 1024;
      if (!response.destroyed) response.once("drain", write);
    };
    write();
  };
  t.same(await send(receiver.origin, receivers), { status: 200, error: "" });
  t.ok(sentBytes < 64 << 20, "the rest of a long response is not read");
  receiver.respond = (response) => response.destroy();
  t.match(await send(receiver.origin, receivers), { status: undefined, error: /could not be reached/ });
  const stopped = new AbortController();
  receiver.respond = () => stopped.abort();
  t.match(await post(new URL(receiver.origin), message, receivers, "trawl", stopped.signal), { status: undefined });
});

t.test("what a receiver refuses for good, and when it wants to be asked again", async (t) => {
  const receiver = await Receiver.start(t);
  const receivers = new Receivers([receiver.origin], []);
  const answer = async (status: number, text: string, isChat: boolean, headers = {}) => {
    receiver.respond = (response) => response.writeHead(status, headers).end(text);
    return send(receiver.origin, receivers, isChat);
  };
  const refusal = await answer(400, `invalid_blocks\r\n\u0007\u202edetails ${"x".repeat(5_000)}`, true);
  t.match(refusal, { status: 400, isFinal: true, error: /answered 400: invalid_blocks \ufffddetails x+\.\.\.$/ });
  t.ok(refusal.error.length < 400, "of a long answer the beginning");
  for (const status of [403, 404, 410]) t.match(await answer(status, "no", true), { isFinal: true });
  for (const status of [408, 429, 500, 503]) t.match(await answer(status, "no", true), { isFinal: false });
  t.match(await answer(404, "internal", false), { isFinal: false, error: /answered 404$/ }, "a service may come back");
  t.match(await answer(410, "internal", false), { isFinal: true, error: /answered 410$/ });
  t.match(await answer(429, "", true, { "Retry-After": "2.5" }), { waitMs: 2_500 });
  t.match(await answer(400, "", true, { "Retry-After": "7" }), { waitMs: undefined });
  t.equal(parseWait("Sun, 06 Nov 1994 08:49:37 GMT", Date.UTC(1994, 10, 6, 8, 49, 30)), 7_000);
  t.equal(parseWait("Sun, 06 Nov 1994 08:49:37 GMT"), 0);
  for (const text of [undefined, "", "soon", "-1", "1e9", "9".repeat(400)])
    t.equal(parseWait(text), undefined, `${text}`);
});

t.test("a receiver verifies a message as the documentation says", async (t) => {
  const [, example = ""] = readFileSync("docs/notifications.md", "utf8").split(/```(?:js)?\n/);
  type Verify = (secret: string, headers: object, body: string, seen: Set<string>, nowSeconds?: number) => unknown;
  const { verify } = (await import(`data:text/javascript,${encodeURIComponent(example)}`)) as { verify: Verify };
  const shared = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const nowMs = 1_700_000_000_900;
  const nowSeconds = nowMs / 1000;
  const headers = standardHeaders(shared, "m1", body, nowMs);
  t.equal(headers["webhook-timestamp"], "1700000000");
  const seen = new Set<string>();
  t.same(verify(shared, headers, "{}", seen, nowSeconds), {});
  seen.add("m1");
  t.throws(() => verify(shared, headers, "{}", seen, nowSeconds), /seen before/);
  t.throws(() => verify(shared, { ...headers, "webhook-id": "m2" }, "{}", seen, nowSeconds), /not signed/);
  t.throws(() => verify(shared, headers, "{ }", new Set(), nowSeconds), /not signed/);
  t.throws(() => verify(shared, headers, "{}", new Set(), nowSeconds + 302), /too old/);
  const later = { ...headers, "webhook-timestamp": "1700000300" };
  t.throws(() => verify(shared, later, "{}", new Set(), nowSeconds + 302), /not signed/, "the time is signed");
  const repeated = standardHeaders(shared, "m1", body, nowMs + 60_000);
  t.equal(repeated["webhook-id"], "m1");
  t.not(repeated["webhook-signature"], headers["webhook-signature"]);
  const rotated = { ...headers, "webhook-signature": `v1,AAAA ${headers["webhook-signature"]}` };
  t.same(verify(shared, rotated, "{}", new Set(), nowSeconds), {}, "one of several signatures is enough");
  // An example of the specification of Standard Webhooks.
  const published = standardHeaders(
    "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
    "msg_p5jXN8AQM9LWM0D4loKWxJek",
    Buffer.from('{"test": 2432232314}'),
    1614265330_000,
  );
  t.equal(published["webhook-signature"], "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
  const old = standardHeaders(secret, "m1", body, nowMs)["webhook-signature"];
  const expected = createHmac("sha256", secret).update("m1.1700000000.{}").digest("base64");
  t.equal(old, `v1,${expected}`, "a secret without the prefix is the key itself");
  t.match(sign(secret, body), /^sha256=[0-9a-f]{64}$/);
});

const repository = (id: number, branches: Readonly<Record<string, string>>, defaultBranch = "main"): Repository =>
  ({
    id,
    defaultBranch,
    indexedBranches: Object.entries(branches).map(([name, commit], bit) => ({ name, bit, commit })),
  }) as unknown as Repository;

t.test("the journal has the commits before each change, also after a crash", async (t) => {
  const store = new MemoryRecords();
  let isWanted = false;
  const open = (): ChangeJournal => {
    const journal = new ChangeJournal(store, () => isWanted);
    for (const _ of journal.load());
    return journal;
  };
  let journal = open();
  const change = (before: Repository | undefined, after: Repository, isCrash = false): void => {
    const added = journal.stage([{ before, after }]);
    store.write(added?.records ?? []);
    if (!isCrash) added?.show();
  };
  change(repository(1, { main: "a" }), repository(1, { main: "b" }));
  t.equal(journal.count, 0, "nothing is written while nobody is told");
  isWanted = true;
  const from = journal.position;
  change(repository(1, { main: "b" }), repository(1, { main: "b" }));
  t.equal(journal.count, 0, "a fetch without changes is none");
  change(undefined, repository(2, { main: "x" }));
  change(repository(1, { main: "b", dev: "d", ["__proto__"]: "p" }), repository(1, { main: "c", dev: "d" }), true);
  journal = open();
  const entries = journal.after(from);
  t.same(
    entries.map(({ repositoryId }) => repositoryId),
    [2, 1],
  );
  t.same([...commitsBefore(entries[0])], []);
  t.same(
    new Map(commitsBefore(entries[1])),
    new Map(
      Object.entries({
        main: "b",
        "refs/heads/main": "b",
        "": "b",
        HEAD: "b",
        dev: "d",
        "refs/heads/dev": "d",
        ["__proto__"]: "p",
        "refs/heads/__proto__": "p",
      }),
    ),
  );
  t.ok(journal.position >= (entries[1]?.number ?? 0));
  const at = journal.position;
  change(repository(1, { main: "c" }), repository(1, { main: "e" }));
  t.ok(journal.position > at, "numbers ascend after a start");
  const removing = journal.removingUpTo(at);
  store.write(removing.records);
  removing.show();
  t.same(
    journal.after(from).map((entry) => Object.fromEntries(commitsBefore(entry))[""]),
    ["c"],
  );

  const many = Array.from({ length: 50_001 }, (_, i) => ({
    before: undefined,
    after: repository(i + 10, { main: "z" }),
  }));
  const added = journal.stage(many);
  store.write(added?.records ?? []);
  added?.show();
  t.ok(journal.isIncompleteAfter(at));
  t.notOk(journal.isIncompleteAfter(journal.position));
  t.ok(open().isIncompleteAfter(at), "that is known after a start as well");
});

t.test("an error of ours ends a delivery like one of its receiver", async (t) => {
  const payload = Buffer.from(JSON.stringify({ event: "ping", repositories: [], matches: [], commits: [] }));
  const deliveries = new DeliveryStore({
    get: () => payload,
    *batchesWithPrefix() {
      yield [];
    },
    apply: async () => undefined,
  } as unknown as ConstructorParameters<typeof DeliveryStore>[0]);
  const delivery: DeliveryRecord = {
    id: "d",
    searchId: 1,
    number: 1,
    event: "ping",
    counts: { came: 0, went: 0, moved: 0 },
    payloadBytes: payload.length,
    createdAt: "",
    state: "PENDING",
    attempts: 0,
    lastAttemptAt: "",
    error: "",
  };
  deliveries.adding(delivery, payload).show();
  const search = { id: 1, ownerId: 1, query: "x", notification: { url: "https://a.example/", format: "WEBHOOK" } };
  const audited: unknown[] = [];
  const queue = new DeliveryQueue({
    deliveries,
    environment: {
      log: silentLog(),
      audit: { recordUndelivered: (what: unknown) => audited.push(what) },
      metrics: createMetrics().metrics,
      limits: { retryMs: 1, attemptsMax: 2 },
      accounts: { user: () => undefined, organizations: { get: () => undefined } },
      searchKey: String,
      baseUrl: () => "http://trawl.example",
      repository: () => undefined,
    },
    receivers: {
      require: () => {
        throw new TypeError("a fault");
      },
    },
    find: () => search,
    viewerOf: () => anonymous,
    onEnded: () => undefined,
  } as unknown as QueueServices);
  queue.start();
  t.teardown(() => queue.stop());
  await until("it has failed", () => deliveries.of(1)[0]?.state === "FAILED");
  t.match(deliveries.of(1), [{ attempts: 2, error: /the message could not be made/ }]);
  const line = { owner: "", savedSearch: 1, to: "https://a.example", reason: /the message could not be made/ };
  t.match(audited, [
    { ...line, state: "PENDING" },
    { ...line, state: "FAILED" },
  ]);
});
