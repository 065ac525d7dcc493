import { type AddressInfo, createServer, type Socket } from "node:net";
import { connect } from "node:tls";
import { readFileSync } from "node:fs";
import t, { type Test } from "tap";
import { silentLog } from "../../../src/base/log.js";
import type { FrameChannel, FrameReceiver } from "../../../src/wire/frame-channel.js";
import type { Frame } from "../../../src/wire/frames.js";
import { nodeWithCertificate, readIdentity, saysUri } from "../../../src/wire/identity.js";
import { watchConnection } from "../../../src/wire/liveness.js";
import { NodeClient } from "../../../src/wire/node-client.js";
import { LineLimit, NodeServer } from "../../../src/wire/node-server.js";
import { type CertificateFiles, TestAuthority } from "../../support/fleet-site.js";
import { until } from "../../support/waiting.js";

const log = silentLog();

/** A server that sends back what it gets, with the name of the node that has sent it. */
async function startEcho(t: Test, files: CertificateFiles): Promise<number> {
  const server = new NodeServer({
    identity: readIdentity("test", "a", files),
    nodes: () => ["b", "c"],
    nodesMax: 2,
    protocol: "1",
    log,
    accept: (node, channel): FrameReceiver => ({
      frame: ({ head, body }) => channel().send({ ...head, from: node }, body),
      closed: () => undefined,
    }),
  });
  const port = await server.start("127.0.0.1", 0);
  t.teardown(() => server.stop());
  return port;
}

/** What the server says to one message, or why it does not. */
async function say(client: NodeClient, body = Buffer.alloc(0)): Promise<Frame | string> {
  return await new Promise((resolve) => {
    const channel: FrameChannel = client.open({
      frame: (frame) => {
        resolve(frame);
        channel.close();
      },
      closed: (reason) => resolve(reason ?? "nothing"),
    });
    channel.send({ hello: 1 }, body);
  });
}

t.test("only nodes of the fleet are answered, and only the node that was meant answers", async (t) => {
  const authority = new TestAuthority(t);
  const other = new TestAuthority(t);
  const port = await startEcho(t, authority.issue("URI:trawl://test/a"));
  const clientOf = (files: CertificateFiles, fleet: string, own: string, wanted = "a", protocol = "1"): NodeClient => {
    const issuer = files.certificate.replace(/node\d+\.pem/, "ca.pem");
    const issued = readIdentity(fleet, own, { ...files, authority: issuer });
    const identity = { ...issued, authority: readFileSync(files.authority) };
    const client = new NodeClient({ name: wanted, address: `127.0.0.1:${port}` }, identity, protocol, log);
    t.teardown(() => client.close());
    return client;
  };
  const b = authority.issue("URI:trawl://test/b");
  const body = Buffer.alloc(300_000, "x");
  const answer = await say(clientOf(b, "test", "b"), body);
  if (typeof answer === "string") throw new Error(answer);
  t.same(answer.head, { hello: 1, from: "b" });
  t.ok(body.equals(answer.body));

  t.match(await say(clientOf(b, "test", "b", "c")), /not of node c of the fleet test/, "another node answers");
  t.match(await say(clientOf(b, "test", "b", "a", "2")), /runs version 1, and this node 2/, "another version");
  const stranger = authority.issue("URI:trawl://test/x");
  t.type(await say(clientOf(stranger, "test", "x")), "string", "a node that is not in the list");
  const foreign = authority.issue("URI:trawl://another/b");
  t.type(await say(clientOf(foreign, "another", "b")), "string", "a node of another fleet");
  const forged = { ...other.issue("URI:trawl://test/b"), authority: b.authority };
  t.match(await say(clientOf(forged, "test", "b")), /\S/, "a certificate of another authority");
  const trusting = { ...b, authority: forged.certificate.replace(/node\d+\.pem/, "ca.pem") };
  t.match(await say(clientOf(trusting, "test", "b")), /certificate/, "a server of another authority");
});

