/** A restart under a service manager: no connection is refused, because the listening socket outlives the process. */
import { request, type Agent } from "node:http";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { sleep } from "../../src/base/deadline.js";
import { silentLog } from "../../src/base/log.js";
import { HttpServer } from "../../src/http/server/uws.js";
import { addonIfBuilt } from "../../src/native/kernel/addon.js";
import { dataDirectory, DaemonProcess, textsOnly } from "../support/daemon.js";
import { scaled } from "../support/full-run.js";
import { cliUrl } from "../support/program.js";
import { ManagedService } from "../support/service-manager.js";
import { until } from "../support/waiting.js";

const restartCount = scaled(1, 2);
const skip = addonIfBuilt() === undefined ? "the addon is not built" : false;
const entry = `const { run } = await import(${JSON.stringify(cliUrl)}); process.exitCode = await run(["node", "trawl", ...process.argv.slice(1)]); process.exit();`;

function program(data: string): readonly string[] {
  return [
    process.execPath,
    "--input-type=module",
    "-e",
    entry,
    "--",
    "serve",
    "--data",
    data,
    "--set",
    "workers=1",
    "--set",
    "index.workers=1",
    "--set",
    "search.warmPercent=0",
    ...textsOnly,
    "--listen",
    "127.0.0.1:0",
  ];
}

/** The status of a request, or the code of its error. */
function ask(url: string, agent: Agent | false): Promise<number | string> {
  return new Promise((resolve) => {
    request(`${url}/healthz`, { agent }, (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode ?? 0));
    })
      .on("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
      .end();
  });
}

t.test("another address gets a new socket, and all requests during restarts are answered", { skip }, async (t) => {
  const data = dataDirectory(t);
  const service = await ManagedService.start(t, join(data, "..", `notify-${process.pid}`), program(data));
  t.match(service.state.kept, [/^listen-127\.0\.0\.1_0$/], "systemd keeps the socket");
  const before = service.url;
  await service.restart("localhost:0");
  await until("the old one is gone", () => service.state.kept.join() === "listen-localhost_0");
  t.not(service.url, before);
  t.equal(await ask(before, false), "ECONNREFUSED");

  const { url } = service;
  const answers: Promise<number | string>[] = [];
  let asks = true;
  const asking = (async () => {
    for (; asks; await sleep(2)) answers.push(ask(url, false));
  })();
  try {
    for (let round = 0; round < restartCount; round++) await service.restart();
  } finally {
    asks = false;
    await asking;
  }
  const outcomes = await Promise.all(answers);
  t.ok(outcomes.length > 100, `${outcomes.length} requests`);
  t.same(new Set(outcomes), new Set([200]), "no connection is refused or cut");
  t.equal(service.url, url, "the address stays");
  t.equal(service.state.ended.length, restartCount + 1);
  t.equal(await ask(url, false), 200);
});

t.test("descriptors for another process are ignored", { skip }, async (t) => {
  const data = dataDirectory(t);
  const daemon = await DaemonProcess.start(data, textsOnly, {
    LISTEN_PID: "1",
    LISTEN_FDS: "1",
    LISTEN_FDNAMES: "listen-127.0.0.1_0",
  });
  t.teardown(() => daemon.kill());
  t.equal((await daemon.get("/healthz")).status, 200);
});

t.test("a stored socket that does not listen is discarded, and the port is opened again", { skip }, async (t) => {
  const file = openSync("/dev/null", "r");
  t.teardown(() => closeSync(file));
  const server = new HttpServer(silentLog(), () => undefined);
  t.teardown(() => server.stop(0));
  server.route("GET", "/healthz", (_, response) => response.reply(200, {}, "good"));
  const tuned: number[] = [];
  const port = server.listen("127.0.0.1", 0, (bound) => tuned.push(bound), file);
  t.same(tuned, [port]);
  t.equal(await ask(`http://127.0.0.1:${port}`, false), 200);
});
