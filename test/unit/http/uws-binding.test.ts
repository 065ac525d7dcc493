/** The binary of uWebSockets.js for the running release of Node. */
import { createServer } from "node:net";
import t from "tap";
import { loadBinding } from "../../../src/http/server/uws-binding.js";

t.test("the binding for this release listens, and returns its port", async (t) => {
  const native = loadBinding();
  const app = native.App();
  let port = 0;
  app.listen("127.0.0.1", 0, native.LIBUS_LISTEN_EXCLUSIVE_PORT, (socket) => {
    if (!socket) return;
    port = native.us_socket_local_port(socket);
    native.us_listen_socket_close(socket);
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
      resolve(socket === false ? 0 : native.us_socket_local_port(socket)),
    );
  });
  for (const length of [10, 4_096, 60_000]) {
    const answer = await fetch(`http://127.0.0.1:${port}/?${"q".repeat(length)}`);
    t.same([answer.status, await answer.text()], [200, String(length)]);
  }
});

t.test("where no binary fits, the platforms that have one are named", async (t) => {
  t.throws(() => loadBinding("83"), {
    code: "bad-config",
    message:
      /^uWebSockets\.js has no binary that loads in Node [\d.]+ on linux .*glibc 2\.36.*linux x64 with Node 20, 22, 24.*make build/,
  });
});
