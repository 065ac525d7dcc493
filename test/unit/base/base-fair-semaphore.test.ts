import t from "tap";
import { FairQueue, FairSemaphore, share, type Release } from "../../../src/base/fair-semaphore.js";
import { clientKey, clientNetwork } from "../../../src/model/client.js";
import { randomFrom } from "../../support/random.js";

t.test("a queue serves its clients in turn", (t) => {
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "a3", "b1", "a4", "c1", "b2"]) queue.push(item.slice(0, 1), item);
  t.equal(queue.size, 7);
  t.equal(queue.count("a"), 4);
  queue.remove("a", "a2");
  queue.remove("a", "a2");
  queue.remove("z", "z1");
  t.equal(
    queue.take((client) => client !== "a"),
    "b1",
    "those that may not be taken are passed over",
  );
  const order = [];
  for (let item = queue.take(); item !== undefined; item = queue.take()) order.push(item);
  t.same(order, ["a1", "c1", "b2", "a3", "a4"]);
  t.equal(queue.size, 0);
  t.equal(queue.count("a"), 0);
  t.end();
});

t.test("how many more a client may have", async (t) => {
  const semaphore = new FairSemaphore({ countMax: 2, clientCountMax: 1, waitingMax: 2, clientWaitingMax: 1 });
  t.same(semaphore.room("a"), { countMax: 2, left: 2 });
  semaphore.acquire("a", () => undefined);
  t.same(semaphore.room("a"), { countMax: 2, left: 1 });
  semaphore.acquire("a", () => undefined);
  t.same(semaphore.room("a"), { countMax: 2, left: 0 });
  t.same(semaphore.room("b"), { countMax: 2, left: 2 });
  semaphore.acquire("b", () => undefined);
  semaphore.acquire("b", () => undefined);
  t.same(semaphore.room("c"), { countMax: 2, left: 0 }, "others have it all");
});

t.test("permits, waits and rejections", async (t) => {
  const semaphore = new FairSemaphore({ countMax: 3, clientCountMax: 2, waitingMax: 3, clientWaitingMax: 2 });
  const started: string[] = [];
  const releases = new Map<string, Release>();
  const ask = (name: string, clientCountMax?: number): Release =>
    semaphore.acquire(
      name.slice(0, 1),
      (release) => {
        started.push(name);
        releases.set(name, release);
      },
      clientCountMax,
    );
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  for (const name of ["a1", "a2", "a3"]) ask(name);
  t.same(started, ["a1", "a2"], "one client does not have all");
  ask("b1");
  t.same(started, ["a1", "a2", "b1"]);
  ask("b2");
  t.equal(semaphore.refusal("a"), undefined);
  const leave = ask("a4");
  t.equal(semaphore.refusal("a"), "client");
  t.equal(semaphore.refusal("c"), "all");
  leave();
  leave();
  t.equal(semaphore.refusal("c"), undefined);
  releases.get("a1")?.();
  releases.get("a1")?.();
  t.equal(started.length, 3, "not from within the release");
  await turn();
  t.same(started.slice(3), ["a3"]);
  releases.get("a2")?.();
  await turn();
  t.same(started.slice(4), ["b2"]);
  ask("c1");
  ask("c2", 1);
  t.equal(semaphore.waitingCount, 2);
  semaphore.startAll();
  t.same(started.slice(5), ["c1", "c2"]);
  t.equal(semaphore.count, 5);
  for (const release of releases.values()) release();
  t.equal(semaphore.count, 0);
  ask("d1", 1);
  ask("d2", 1);
  t.equal(semaphore.waitingCount, 1, "heavier work has a lower bound of its own");
});

/** In any order of events: the limits hold, and no client waits while a permit is free. */
t.test("any order of events", async (t) => {
  const below = randomFrom(7);
  for (let round = 0; round < 30; round++) {
    const limits = { countMax: 1 + below(5), clientCountMax: 1 + below(4), waitingMax: 10, clientWaitingMax: 5 };
    const semaphore = new FairSemaphore(limits);
    const held = new Map<Release, string>();
    const waiting = new Map<Release, string>();
    for (let step = 0; step < 200; step++) {
      const client = "abc".charAt(below(3));
      const kind = below(3);
      if (kind === 0 && semaphore.refusal(client) === undefined) {
        const asked: { leave?: Release; hasStarted: boolean } = { hasStarted: false };
        asked.leave = semaphore.acquire(client, (release) => {
          asked.hasStarted = true;
          if (asked.leave !== undefined) waiting.delete(asked.leave);
          held.set(release, client);
        });
        if (!asked.hasStarted) waiting.set(asked.leave, client);
      } else if (kind === 1) {
        const [release] = [...held.keys()];
        if (release !== undefined) {
          held.delete(release);
          release();
          await new Promise((resolve) => setImmediate(resolve));
        }
      } else if (kind === 2) {
        const [leave] = [...waiting.keys()];
        if (leave !== undefined) {
          waiting.delete(leave);
          leave();
        }
      }
      const countOf = (name: string): number => [...held.values()].filter((other) => other === name).length;
      if (semaphore.count !== held.size || semaphore.waitingCount !== waiting.size)
        t.fail("the counts are wrong", { semaphore, held: held.size, waiting: waiting.size });
      if (held.size > limits.countMax || ["a", "b", "c"].some((name) => countOf(name) > limits.clientCountMax))
        t.fail("a bound does not hold");
      if (held.size < limits.countMax && [...waiting.values()].some((name) => countOf(name) < limits.clientCountMax))
        t.fail("somebody waits for nothing");
    }
  }
});

t.test("the client to which a share belongs", (t) => {
  t.equal(clientKey({ userId: 7 }, "1.2.3.4"), "user 7");
  t.equal(clientKey({ userId: undefined }, "1.2.3.4"), "1.2.3.4");
  t.equal(clientNetwork("2001:0db8:0001:0002:0003:0004:0005:0006"), "2001:0db8:0001:0002::/64");
  t.equal(
    clientNetwork("0000:0000:0000:0000:0000:ffff:7f00:0001"),
    "127.0.0.1",
    "clients of IPv4 are told apart on a socket for both",
  );
  t.equal(clientNetwork("0000:0000:0000:0000:0000:0000:0000:0001"), "0000:0000:0000:0000::/64");
  t.same(
    [
      [64, 88],
      [256, 88],
      [2, 88],
      [1, 88],
      [8, 50],
      [64, 100],
      [3, 1],
    ].map(([count = 0, percent = 0]) => share(count, percent)),
    [56, 225, 1, 1, 4, 64, 1],
  );
  t.end();
});
