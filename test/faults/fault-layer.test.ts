/** The fault layer fails calls on files, and no others. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import t from "tap";
import { FaultLayer, layerMissing, realDirectory } from "../support/fault-layer.js";
import { within } from "../support/waiting.js";

/** Descriptors of files that are closed become those of a thread, which are eventfds and pipes; then a message goes to and fro. */
const program = `
const { closeSync, openSync, writeFileSync } = require("node:fs");
const { Worker } = require("node:worker_threads");
const files = Array.from({ length: 16 }, (_, i) => openSync(process.argv[1] + "/" + i, "w"));
for (const file of files) closeSync(file);
const echo = "const { parentPort } = require('node:worker_threads'); parentPort.on('message', (m) => parentPort.postMessage(m));";
const worker = new Worker(echo, { eval: true });
worker.on("online", () => process.stdout.write("running"));
process.stdin.once("data", () => {
  try { writeFileSync(process.argv[1] + "/new", "x"); } catch ({ code }) { worker.postMessage(code); }
});
worker.on("message", (code) => { process.stdout.write(code, () => process.exit()); });
`;

t.test("a thread can be woken while every file call fails", { skip: layerMissing }, async (t) => {
  const data = realDirectory(t);
  const layer = new FaultLayer(t, data, { journals: false });
  const child = spawn(process.execPath, ["-e", program, data], {
    stdio: ["pipe", "pipe", "inherit"],
    env: { ...process.env, ...layer.environment },
  });
  t.teardown(() => child.kill("SIGKILL"));
  const ended = once(child, "exit");
  await within(once(child.stdout, "data"), "a thread that runs");
  const answer = once(child.stdout, "data").then(([bytes]) => String(bytes));
  layer.failAt(1, "ENOSPC");
  child.stdin.write("go");
  t.same(await within(ended, "the end of a program with a thread"), [0, null]);
  t.equal(await within(answer, "its answer", 2_000), "ENOSPC");
});
