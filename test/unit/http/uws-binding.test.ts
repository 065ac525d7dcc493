/**
 * Which package of uWebSockets.js is loaded, by the ABI of Node. `make test` under Node 22 or 24 runs all of it with
 * the other one.
 */
import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import t from "tap";
import { loadBinding } from "../../../src/http/server/uws-binding.js";

const pathOfNewer = fileURLToPath(new URL("../../../../uws/node_modules/uWebSockets.js", import.meta.url));
const ownAbi = Number(process.versions.modules);
const otherAbi = ownAbi <= 115 ? 137 : 115;

t.test("the binding for this release listens, and returns its port", async (t) => {
  const native = loadBinding();
  const app = native.App();
  let port = 0;
  app.listen("127.0.0.1", 0, native.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (!socket) return;
    port = native.getSocketPort(socket);
    native.closeSocket(socket);
  });
  t.ok(port > 0);
  app.close();
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
  t.pass("and gives it back");
  server.close();
});

t.test("a request line can be as long as the longest query", async (t) => {
  const native = loadBinding();
  const app = native.App();
  t.teardown(() => app.close());
  app.any("/*", (response, request) => {
    response.end(String(request.getQuery().length));
  });
  const port = await new Promise<number>((resolve) => {
    app.listen("127.0.0.1", 0, native.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) =>
      resolve(socket === false ? 0 : native.getSocketPort(socket)),
    );
  });
  for (const length of [10, 4_096, 60_000]) {
    const answer = await fetch(`http://127.0.0.1:${port}/?${"q".repeat(length)}`);
    t.same([answer.status, await answer.text()], [200, String(length)]);
  }
});

t.test("the binding for another release is rejected with a remedy", async (t) => {
  t.throws(() => loadBinding(otherAbi), {
    code: "bad-config",
    message: /^uWebSockets\.js cannot be loaded in Node [\d.]+: run `make build`/,
  });
  // make installs the package for newer releases in this folder.
  if (otherAbi > 115) t.throws(() => loadBinding(otherAbi), { message: new RegExp(pathOfNewer) });
});
