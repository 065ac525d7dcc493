import { join } from "node:path";
import t from "tap";
import { sendDatagram, type DatagramOutcome } from "../../../src/native/socket/socket.js";
import { dataDirectory } from "../../support/daemon.js";
import { notifySocket } from "../../support/notify-socket.js";
import { until } from "../../support/waiting.js";

const skip = sendDatagram("", "") === "no-addon" ? "the addon is not built" : false;

function abstractName(): string {
  return `@trawl-test-${process.pid}`;
}

t.test("a datagram reaches a path and an abstract name", { skip }, async (t) => {
  for (const address of [join(dataDirectory(t), "socket"), abstractName()]) {
    const { notices } = await notifySocket(t, address);
    t.same(
      sendDatagram("/nonexistent/socket", "x"),
      { error: "ENOENT" },
      "an error, which is not that of the next one",
    );
    t.equal(sendDatagram(address, "READY=1\nSTATUS=grün"), "sent");
    await until("it has come", () => notices.length === 1);
    t.has(notices[0], { pid: process.pid, text: "READY=1\nSTATUS=grün" }, address);
  }
});

t.test("system errors of a send", { skip }, async (t) => {
  const rows: readonly (readonly [address: string, error: string])[] = [
    ["", "EAFNOSUPPORT"],
    ["@", "EAFNOSUPPORT"],
    ["relative", "EAFNOSUPPORT"],
    ["vsock:2:1", "EAFNOSUPPORT"],
    ["/nonexistent/socket", "ENOENT"],
    [`/${"x".repeat(107)}`, "ENAMETOOLONG"],
    [`/${"x".repeat(106)}`, "ENOENT"],
    [`@${"x".repeat(107)}`, "ECONNREFUSED"],
    [`@${"x".repeat(108)}`, "ENAMETOOLONG"],
    [`@${"x".repeat(100_000)}`, "ENAMETOOLONG"],
  ];
  for (const [address, error] of rows) t.same(sendDatagram(address, "x"), { error }, address.slice(0, 20));
});

t.test("sending does not wait for a receiver that does not read", { skip }, async (t) => {
  const address = join(dataDirectory(t), "socket");
  const { notices, pause } = await notifySocket(t, address);
  pause();
  let last: DatagramOutcome = "sent";
  for (let sent = 0; sent < 100_000 && last === "sent"; sent++) last = sendDatagram(address, "WATCHDOG=1");
  t.same(last, { error: "EAGAIN" });
  t.same(notices, []);
});
