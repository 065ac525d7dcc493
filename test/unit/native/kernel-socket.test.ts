import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { setImmediate } from "node:timers/promises";
import { readFileSync } from "node:fs";
import t from "tap";
import { filterRequests } from "../../../src/native/http/request-filter.js";
import { limitUnsentBytes } from "../../../src/native/socket/socket.js";

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

void t.test("a library that is not loaded is not filtered", { skip }, async (t) => {
  t.equal(filterRequests("/nowhere/uws.node"), undefined);
  const [mathematics] = /\/\S*\/libm\.so\S*/.exec(readFileSync("/proc/self/maps", "utf8")) ?? [];
  if (mathematics !== undefined)
    t.equal(filterRequests(mathematics), undefined, "a library that does not read sockets");
});
