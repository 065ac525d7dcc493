/** Objects in a folder and in a bucket: one contract; then a bucket that fails in each way that there is. */
import { execFileSync } from "node:child_process";
import {
  closeSync,
  constants,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { randomBytes } from "node:crypto";
import t from "tap";
import type { Test } from "tap";
import { parseObjectAddress } from "../../../src/objects/object-address.js";
import { hashObject, objectKey, type ObjectLimits, type Objects } from "../../../src/objects/object-store.js";
import { openObjects } from "../../../src/objects/open-objects.js";
import { S3Server, type S3Fault } from "../../support/s3-server.js";

/** Patient, since a busy machine must not look like a store that fails. */
const limits: ObjectLimits = {
  deadlineMs: 100_000,
  bytesPerSecondMin: 2 ** 40,
  retryMs: 1,
  retryMsMax: 4,
  silenceMs: 50_000,
};
const never = (): boolean => false;
/** Several pieces of an upload, and not a multiple of anything. */
const bytes = randomBytes(1_300_001);
const name = hashObject("shard", bytes);

interface Site {
  readonly objects: Objects;
  /** The same with a short deadline, for what fails until then. */
  readonly hasty: Objects;
  /** What is stored under a key. */
  readonly stored: (key: string) => Buffer | undefined;
  readonly damage: (key: string, bytes: Buffer) => void;
}

async function bucketSite(t: Test, some: Partial<ObjectLimits> = {}): Promise<Site & { readonly server: S3Server }> {
  const server = await S3Server.start();
  t.teardown(() => server.stop());
  const credential = join(t.testdir({ key: server.credential }), "key");
  const settings = { credential: `file:${credential}`, address: parseObjectAddress(server.url) };
  return {
    server,
    objects: openObjects({ ...settings, limits }),
    hasty: openObjects({ ...settings, limits: { ...limits, deadlineMs: 300, ...some } }),
    stored: (key) => server.objects.get(`/bucket/fleet/${key}`),
    damage: (key, damaged) => void server.objects.set(`/bucket/fleet/${key}`, damaged),
  };
}

function folderSite(t: Test): Promise<Site> {
  const folder = t.testdir({});
  const address = parseObjectAddress(`file://${folder}`);
  const path = (key: string): string => join(folder, key);
  return Promise.resolve({
    objects: openObjects({ address, credential: "", limits }),
    hasty: openObjects({ address, credential: "", limits: { ...limits, deadlineMs: 300 } }),
    stored: (key) => (existsSync(path(key)) ? readFileSync(path(key)) : undefined),
    damage: (key, damaged) => writeFileSync(path(key), damaged),
  });
}

for (const [kind, open] of [
  ["a folder", folderSite],
  ["a bucket", (t: Test) => bucketSite(t)],
] as const) {
  void t.test(`${kind}: what was put is read, and put once`, async (t) => {
    const { objects, stored } = await open(t);
    t.equal(await objects.put(name, bytes, never), true);
    t.equal(await objects.put(name, bytes, never), false, "it is there already");
    t.ok(stored(objectKey(name))?.equals(bytes));
    t.ok((await objects.get(name, never)).equals(bytes));
    const symbols = hashObject("symbols", bytes.subarray(0, 1));
    await objects.put(symbols, bytes.subarray(0, 1), never);
    t.equal((await objects.get(symbols, never)).length, 1);
    await Promise.all([1, 2, 3].map(() => objects.put(hashObject("history", bytes), bytes, never)));
    t.ok((await objects.get(hashObject("history", bytes), never)).equals(bytes), "several nodes put one object");
  });

  void t.test(`${kind}: other bytes than those of the name are an error that names the object`, async (t) => {
    const { objects, damage } = await open(t);
    await objects.put(name, bytes, never);
    const key = objectKey(name);
    const others = Buffer.from(bytes);
    others[7] = (others[7] ?? 0) ^ 1;
    for (const [damaged, reason] of [
      [others, "other bytes came"],
      [bytes.subarray(0, 9), "9 of 1300001 bytes came"],
      [Buffer.alloc(0), "0 of 1300001 bytes came"],
      [Buffer.concat([bytes, bytes]), "more bytes than the 1300001"],
    ] as const) {
      damage(key, damaged);
      await t.rejects(objects.get(name, never), { code: "storage", message: new RegExp(`${key} .*${reason}`) });
    }
    for (const damaged of [bytes.subarray(0, 9), others]) {
      damage(key, damaged);
      t.equal(await objects.put(name, bytes, never), true, "an object that is damaged is put again");
      t.ok((await objects.get(name, never)).equals(bytes));
    }
  });

  void t.test(`${kind}: what is not there is an error, and a stopped task ends`, async (t) => {
    const { objects, hasty } = await open(t);
    await t.rejects(hasty.get(name, never), { code: "storage", message: new RegExp(objectKey(name)) });
    await t.rejects(
      objects.get(name, () => true),
      { code: "cancelled" },
    );
    await t.rejects(objects.get({ ...name, byteCount: 2 ** 40 }, never), /1 to 1073741824 bytes/);
  });
}

void t.test("a folder that is missing is not made: it may be a mount", async (t) => {
  const folder = t.testdir({});
  const address = parseObjectAddress(`file://${folder}/share`);
  const objects = openObjects({ address, credential: "", limits });
  // The pause before a second attempt would end after the deadline.
  const once = openObjects({ address, credential: "", limits: { ...limits, retryMs: 1e8, retryMsMax: 1e8 } });
  await t.rejects(once.put(name, bytes, never), { message: /share \(1 attempt\): it is not there/ });
  t.strictSame(readdirSync(folder), []);
  mkdirSync(join(folder, "share"));
  await objects.put(name, bytes, never);
  t.strictSame(readdirSync(join(folder, "share", "shard", name.hash.slice(0, 2))), [name.hash], "nothing is left over");
  rmSync(join(folder, "share"), { recursive: true });
});

void t.test(
  "a folder whose server is away: a task that is stopped ends, and parts of a crash are deleted",
  async (t) => {
    const folder = t.testdir({});
    const key = objectKey(name);
    mkdirSync(join(folder, "shard", name.hash.slice(0, 2)), { recursive: true });
    // Nobody writes into it: to open it does not end, as it does not where a server is away.
    execFileSync("mkfifo", [join(folder, key)]);
    const objects = openObjects({ address: parseObjectAddress(`file://${folder}`), credential: "", limits });
    let isStopped = false;
    const read = objects.get(name, () => isStopped);
    isStopped = true;
    await t.rejects(read, { code: "cancelled" });
    // Ends the call that is still waiting.
    closeSync(openSync(join(folder, key), constants.O_RDWR));
    rmSync(join(folder, key));
    const [old, young] = ["old", "young"].map((text) => `${join(folder, key)}.${text}.part`);
    for (const path of [old, young]) writeFileSync(path, "");
    utimesSync(old, 1, 1);
    await objects.put(name, bytes, never);
    t.strictSame(readdirSync(dirname(young)).sort(), [name.hash, basename(young)]);
  },
);

void t.test("a pause between two attempts ends with the task", async (t) => {
  const { objects, server } = await bucketSite(t, { retryMs: 1e8, retryMsMax: 1e8, deadlineMs: 1e9 });
  server.fail("GET", unavailable);
  // It is first asked after the failure, and then in the pause.
  let asked = 0;
  const stop = (): boolean => server.faults.length === 0 && asked++ > 0;
  await t.rejects(objects.get(name, stop), { code: "cancelled" }, "otherwise it waits for hours");
});

const unavailable: S3Fault = { kind: "status", status: 503 };

void t.test("a bucket that fails for a while is asked again", async (t) => {
  const { objects, hasty, server, stored } = await bucketSite(t, { deadlineMs: limits.deadlineMs, silenceMs: 100 });
  const cases: readonly (readonly [what: string, method: string, fault: S3Fault])[] = [
    ["503", "PUT", unavailable],
    ["503 to HEAD", "HEAD", unavailable],
    ["429", "PUT", { kind: "status", status: 429 }],
    ["500", "PUT", { kind: "status", status: 500, code: "InternalError" }],
    ["reset", "PUT", { kind: "reset" }],
  ];
  for (const [what, method, fault] of cases) {
    server.objects.clear();
    server.fail(method, fault, fault);
    t.equal(await objects.put(name, bytes, never), true, what);
    t.ok(stored(objectKey(name))?.equals(bytes), what);
    t.equal(server.faults.length, 0, `${what}: both faults were met`);
  }
  for (const kind of ["cut", "short", "long", "other", "reset"] as const) {
    server.fail("GET", { kind }, { kind });
    t.ok((await objects.get(name, never)).equals(bytes), kind);
    t.equal(server.faults.length, 0, kind);
  }
  const silence = { kind: "silence" } as const;
  server.objects.clear();
  server.fail("PUT", silence, silence);
  // On a busy machine a store that answers is silent, too, and may have the object nevertheless.
  await hasty.put(name, bytes, never);
  t.ok(stored(objectKey(name))?.equals(bytes), "silence");
  server.fail("GET", silence, silence);
  t.ok((await hasty.get(name, never)).equals(bytes), "silence");
  t.equal(server.faults.length, 0, "silence");
});

void t.test("a bucket that goes on failing is given up at the deadline, with what it has said", async (t) => {
  const { objects, hasty, server } = await bucketSite(t, { deadlineMs: 150, silenceMs: 60 });
  const small = bytes.subarray(0, 5_000);
  const smallName = hashObject("shard", small);
  const many = (fault: S3Fault): S3Fault[] => Array.from({ length: 500 }, () => fault);
  server.fail("PUT", ...many(unavailable));
  await t.rejects(hasty.put(smallName, small, never), {
    message:
      /cannot be stored in http:.*: (?:the store answered 503 \(SlowDown: this is a test\)|.*no time left|no byte came for 60 ms)$/,
  });
  server.faults.length = 0;
  await objects.put(smallName, small, never);
  for (const [kind, reason] of [
    ["silence", /no byte came for 60 ms|no time left/],
    ["trickle", /aborted|socket hang up|no byte came for 60 ms|no time left/],
    ["other", /other bytes came, whose SHA-256 is [0-9a-f]{64}$|no byte came for 60 ms|no time left/],
    ["cut", /aborted|socket hang up|no byte came for 60 ms|no time left/],
  ] as const) {
    server.faults.length = 0;
    server.fail("GET", ...many({ kind }));
    await t.rejects(hasty.get(smallName, never), { code: "storage", message: reason }, kind);
  }
});

void t.test("a bucket that refuses is not asked again, and the sentence says what to change", async (t) => {
  const { objects, server } = await bucketSite(t);
  for (const [fault, reason] of [
    [{ kind: "status", status: 403, code: "AccessDenied" }, /403 \(AccessDenied: .*; see fleet.objectsCredential/],
    [{ kind: "status", status: 404, code: "NoSuchBucket" }, /NoSuchBucket.*; make the bucket/],
    [{ kind: "status", status: 301, code: "PermanentRedirect" }, /; see the region and the host in fleet.objects/],
  ] as const) {
    server.requests.length = 0;
    server.fail("PUT", fault);
    await t.rejects(objects.put(name, bytes, never), { message: reason });
    t.equal(server.requests.filter((one) => one.startsWith("PUT")).length, 1);
  }
  const key = join(t.testdir({ key: "no-colon\n" }), "key");
  const address = parseObjectAddress(server.url);
  const other = openObjects({ address, credential: `file:${key}`, limits });
  await t.rejects(other.get(name, never), { code: "bad-config", message: /must be ACCESS_KEY:SECRET_KEY/ });
  writeFileSync(key, "test-key:wrong\n");
  await t.rejects(other.get(name, never), { message: /403 \(SignatureDoesNotMatch/ });
});

void t.test("a clock that is hours off does not keep a node from its objects", async (t) => {
  const { objects, server } = await bucketSite(t);
  server.aheadMs = 2 * 3_600_000;
  t.equal(await objects.put(name, bytes, never), true);
  t.ok((await objects.get(name, never)).equals(bytes));
});

void t.test("a task that is stopped while nothing comes ends", async (t) => {
  const { objects, server } = await bucketSite(t);
  server.fail("GET", { kind: "silence" });
  let isStopped = false;
  const read = objects.get(name, () => isStopped);
  while (server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
  isStopped = true;
  await t.rejects(read, { code: "cancelled" });
});

void t.test("addresses", async (t) => {
  t.strictSame(parseObjectAddress("https://s3.example.com/code/trawl/?region=eu-west-1"), {
    kind: "s3",
    url: "https://s3.example.com/code/trawl",
    region: "eu-west-1",
  });
  t.strictSame(parseObjectAddress("file:///srv/objects"), { kind: "folder", path: "/srv/objects" });
  for (const [text, reason] of [
    ["", /must be https/],
    ["s3://bucket", /must be https/],
    ["file:///", /must be https/],
    ["file://host/folder", /must be https/],
    ["https://s3.example.com/", /name of the bucket/],
    ["https://s3.example.com/a b", /name of the bucket/],
    ["https://key:secret@s3.example.com/b", /must not have the key/],
    ["http://s3.example.com/b", /by https/],
    ["https://s3.example.com/b?region=x&other=y", /it has "other"/],
    ["https://s3.example.com/b?region=%20", /region must be/],
  ] as const)
    t.throws(() => parseObjectAddress(text), { code: "bad-config", message: reason }, text);
});
