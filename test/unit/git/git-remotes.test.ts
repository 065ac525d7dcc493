import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, readdirSync, readFileSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { callEvery, monotonicMs } from "../../../src/base/deadline.js";
import { strictRemoteAccess } from "../../../src/git/run/environment.js";
import { Mirror } from "../../../src/git/mirror/mirror.js";
import { manyRefs } from "../../../src/git/mirror/remote-refs.js";
import { listTree } from "../../../src/git/objects/objects.js";
import { parseRemoteUrl } from "../../../src/git/run/remote-url.js";
import { neverStop } from "../../../src/git/run/run.js";
import { chosen } from "../../support/full-run.js";
import type { GitFixture } from "../../support/git-fixture.js";
import { errorOf, fixture, testMirrorOptions } from "../../support/git-mirror.js";
import { serveHttp } from "../../support/http-remote.js";
import { sshTo, type Harm } from "../../support/hostile-remote.js";
import { within } from "../../support/waiting.js";

/** An ssh that runs the command on this machine. */
function fakeSsh(source: GitFixture): string {
  const path = source.sibling("ssh");
  writeFileSync(path, '#!/bin/sh\n[ "$1" = -G ] && exit 0\nfor last; do :; done\nexec sh -c "$last"\n');
  chmodSync(path, 0o755);
  return path;
}

for (const kind of ["http", "ssh"] as const) {
  t.test(`fetching over ${kind}`, async (t) => {
    const source = fixture(t);
    source.commit({ branch: "main", files: { a: "1" } });
    const url =
      kind === "http" ? `http://ada:s3cret@127.0.0.1:${await serveHttp(t, source)}/` : `git@example.org:${source.path}`;
    const access = { ...strictRemoteAccess, sshCommand: kind === "ssh" ? fakeSsh(source) : null };
    const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl(url), { ...testMirrorOptions, access });
    t.match(await mirror.sync(neverStop), { changed: true, defaultBranch: "main" }, "first");
    source.annotatedTag("v1", source.commit({ branch: "main", files: { b: "1" } }));
    const { changed, headCommit, tags } = await mirror.sync(neverStop);
    t.ok(changed, "second");
    t.equal(tags.get("v1"), headCommit);
    t.equal((await listTree(mirror.directory, headCommit ?? "", "without-sizes", neverStop)).length, 2);
    t.equal((await mirror.sync(neverStop)).changed, false, "nothing new");
    source.git("config", "uploadpack.packObjectsHook", `touch ${source.sibling("owned")}`);
    source.deleteBranch("main");
    source.commit({ branch: "trunk", files: { c: "1" } });
    source.setHead("trunk");
    t.match(await mirror.sync(neverStop), { changed: true, defaultBranch: "trunk" }, "another default branch");
    t.notOk(existsSync(source.sibling("owned")));
  });
}

