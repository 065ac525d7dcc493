/** Pointers of Git LFS, and a server of objects that is not trusted. */
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import t, { type Test } from "tap";
import { monotonicMs } from "../../../src/base/deadline.js";
import { LfsFolder } from "../../../src/git/lfs/lfs-folder.js";
import { LfsServer } from "../../../src/git/lfs/lfs-server.js";
import { type LfsPointer, parsePointer } from "../../../src/git/lfs/pointer.js";
import { RemoteRules } from "../../../src/git/mirror/remote-rules.js";
import { parseRemoteUrl } from "../../../src/git/run/remote-url.js";
import { fixture } from "../../support/git-mirror.js";
import { type Faults, LfsDouble, pointer, sha256 } from "../../support/lfs-server.js";

const oid = sha256("x");
const version = "version https://git-lfs.github.com/spec/v1\n";

t.test("pointers", (t) => {
  const rows: readonly (readonly [name: string, text: string, isPointer: boolean])[] = [
    ["as git-lfs writes it", pointer("x"), true],
    ["with another key", `${version}a-key value\noid sha256:${oid}\nsize 1\n`, true],
    ["an empty object", pointer(""), true],
    ["with an extension", `${version}ext-0-foo sha256:${oid}\noid sha256:${oid}\nsize 1\n`, false],
    ["not sorted", `${version}size 1\noid sha256:${oid}\n`, false],
    ["twice the same key", `${version}oid sha256:${oid}\noid sha256:${oid}\nsize 1\n`, false],
    ["the version not first", `oid sha256:${oid}\nsize 1\n${version}`, false],
    ["another version", pointer("x").replace("v1", "v2"), false],
    ["another hash", pointer("x").replace("sha256", "sha512"), false],
    ["a short hash", pointer("x").replace(oid, oid.slice(1)), false],
    ["letters in upper case", pointer("x").replace(oid, oid.toUpperCase()), false],
    ["a negative size", pointer("x").replace("size 1", "size -1"), false],
    ["a size that begins with 0", pointer("x").replace("size 1", "size 01"), false],
    ["a size that no number holds", pointer("x").replace("size 1", `size ${"9".repeat(16)}`), false],
    ["without its last line feed", pointer("x").trimEnd(), false],
    ["with carriage returns", pointer("x").replaceAll("\n", "\r\n"), false],
    ["text after it", `${pointer("x")}more text\n`, false],
    ["1,024 bytes", `${version}oid sha256:${oid}\nsize 1\nz ${"z".repeat(895)}\n`, false],
  ];
  for (const [name, text, isPointer] of rows)
    t.equal(parsePointer(Buffer.from(text)) !== undefined, isPointer, `${name} (${text.length} bytes)`);
  t.same(parsePointer(Buffer.from(pointer("four"))), { oid: sha256("four"), size: 4 });
  t.end();
});

interface Outcome {
  readonly text: string;
  readonly seen: readonly string[];
}

/** What a server with these faults gives for one object, `needle`. */
async function ask(
  t: Test,
  faults: Faults | ((double: LfsDouble) => Faults),
  { networks = [] as string[], hasStorage = false, stop = (): boolean => false, times = (): object => ({}) } = {},
): Promise<Outcome> {
  const double = await LfsDouble.start(t, fixture(t));
  if (hasStorage) await double.useStorage(t);
  double.add("needle");
  double.faults = typeof faults === "function" ? faults(double) : faults;
  const url = parseRemoteUrl(double.url);
  if (url.kind !== "http") throw new Error("it is reached by HTTP");
  const rules = new RemoteRules(t.testdir(), networks);
  const admit = (target: URL) => rules.admitOther(target, url, undefined);
  const server = new LfsServer({
    url,
    admit,
    endMs: monotonicMs() + 60_000,
    graceMs: 0,
    silenceMs: 60_000,
    ...times(),
    stop,
  });
  const outcomes: string[] = [];
  await server.read([{ oid: sha256("needle"), size: 6 }], (_, outcome) => {
    outcomes.push(outcome.toString());
    return Promise.resolve();
  });
  const seen = double.seen.map(({ method, authorization = "" }) => `${method} ${authorization.split(" ")[0]}`);
  return { text: outcomes.join(";").replaceAll(/127\.0\.0\.1:\d+/g, "HOST"), seen };
}

const status =
  (code: number, headers: Readonly<Record<string, string>> = {}): NonNullable<Faults["batch"]> =>
  (response) => {
    response.writeHead(code, headers).end("no");
    return true;
  };

