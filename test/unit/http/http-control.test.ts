import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { silentLog } from "../../../src/base/log.js";
import { sleep } from "../../../src/base/deadline.js";
import { callDaemon } from "../../../src/cli/connection/control-client.js";
import { ControlServer, type ControlHandlers } from "../../../src/http/server/control-server.js";
import { until } from "../../support/waiting.js";

/** Not tap's own folder: the path of a socket must be short. */
function temporaryDirectory(t: { teardown: (fn: () => void) => void }): string {
  const directory = mkdtempSync(join(tmpdir(), "trawl-control-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const noProgress = () => {};

async function start(t: { teardown: (fn: () => Promise<void>) => void }, directory: string, handlers: ControlHandlers) {
  const server = new ControlServer(handlers, silentLog());
  await server.listen(directory);
  t.teardown(() => server.close());
  return server;
}

t.test("calls", async (t) => {
  const directory = temporaryDirectory(t);
  let waiting = false;
  let left = false;
  await start(t, directory, {
    "GET /.api/repos": () => [{ name: "a" }],
    "POST /.api/repos": ({ body }) => body,
    "POST /.api/repos/NAME/sync": ({ params }) => params["NAME"],
    "POST /check": async ({ progress }) => {
      progress({ shard: 1 });
      await sleep(1);
      progress({ shard: 2 });
      return { faults: 0 };
    },
    "POST /late-failure": ({ progress }) => {
      progress("half");
      throw new TrawlError("storage", "disk full");
    },
    "POST /bug": () => {
      throw new RangeError("deliberate");
    },
    "POST /nothing": () => undefined,
    "POST /wait": async ({ signal }) => {
      waiting = true;
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      left = true;
    },
  });
  const post = (path: string, body: unknown) =>
    callDaemon(directory, { method: "POST", path, body, progress: noProgress });

  t.same(await callDaemon(directory, { method: "GET", path: "/.api/repos", body: undefined, progress: noProgress }), [
    { name: "a" },
  ]);
  t.same(await post("/.api/repos", { name: "é\n" }), { name: "é\n" }, "bodies come as sent");
  t.equal(await post("/.api/repos/host/owner/x/sync", undefined), "host/owner/x", "slashes in names");
  t.equal(await post(`/.api/repos/${encodeURIComponent("a/b c%")}/sync`, undefined), "a/b c%");
  t.equal(await post("/nothing", undefined), null);
  const seen: unknown[] = [];
  t.same(
    await callDaemon(directory, { method: "POST", path: "/check", body: {}, progress: (value) => seen.push(value) }),
    { faults: 0 },
  );
  t.same(seen, [{ shard: 1 }, { shard: 2 }], "progress comes before the result");
  await t.rejects(post("/late-failure", undefined), { code: "storage", message: "disk full" });
  await t.rejects(post("/bug", undefined), { code: "internal", message: "deliberate" });
  await t.rejects(post("/nowhere", undefined), { code: "not-found" });
  await t.rejects(post("/.api/repos", "x".repeat(2 << 20)), { code: "bad-request", message: /larger than/ });

  const socket = connect(join(directory, "control.sock"));
  socket.write("POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  await until("the handler waits", () => waiting);
  socket.destroy();
  await until("a handler learns that its client left", () => left);
});

t.test("the socket", async (t) => {
  const directory = temporaryDirectory(t);
  const path = join(directory, "control.sock");
  const umask = process.umask();
  const server = await start(t, directory, { "GET /a": () => 1 });
  t.equal(statSync(path).mode & 0o777, 0o600, "is for its owner only");
  t.equal(process.umask(), umask, "and the umask is as before");

  const second = new ControlServer({}, silentLog());
  await t.rejects(second.listen(directory), { code: "conflict", message: /another trawld is running/ });
  await server.close();
  await server.close();
  await t.rejects(callDaemon(directory, { method: "GET", path: "/a", body: undefined, progress: noProgress }), {
    code: "not-found",
    message: /no trawld is running with the data in/,
  });

  writeFileSync(path, "");
  await second.listen(directory);
  t.equal(statSync(path).mode & 0o777, 0o600, "what a dead daemon left is replaced");
  await second.close();

  const deep = join(directory, "d".repeat(100));
  mkdirSync(deep);
  await t.rejects(second.listen(deep), { code: "bad-config", message: /too long for a socket/ });
});

t.test("a daemon that closes the connection during a response", async (t) => {
  const directory = temporaryDirectory(t);
  const rude = createServer((socket) => socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{"progress":1}\n'));
  await new Promise<void>((resolve) => rude.listen(join(directory, "control.sock"), resolve));
  t.teardown(() => rude.close());
  await t.rejects(callDaemon(directory, { method: "GET", path: "/", body: undefined, progress: noProgress }), {
    code: "internal",
  });
});