t.test("many references are written into one file, also when they move and go", async (t) => {
  const source = fixture(t);
  const [first, second] = ["1", "2"].map((text) => source.commit({ branch: "main", files: { a: text } }));
  // Packed, because git would take longer to write and to list hundreds of files than to fetch them.
  const packed = new Map<string, string>();
  const write = (names: readonly string[], oid: string | undefined): void => {
    for (const name of names) {
      if (oid === undefined) packed.delete(name);
      else packed.set(name, oid);
    }
    const lines = [...packed].map(([name, one]) => [name, `${one} ${name}\n`]).sort();
    const text = lines.map(([, line]) => line).join("");
    writeFileSync(join(source.path, "packed-refs"), `# pack-refs with: peeled fully-peeled sorted \n${text}`);
  };
  const heads = Array.from({ length: manyRefs + 5 }, (_, i) => `refs/heads/b/${i}`);
  write([...heads, "refs/tags/plain"], first);
  source.annotatedTag("annotated", second ?? "");
  source.git("tag", "blob", source.git("rev-parse", "main:a").trim());
  const url = parseRemoteUrl(`http://ada:s3cret@127.0.0.1:${await serveHttp(t, source)}/`);
  const mirror = await Mirror.open(source.sibling("mirror"), url, testMirrorOptions);
  const list = (directory: string): string =>
    execFileSync(
      "git",
      [`--git-dir=${directory}`, "for-each-ref", "--format=%(objectname) %(*objectname) %(refname)"],
      {
        encoding: "utf8",
      },
    ).replace(/.* refs\/trawl\/head\n/, "");
  const sync = async (what: string): Promise<void> => {
    t.equal((await mirror.sync(neverStop)).changed, true, what);
    t.equal(list(mirror.directory), list(source.path), what);
    const files = readdirSync(join(mirror.directory, "refs"), { recursive: true, withFileTypes: true });
    t.same(
      files.filter((one) => one.isFile()).map(({ name }) => name),
      [],
      `${what}: no files`,
    );
    t.equal((await mirror.sync(neverStop)).changed, false, `${what}: nothing new`);
  };
  await sync("first");
  write(heads, second);
  await sync("moved");
  write(["refs/heads/b/0"], undefined);
  write(["refs/heads/b/0/below", ...heads.slice(1)], first);
  await sync("a branch replaces a folder of branches");
  source.detachHead(source.commit({ branch: "side", files: { b: "1" } }));
  write(heads.slice(1), undefined);
  source.git("update-ref", "refs/heads/side", second ?? "");
  t.match(await mirror.sync(neverStop), { changed: true, defaultBranch: null }, "gone, and HEAD on a commit");
  t.equal(list(mirror.directory), list(source.path));
});

t.test("a remote that accepts a connection and never responds", async (t) => {
  const server = await listen(t, () => undefined);
  const source = fixture(t);
  const open = (limits: Partial<typeof testMirrorOptions>) =>
    Mirror.open(source.sibling("mirror"), parseRemoteUrl(server), { ...testMirrorOptions, ...limits });
  const error = await within(errorOf((await open({ listTimeoutMs: 500 })).sync(neverStop)), "the end of its time");
  t.match({ code: error.code, message: error.message }, { code: "git", message: /took longer than 500 ms/ });
  t.notMatch(error.message, /s3cret/);
  const stopMs = monotonicMs() + 300;
  const stopped = await within(errorOf((await open({})).sync(() => monotonicMs() > stopMs)), "the stop");
  t.equal(stopped.code, "cancelled");
});

t.test("credentials are sent only to the remote", async (t) => {
  let request = "";
  const server = await listen(t, (socket) => {
    socket.on("data", (part) => {
      request += part.toString("latin1");
      socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\nWWW-Authenticate: Basic realm=x\r\n\r\n");
    });
  });
  const source = fixture(t);
  const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl(server), testMirrorOptions);
  const error = await errorOf(mirror.sync(neverStop));
  t.equal(error.code, "git");
  t.notMatch(error.message, /s3cret/);
  t.match(request, `Authorization: Basic ${Buffer.from("ada:s3cret").toString("base64")}`);
  for (const name of readdirSync(mirror.directory, { withFileTypes: true }).filter((entry) => entry.isFile())) {
    t.notMatch(readFileSync(join(mirror.directory, name.name), "utf8"), /s3cret/, `not kept in ${name.name}`);
  }
});

t.test("redirects are rejected", async (t) => {
  let followed = false;
  const inner = await listen(t, (socket) => {
    followed = true;
    socket.destroy();
  });
  for (const target of [inner, "file:///etc", "ext::touch x"]) {
    const server = await listen(t, (socket) => {
      socket.on("data", () => socket.end(`HTTP/1.1 302 Found\r\nLocation: ${target}\r\nContent-Length: 0\r\n\r\n`));
    });
    const source = fixture(t);
    const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl(server), testMirrorOptions);
    t.equal((await errorOf(mirror.sync(neverStop))).code, "git", target);
  }
  t.notOk(followed);
});