/** What an object is sent as in place of its contents. */
const send =
  (body: string, headers: Readonly<Record<string, string>> = {}): NonNullable<Faults["download"]> =>
  (response) => {
    response.writeHead(200, headers).end(body);
    return true;
  };

const batchPlace = "http://HOST/.git/info/lfs/objects/batch answered";

t.test("a server that is as it should be, or is not", async (t) => {
  const rows: readonly (readonly [name: string, faults: Faults, text: string, requests?: number])[] = [
    ["all is well", {}, "needle", 2],
    [
      "other contents of the same size",
      { download: send("NEEDLE") },
      "HOST sent other contents than its pointer names",
      2,
    ],
    ["more bytes", { download: send("needle and more") }, "HOST sent more bytes than its pointer names", 2],
    ["fewer bytes", { download: send("need") }, "HOST sent fewer bytes than its pointer names", 4],
    ["a download that is gone", { download: status(410) as never }, "HOST answered 410", 2],
    [
      "a download that is forbidden",
      { download: status(403) as never },
      "HOST answered 403: check the credential of the repository",
      2,
    ],
    ["a server without LFS", { batch: status(404) }, `${batchPlace} 404`, 1],
    ["a batch that it does not understand", { batch: status(422) }, `${batchPlace} 422`, 1],
    [
      "a limit of an hour",
      { batch: status(429, { "retry-after": "3600" }) },
      `${batchPlace} 429: it allows no more requests for now`,
      1,
    ],
    ["a server that is broken", { batch: status(500) }, `${batchPlace} 500`, 3],
    ["no JSON", { batch: (response) => send("<html>")(response, "") }, "the server of Git LFS answered no JSON", 1],
    [
      "no list",
      { batch: (response) => send("[]")(response, "") },
      "the server of Git LFS answered no list of objects",
      1,
    ],
    [
      "another transfer",
      { batch: (response) => send(`{"transfer": "tus", "objects": []}`)(response, "") },
      "the server of Git LFS does not know the transfer basic",
      1,
    ],
    [
      "an endless answer",
      { batch: (response) => send("x".repeat(5 << 20))(response, "") },
      "HOST sent more than 4194304 bytes at once",
      1,
    ],
    [
      "an object that was not asked for",
      { object: (object) => (object["oid"] = oid) },
      "the server of Git LFS does not say where it is",
      1,
    ],
    [
      "a size that the pointer does not name",
      { object: (object) => (object["size"] = 7) },
      "the server of Git LFS says that it has another size",
      1,
    ],
    [
      "no action",
      { object: (object) => delete object["actions"] },
      "the server of Git LFS does not say where it is",
      1,
    ],
    [
      "a file on its disk",
      { object: (object) => (object["actions"] = { download: { href: "file:///etc/passwd" } }) },
      "the server of Git LFS does not say where it is",
      1,
    ],
    [
      "a header with a line feed",
      {
        object: (object) =>
          (object["actions"] = { download: { href: "http://127.0.0.1/x", header: { a: "b\r\nc: d" } } }),
      },
      "the server of Git LFS does not say where it is",
      1,
    ],
    [
      "a service of this machine",
      { object: (object) => (object["actions"] = { download: { href: "http://127.0.0.1:1/x" } }) },
      "/names HOST, where nothing is fetched: the address of 127.0.0.1 (127.0.0.1) is not public/",
      1,
    ],
    [
      "a service by its name",
      { object: (object) => (object["actions"] = { download: { href: "http://localhost:1/x" } }) },
      "/names localhost:1, where nothing is fetched/",
      1,
    ],
  ];
  await Promise.all(
    rows.map(async ([name, faults, text, requests]) => {
      const found = await ask(t, faults);
      if (text.startsWith("/")) t.match(found.text, text.slice(1, -1), name);
      else t.equal(found.text, text, name);
      t.equal(found.seen.length, requests, `${name}: requests`);
    }),
  );
});

