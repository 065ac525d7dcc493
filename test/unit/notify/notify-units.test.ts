/** Receivers of notifications, the journal of changes, and the queue when a receiver misbehaves. */
import { lookup } from "node:dns/promises";
import t from "tap";
import type { Repository } from "../../../src/model/repository.js";
import { ChangeJournal, commitsBefore } from "../../../src/notify/change-journal.js";
import { post, sign } from "../../../src/notify/post.js";
import { Receivers } from "../../../src/notify/receivers.js";
import { Receiver } from "../../support/receiver.js";
import type { RecordChange } from "../../../src/store/record-store.js";

const secret = "s".repeat(64);
const never = new AbortController().signal;
const body = Buffer.from("{}");
const send = (url: string, receivers: Receivers) =>
  post(new URL(url), { id: "1", event: "ping", secret, body }, receivers, "trawl/test", never);

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
    { headers: { "x-trawl-signature-256": sign(secret, body), "user-agent": "trawl/test" } },
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
  const message = { id: "1", event: "ping", secret, body };
  t.match(await post(new URL(receiver.origin), message, receivers, "trawl", stopped.signal), { status: undefined });
});

const repository = (id: number, branches: Readonly<Record<string, string>>, defaultBranch = "main"): Repository =>
  ({
    id,
    defaultBranch,
    indexedBranches: Object.entries(branches).map(([name, commit], bit) => ({ name, bit, commit })),
  }) as unknown as Repository;

t.test("the journal has the commits before each change, also after a crash", async (t) => {
  const stored = new Map<string, Buffer>();
  const store = {
    get: (key: string) => stored.get(key),
    *batchesWithPrefix(prefix: string) {
      yield [...stored].sort().flatMap(([key, value]) => (key.startsWith(prefix) ? [{ key, value }] : []));
    },
  };
  const apply = (records: readonly RecordChange[]): void => {
    for (const { key, value } of records)
      if (value === undefined) stored.delete(key);
      else stored.set(key, value);
  };
  let isWanted = false;
  const open = (): ChangeJournal => {
    const journal = new ChangeJournal(store, () => isWanted);
    for (const _ of journal.load());
    return journal;
  };
  let journal = open();
  const change = (before: Repository | undefined, after: Repository, isCrash = false): void => {
    const added = journal.stage([{ before, after }]);
    apply(added?.records ?? []);
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
  apply(removing.records);
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
  apply(added?.records ?? []);
  added?.show();
  t.ok(journal.isIncompleteAfter(at));
  t.notOk(journal.isIncompleteAfter(journal.position));
  t.ok(open().isIncompleteAfter(at), "that is known after a start as well");
});