t.test("a node learns that another one has left, also while it has much to send", async (t) => {
  const authority = new TestAuthority(t);
  let [asked, left] = [0, 0];
  const server = new NodeServer({
    identity: readIdentity("test", "a", authority.issue("URI:trawl://test/a")),
    nodes: () => ["b"],
    nodesMax: 1,
    protocol: "1",
    log,
    accept: (_, channel): FrameReceiver => ({
      frame: () => {
        channel().send({}, Buffer.alloc(4 << 20));
        asked++;
      },
      closed: () => left++,
    }),
  });
  const port = await server.start("127.0.0.1", 0);
  t.teardown(() => server.stop());
  const identity = readIdentity("test", "b", authority.issue("URI:trawl://test/b"));
  const client = new NodeClient({ name: "a", address: `127.0.0.1:${port}` }, identity, "1", log);
  t.teardown(() => client.close());
  for (let i = 1; i <= 20; i++) {
    const channel = client.open({ frame: () => undefined, closed: () => undefined });
    channel.pause();
    channel.send({ hello: i });
    await until("the node is asked", () => asked === i);
    channel.close();
    await until("the node has learned it", () => left === i);
  }
  t.equal(left, 20);
});

t.test("without a certificate, or with an old protocol, nothing is said", async (t) => {
  const authority = new TestAuthority(t);
  const files = authority.issue("URI:trawl://test/a");
  const port = await startEcho(t, files);
  for (const options of [
    {},
    { maxVersion: "TLSv1.2" as const, cert: readFileSync(files.certificate), key: readFileSync(files.key) },
  ]) {
    const outcome = await new Promise<string>((resolve) => {
      const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false, ALPNProtocols: ["h2"], ...options });
      socket.on("data", (bytes: Buffer) => resolve(bytes.toString()));
      socket.on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "error"));
      socket.on("close", () => resolve("closed"));
      socket.on("secureConnect", () => socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"));
    });
    t.match(outcome, /^(ERR_SSL|ECONNRESET|closed|EPROTO)/);
  }
});

t.test("a host that accepts a connection and says nothing is missed", async (t) => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on("error", () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const socket = connect({ host: "127.0.0.1", port: (server.address() as AddressInfo).port });
  socket.on("error", () => undefined);
  let missed = 0;
  const reason = await new Promise<string>((resolve) => {
    const destroy = (said: string): void => {
      socket.destroy();
      resolve(said);
    };
    const watched = { isClosed: false, ping: () => undefined, destroy };
    watchConnection(watched, "node a", 10, () => missed++);
  });
  t.match(reason, /node a has been silent/);
  t.equal(missed, 1);
});

t.test("strangers cause a bounded number of lines", (t) => {
  let now = 0;
  const limit = new LineLimit(() => now);
  t.same([limit.take("a"), limit.take("a"), limit.take("b"), limit.take("b")], [0, undefined, 1, undefined]);
  const others = Array.from({ length: 1_000 }, (_, i) => limit.take(`x${i}`));
  t.equal(others.filter((one) => one !== undefined).length, 18);
  now = 60_000;
  t.equal(limit.take("a"), 982, "the next line counts what was omitted");
  t.end();
});

t.test("names of certificates", (t) => {
  t.ok(saysUri("DNS:x, URI:trawl://test/a", "trawl://test/a"));
  t.notOk(saysUri("URI:trawl://test/ab", "trawl://test/a"));
  t.notOk(saysUri('URI:"http://x, URI:trawl://test/a, y"', "trawl://test/a"), "one name that looks like several");
  t.notOk(saysUri(undefined, "trawl://test/a"));
  t.equal(nodeWithCertificate("URI:trawl://test/b", "test", ["a", "b"]), "b");
  t.equal(nodeWithCertificate("URI:trawl://test/a, URI:trawl://test/b", "test", ["a", "b"]), undefined, "of two nodes");
  t.end();
});

t.test("a node refuses to start with a certificate that is not its own", (t) => {
  const authority = new TestAuthority(t);
  const files = authority.issue("URI:trawl://test/a");
  const mixed = { ...files, key: authority.issue("URI:trawl://test/b").key };
  const another = { ...files, authority: new TestAuthority(t).issue("URI:trawl://test/a").authority };
  t.throws(() => readIdentity("test", "a", another), { code: "bad-config", message: /not issued by the authority/ });
  t.throws(() => readIdentity("test", "b", files), { code: "bad-config", message: /must be URI:trawl:\/\/test\/b/ });
  t.throws(() => readIdentity("test", "a", mixed), { code: "bad-config", message: /fleet\.certificate/ });
  t.throws(() => readIdentity("test", "a", { ...files, key: "/nonexistent/key" }), {
    code: "bad-config",
    message: /^fleet\.key: ENOENT/,
  });
  t.end();
});