t.test("credentials go where they belong", async (t) => {
  t.same((await ask(t, {})).seen, ["POST Basic", "GET RemoteAuth"], "those of the action for its download");
  const withoutHeader: Faults = {
    object: (object) => delete (object["actions"] as { download: { header?: object } }).download.header,
  };
  t.same((await ask(t, withoutHeader)).seen, ["POST Basic", "GET Basic"], "those of the mirror to its own origin");
  const elsewhere = { networks: ["127.0.0.0/8"], hasStorage: true };
  t.same(await ask(t, withoutHeader, elsewhere), { text: "needle", seen: ["POST Basic", "GET "] }, "and to no other");
  const redirect =
    (to: (double: LfsDouble) => string) =>
    (double: LfsDouble): Faults => {
      let count = 0;
      return {
        download: (response, of) => {
          if (count++ > 0) return false;
          response.writeHead(302, { location: `${to(double)}/lfs-objects/${of}` }).end();
          return true;
        },
      };
    };
  const own = redirect(({ port }) => `http://127.0.0.1:${port}`);
  t.same(await ask(t, own), { text: "needle", seen: ["POST Basic", "GET RemoteAuth", "GET RemoteAuth"] });
  const other = redirect(({ port }) => `http://127.0.0.1:${port}`);
  t.same(
    await ask(t, other, elsewhere),
    { text: "needle", seen: ["POST Basic", "GET RemoteAuth", "GET Basic"] },
    "a redirect to another origin has none of the action",
  );
  t.match(
    (
      await ask(
        t,
        redirect(() => "http://127.0.0.1:1"),
      )
    ).text,
    /is not public/,
    "a redirect into the network",
  );
  const loop: Faults = {
    download: (response, of) => {
      response.writeHead(302, { location: `/lfs-objects/${of}` }).end();
      return true;
    },
  };
  t.same((await ask(t, loop)).text, "HOST redirects to no place, or too often");
});

t.test("a server that asks for fewer objects at a time", async (t) => {
  const double = await LfsDouble.start(t, fixture(t));
  const pointers: LfsPointer[] = [];
  for (let i = 0; i < 120; i++) pointers.push(parsePointer(Buffer.from(double.add(`object ${i}`)))!);
  double.faults = { batch: (response, objects) => objects.length > 30 && status(413)(response, objects) };
  const url = parseRemoteUrl(double.url);
  if (url.kind !== "http") throw new Error("it is reached by HTTP");
  const found = new Set<string>();
  const server = new LfsServer({
    url,
    admit: () => undefined,
    endMs: Infinity,
    graceMs: 0,
    silenceMs: 60_000,
    stop: () => false,
  });
  await server.read(pointers, (_, outcome) => Promise.resolve(void found.add(outcome.toString())));
  t.same(found, new Set(pointers.map((_, i) => `object ${i}`)));
});

t.test("a fetch that is stopped ends, also while a server says nothing", async (t) => {
  let isStopped = false;
  const silent: Faults = {
    download: () => {
      isStopped = true;
      return true;
    },
  };
  await t.rejects(ask(t, silent, { stop: () => isStopped }), { code: "cancelled" });
});

t.test("a server that sends its bytes one by one, or stops, is not waited for", async (t) => {
  const slow: Faults = {
    download: (response) => {
      response.writeHead(200).write("n");
      return true;
    },
  };
  const silent = await ask(t, slow, { times: () => ({ silenceMs: 20 }) });
  t.equal(silent.text, "HOST ended its response early: it was too slow");
  t.equal(silent.seen.length, 4, "it is asked a few times");
  const late = await ask(t, slow, { times: () => ({ endMs: monotonicMs() + 200 }) });
  t.match(late.text, /the time of one sync for contents of Git LFS is over|ended its response early: it was too slow/);
});

t.test("a folder gives only what is in it", async (t) => {
  const root = t.testdir({ data: {}, repo: { ".git": {} }, linked: { ".git": { lfs: {} } }, work: {}, outside: {} });
  const place = (folder: string, contents: string): void => {
    const of = sha256(contents);
    const path = join(root, folder, of.slice(0, 2), of.slice(2, 4), of);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, contents);
  };
  place("repo/.git/lfs/objects", "inside");
  place("outside", "outside");
  place("data/secret.git/lfs/objects", "secret");
  symlinkSync(join(root, "outside"), join(root, "linked/.git/lfs/objects"));
  writeFileSync(join(root, "work/.git"), `gitdir: ${join(root, "repo/.git")}\n`);
  const read = async (folder: string, contents: string): Promise<string | undefined> => {
    const of = { oid: sha256(contents), size: contents.length };
    return (await new LfsFolder(join(root, folder), join(root, "data")).read(of))?.toString();
  };
  t.equal(await read("repo", "inside"), "inside");
  t.equal(await read("repo/.git", "inside"), "inside", "a bare repository");
  t.equal(await read("work", "inside"), "inside", "a work tree of it");
  t.equal(await read("repo", "absent"), undefined);
  t.equal(await read("linked", "outside"), undefined, "a link leads elsewhere");
  t.equal(await read("data/secret", "secret"), undefined, "in the data directory");
});
