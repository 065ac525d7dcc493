import { join } from "node:path";
import t from "tap";
import { silentLog, type Log } from "../../src/base/log.js";
import { ServiceManager } from "../../src/daemon/service-manager.js";
import { addonIfBuilt } from "../../src/native/kernel/addon.js";
import { dataDirectory, testDaemon } from "../support/daemon.js";
import { notifySocket, type Notice } from "../support/notify-socket.js";
import { until } from "../support/waiting.js";

const stallMs = 1_000;

/** The environment that a manager sets, without a socket. */
function recorded(
  watchdogMs = 0,
  log: Log = silentLog(),
  error = "",
): { readonly manager: ServiceManager; readonly sent: string[] } {
  const sent: string[] = [];
  const send = (_: string, message: string): string => {
    sent.push(message);
    return error;
  };
  return { manager: new ServiceManager("/run/systemd/notify", watchdogMs, log, send), sent };
}

t.test("overlapping reloads end as one", async (t) => {
  const { manager, sent } = recorded();
  const ends: (() => void)[] = [];
  const reloads = [0, 1].map(() => manager.reload(() => new Promise<void>((resolve) => ends.push(resolve))));
  t.match(sent, [/^RELOADING=1\nMONOTONIC_USEC=\d+$/]);
  ends[0]?.();
  await reloads[0];
  t.equal(sent.length, 1, "the second one still runs");
  ends[1]?.();
  await reloads[1];
  t.same(sent.slice(1), ["READY=1"]);
  await t.rejects(manager.reload(() => Promise.reject(new TypeError("bad"))));
  t.equal(sent.at(-1), "READY=1", "also when one fails");
});

t.test("the watchdog waits for work that blocks the event loop", async (t) => {
  const { manager, sent } = recorded(10_000);
  await t.rejects(
    manager.whileBlocked(async () => {
      t.same(sent, ["WATCHDOG_USEC=120000000\nWATCHDOG=1"]);
      throw new TypeError("bad");
    }),
  );
  t.same(sent.slice(1), ["WATCHDOG_USEC=10000000\nWATCHDOG=1"]);
  const without = recorded(0);
  await without.manager.whileBlocked(async () => undefined);
  t.same(without.sent, [], "there is no watchdog");
});

t.test("the systemd variables are removed from the environment", async (t) => {
  const environment: NodeJS.ProcessEnv = {
    NOTIFY_SOCKET: "/run/x",
    WATCHDOG_USEC: "10",
    WATCHDOG_PID: String(process.pid),
    PATH: "/bin",
  };
  ServiceManager.fromEnvironment(silentLog(), environment);
  t.same(environment, { PATH: "/bin" });
});

t.test("without systemd nothing is sent", async (t) => {
  const sent: string[] = [];
  const manager = new ServiceManager("", 0, silentLog(), (_, message) => String(sent.push(message)));
  manager.starting("x");
  manager.ready("x");
  manager.stopping();
  t.same(sent, []);
});

t.test("a message that cannot be sent is logged once", async (t) => {
  const lines: string[] = [];
  const log = { warn: (_: object, text: string) => lines.push(text) } as unknown as Log;
  const { manager } = recorded(0, log, "ECONNREFUSED");
  manager.ready("x");
  manager.stopping();
  t.same(lines, ["systemd cannot be notified of the daemon's status: ECONNREFUSED"]);
});

t.test(
  "a daemon tells systemd how it stands",
  { skip: addonIfBuilt() === undefined ? "the addon is not built" : false },
  async (t) => {
    const address = join(dataDirectory(t), "notify");
    const { notices } = await notifySocket(t, address);
    const texts = (): readonly string[] => notices.map(({ text }) => text);
    const watchdogs = (): readonly Notice[] => notices.filter(({ text }) => text === "WATCHDOG=1");
    const daemon = await testDaemon(t, [], dataDirectory(t), { NOTIFY_SOCKET: address, WATCHDOG_USEC: "400000" });
    await until("it is ready", () => texts().some((text) => text.startsWith("READY=1")));
    t.match(texts().slice(0, 5), [
      /^EXTEND_TIMEOUT_USEC=\d+\nSTATUS=Checking/,
      /^EXTEND_TIMEOUT_USEC=\d+\nSTATUS=Opening/,
      /^EXTEND_TIMEOUT_USEC=\d+\nSTATUS=Reading/,
      /^FDSTORE=1\nFDNAME=listen-127\.0\.0\.1_0$/,
      `READY=1\nSTATUS=Listening on ${daemon.url}`,
    ]);
    t.equal((await daemon.get("/healthz")).status, 200, "the port is open");
    await until("the watchdog hears of it", () => watchdogs().length > 1);

    await daemon.stall(stallMs);
    const before = watchdogs().length;
    await until("it goes on after a stall", () => watchdogs().length > before);
    const times = watchdogs().map(({ atMs }) => atMs);
    const longest = Math.max(...times.slice(1).map((atMs, i) => atMs - times[i]));
    t.ok(longest > stallMs / 2, `a loop that stood still for ${stallMs} ms said nothing for ${longest} ms`);

    t.ok(await daemonDelay(daemon), "the metrics tell of the stall");
    daemon.signal("SIGHUP");
    await until(
      "it reloads",
      () => texts().indexOf("READY=1") > texts().findIndex((text) => text.startsWith("RELOADING=1\nMONOTONIC_USEC=")),
    );
    t.equal(await daemon.stop(), 0);
    await until("it stops", () => texts().includes("STOPPING=1\nSTATUS=Stopping"));
    t.same(new Set(notices.map(({ pid }) => pid)), new Set([daemon.pid]), "all of it comes from the main process");
  },
);

async function daemonDelay(daemon: { metric(name: string): Promise<number> }): Promise<boolean> {
  await until(
    "the worst delay is counted",
    async () => (await daemon.metric("trawl_event_loop_delay_max_seconds")) > 0.5,
  );
  return (await daemon.metric("trawl_event_loop_delay_seconds_count")) > 0;
}
