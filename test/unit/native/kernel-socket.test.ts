import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { filterRequests } from "../../../src/native/http/request-filter.js";
import {
  findListener,
  limitUnsentBytes,
  replaceListener,
  widenSendBuffers,
} from "../../../src/native/socket/socket.js";
import { dataDirectory } from "../../support/daemon.js";

const skip = addonIsMissing();

function addonIsMissing(): string | false {
  try {
    limitUnsentBytes(0, 1);
    return false;
  } catch (error) {
    return String(error);
  }
}

/** The number of bytes that the system accepts from a server while the client does not read. */
async function bytesTaken(limit: number | undefined): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  if (limit !== undefined) t.ok(limitUnsentBytes(port, limit), "the listening socket is found");
  const accepted = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const client = connect(port, "127.0.0.1").pause();
  const socket = await accepted;
  let taken = 0;
  for (const block = Buffer.alloc(16 * 1024); socket.writableLength === 0; taken += block.length) {
    socket.write(block);
    await setImmediate();
  }
  client.destroy();
  socket.destroy();
  server.close();
  return taken;
}

void t.test("unsent bytes of accepted connections are bounded", { skip }, async (t) => {
  const limited = await bytesTaken(16 * 1024);
  const unlimited = await bytesTaken(undefined);
  t.ok(limited < unlimited / 2, `${limited} bytes are taken with the limit, ${unlimited} without`);
});

void t.test("a port on which nobody listens", { skip }, async (t) => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  t.equal(limitUnsentBytes(port, 1), false);
  t.throws(() => limitUnsentBytes(70_000, 1), TypeError);
});

/** Listens on a port of its own, or on a path. */
async function listening(t: Test, path?: string): Promise<{ server: Server; port: number }> {
  const server = createServer();
  t.teardown(() => server.close());
  await new Promise<void>((resolve) =>
    path === undefined ? server.listen(0, "127.0.0.1", resolve) : server.listen(path, resolve),
  );
  const address = server.address();
  return { server, port: typeof address === "object" && address !== null ? address.port : 0 };
}

/** The end of a connection whose local port is that of the server. */
async function accepted(t: Test, server: Server, port: number): Promise<Socket> {
  const connection = new Promise<Socket>((resolve) => server.once("connection", resolve));
  const client = connect(port, "127.0.0.1");
  const socket = await connection;
  t.teardown(() => {
    client.destroy();
    socket.destroy();
  });
  return socket;
}

const descriptorOf = (owner: Socket | Server): number => (owner as unknown as { _handle: { fd: number } })._handle.fd;

void t.test("connections are no listeners, and a listener is no connection", { skip }, async (t) => {
  const { server, port } = await listening(t);
  await accepted(t, server, port);
  t.equal(findListener(port), descriptorOf(server));
  t.equal(widenSendBuffers(port, 1 << 20), 1, "the connection at the port");
  server.close();
  t.equal(findListener(port), undefined);
  t.equal(limitUnsentBytes(port, 1), false);
});

void t.test("a listener is replaced only by another one with a port", { skip }, async (t) => {
  const { server, port } = await listening(t);
  const connection = await accepted(t, server, port);
  const other = await listening(t);
  const local = await listening(t, join(dataDirectory(t), "socket"));
  t.equal(replaceListener(port, descriptorOf(connection)), undefined, "a connection");
  t.equal(replaceListener(port, descriptorOf(local.server)), undefined, "a listener on a path");
  t.equal(replaceListener(port, descriptorOf(server)), undefined, "itself");
  const closed = await listening(t);
  const unused = closed.port;
  await new Promise((resolve) => closed.server.close(resolve));
  t.equal(replaceListener(unused, descriptorOf(other.server)), undefined, "a port on which nobody listens");
  t.same(
    [findListener(port), findListener(other.port)],
    [server, other.server].map(descriptorOf),
    "nothing has changed",
  );
});

void t.test("a library that is not loaded is not filtered", { skip }, async (t) => {
  t.equal(filterRequests("/nowhere/uws.node"), undefined);
  const [mathematics] = /\/\S*\/libm\.so\S*/.exec(readFileSync("/proc/self/maps", "utf8")) ?? [];
  if (mathematics !== undefined)
    t.equal(filterRequests(mathematics), undefined, "a library that does not read sockets");
});