t.test("an ssh host that does not respond", async (t) => {
  const source = fixture(t);
  const mirror = await Mirror.open(
    source.sibling("mirror"),
    parseRemoteUrl("ssh://git@127.0.0.1:1/x"),
    testMirrorOptions,
  );
  const error = await errorOf(mirror.sync(neverStop));
  t.match({ code: error.code, message: error.message }, { code: "git", message: /Connection refused/ });
});

/** A server that does not speak git's protocol; returns its URL, with a password. */
async function listen(t: Test, serve: (socket: Socket) => void): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    serve(socket);
  });
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return `http://ada:s3cret@127.0.0.1:${address !== null && typeof address === "object" ? address.port : 0}/repo.git`;
}

t.test("a fetch from a hostile remote ends in bounded time, and does not change the mirror", { jobs: 3 }, async (t) => {
  // Only two of the remotes are silent on purpose. The others may be starved of processor time for seconds.
  const bounds = {
    silenceMs: 20_000,
    fetchTimeoutMs: 60_000,
    fetchBytesMax: 1 << 20,
    memoryBytesMax: 1 << 28,
    listTimeoutMs: 60_000,
  };
  const silent = { silenceMs: 2_000 };
  const rows: readonly (readonly [
    harm: Harm,
    changed: Partial<typeof bounds> & { readonly reserveBytes?: number },
    message: RegExp,
  ])[] = [
    ["endless references", {}, /git ls-remote needed more than 192 MiB of memory/],
    ["mere signs of life", silent, /git fetch made no progress for \d+ s: .* raise sync\.timeoutSeconds/],
    ["a byte now and then", silent, /git fetch made no progress for \d+ s/],
    ["counts that grow for ever", { fetchTimeoutMs: 5_000 }, /git fetch took longer than 5000 ms/],
    ["an endless pack", {}, /git fetch received more than 1048576 bytes; raise git\.maxFetchBytes/],
    ["an object of 3 GiB", {}, /git fetch needed more than 256 MiB of memory; .* raise git\.maxMemoryBytes/],
  ];
  const usual = chosen(rows, "endless references", "a byte now and then", "an endless pack", "an object of 3 GiB");
  for (const [harm, changed, message] of usual) {
    void t.test(harm, async (t) => {
      const source = fixture(t);
      const access = { ...strictRemoteAccess, sshCommand: sshTo(t, harm) };
      const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl("git@example.org:x"), {
        ...testMirrorOptions,
        ...bounds,
        ...changed,
        access,
      });
      let receivedBytes = 0;
      const looks = callEvery(20, () => {
        receivedBytes = Math.max(receivedBytes, unfinishedBytes(source.sibling(".")));
      });
      const error = await within(errorOf(mirror.sync(neverStop)), harm).finally(() => looks.cancel());
      t.match({ code: error.code, message: error.message }, { code: "git", message });
      t.equal(unfinishedBytes(source.sibling(".")), 0, "nothing of it is left");
      t.ok(receivedBytes <= bounds.fetchBytesMax, `${receivedBytes} bytes were on the disk`);
      t.same((await mirror.state(neverStop)).branches.size, 0);
    });
  }
});

/** The size of the largest pack that git has started to write below the folder. */
function unfinishedBytes(folder: string): number {
  const packs = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.includes("tmp_pack_"));
  return Math.max(0, ...packs.map((path) => statSync(join(folder, path), { throwIfNoEntry: false })?.size ?? 0));
}

t.test("a fetch does not use the disk space of the reserve", async (t) => {
  const source = fixture(t);
  source.commit({ branch: "main", files: { a: "1" } });
  const full = { ...testMirrorOptions, reserveBytes: 2 ** 50 };
  const room = statfsSync(source.path);
  const isFull = room.bavail < room.blocks / 20;
  const mirror = await Mirror.open(source.sibling("mirror"), parseRemoteUrl(`file://${source.path}`), full);
  if (!isFull) t.equal((await mirror.sync(neverStop)).changed, true, "a twentieth of the disk is enough");
});
