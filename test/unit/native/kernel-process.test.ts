/** Processes started by the addon, and by Node if the addon is not built. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import t, { type Test } from "tap";
import { sleep } from "../../../src/base/deadline.js";
import { forkProcess, startProcess, type Ending, type StartedProcess } from "../../../src/native/process/process.js";
import { isFull } from "../../support/full-run.js";
import { until } from "../../support/waiting.js";

type Start = typeof startProcess;

const limits = {
  dataBytesMax: Infinity,
  cpuSecondsMax: Infinity,
  fileBytesMax: Infinity,
  descriptorCountMax: Infinity,
};
const environment = { PATH: process.env["PATH"] ?? "" };

function shell(start: Start, script: string, directory = "/"): StartedProcess {
  return start({ name: "sh", args: ["-c", script, "sh", "", "two words"], environment, directory, limits });
}

async function endingOf(child: StartedProcess): Promise<Ending> {
  for (;;) {
    const ending = child.ending();
    if (ending !== null) return ending;
    await sleep(1);
  }
}

async function textOf(stream: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}

function temporaryFolder(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), "trawl-process-"));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

for (const [name, start] of [
  ["the addon", startProcess],
  ["Node", forkProcess],
] as const) {
  t.test(`${name}: streams, arguments, directory and exit code`, async (t) => {
    const folder = temporaryFolder(t);
    const child = shell(start, "cat; printf '%s|' \"$@\"; pwd; echo complaint >&2; exit 3", folder);
    child.stdin.end("input ");
    // Together: Node drops what is left in a stream that nobody reads when the process exits.
    const [output, errors] = await Promise.all([textOf(child.stdout), textOf(child.stderr)]);
    t.equal(output, `input |two words|${folder}\n`);
    t.equal(errors, "complaint\n");
    t.same(await endingOf(child), { code: 3, signal: null });
    t.same(child.ending(), { code: 3, signal: null }, "as often as it is asked");
  });

  t.test(`${name}: the process has the given environment`, async (t) => {
    const child = start({
      name: "env",
      args: ["-0"],
      environment: { ...environment, EMPTY: "", NAME: "a=b\nc" },
      directory: "/",
      limits,
    });
    const variables = (await textOf(child.stdout)).split("\0");
    t.same(variables.sort(), ["", "EMPTY=", "NAME=a=b\nc", `PATH=${environment.PATH}`]);
    await endingOf(child);
  });

  t.test(`${name}: a session of its own, and default signals`, async (t) => {
    // A shell that starts something blocks signals meanwhile: the one that is looked at starts nothing.
    const child = shell(start, "read -r stat </proc/self/stat; echo \"$stat\"; exec grep '^Sig[BI]' /proc/self/status");
    const [stat = "", blocked, ignored] = (await textOf(child.stdout)).split("\n");
    const [, , , , group, session] = stat.split(" ").map(Number);
    t.same([group, session], [child.pid, child.pid]);
    // Signals 32 and 33 are reserved by the C library.
    const usualOf = (line: string | undefined): number => Number.parseInt(line?.slice(-8) ?? "", 16) & 0x7fffffff;
    t.same([blocked, ignored].map(usualOf), [0, 0], `${blocked}, ${ignored}`);
    await endingOf(child);
  });

  t.test(`${name}: a killed process reports its signal, and a running one has no exit status`, async (t) => {
    const child = shell(start, "sleep 100");
    t.equal(child.ending(), null);
    process.kill(-child.pid, "SIGTERM");
    t.same(await endingOf(child), { code: null, signal: "SIGTERM" });
    t.equal(await textOf(child.stdout), "");
  });

  t.test(`${name}: limits apply to the process and its children`, async (t) => {
    const bounds = { dataBytesMax: 64 << 20, cpuSecondsMax: 7, fileBytesMax: 3 << 20, descriptorCountMax: 40 };
    // Without the addon the score is written once the process runs, so the script waits for the end of its input.
    const script = "read -r _; sh -c 'cat /proc/self/limits /proc/self/oom_score_adj'";
    const child = start({ name: "sh", args: ["-c", script], environment, directory: "/", limits: bounds });
    child.stdin.end();
    const text = await textOf(child.stdout);
    const rows = [
      ["Max data size", 64 << 20, 64 << 20],
      ["Max cpu time", 7, 12],
      ["Max file size", 3 << 20, 3 << 20],
      ["Max open files", 40, 40],
      ["Max core file size", 0, 0],
    ] as const;
    for (const [row, soft, hard] of rows) t.match(text, new RegExp(`^${row} +${soft} +${hard} `, "m"), row);
    t.ok(Number(text.trim().split("\n").at(-1)) >= 500, "it goes before us when memory is short");
    await endingOf(child);
  });

  t.test(`${name}: exceeding a limit ends the process with the signal of that limit`, async (t) => {
    const folder = temporaryFolder(t);
    // A second of processor time is the least limit: in `make test` only the addon waits for it, and both have it set above.
    const endless = [["while :; do :; done", { cpuSecondsMax: 1 }, "SIGXCPU"]] as const;
    const rows: readonly (readonly [script: string, bounds: Partial<typeof limits>, signal: string])[] = [
      ...(isFull || start === startProcess ? endless : []),
      ["exec head -c 3000000 /dev/zero >file", { fileBytesMax: 1 << 20 }, "SIGXFSZ"],
    ];
    for (const [script, bounds, signal] of rows) {
      const child = start({
        name: "sh",
        args: ["-c", script],
        environment,
        directory: folder,
        limits: { ...limits, ...bounds },
      });
      t.same(await endingOf(child), { code: null, signal }, script);
    }
    t.equal(statSync(join(folder, "file")).size, 1 << 20);
  });

  t.test(`${name}: large output, at the pace of the reader`, async (t) => {
    const child = shell(start, "head -c 5000000 /dev/zero; exit 0");
    await sleep(50);
    t.equal(child.ending(), null, "waits for its reader");
    t.equal((await textOf(child.stdout)).length, 5_000_000);
    t.same(await endingOf(child), { code: 0, signal: null });
  });

  t.test(`${name}: many processes at the same time, without leaking descriptors`, async (t) => {
    const count = (): number => readdirSync("/proc/self/fd").length;
    const before = count();
    for (let round = 0; round < 3; round++) {
      const children = Array.from({ length: 20 }, (_, i) => shell(start, `echo ${i}; exit ${i}`));
      for (const child of children) child.stdin.end();
      const texts = await Promise.all(children.map((child) => textOf(child.stdout)));
      await Promise.all(children.map((child) => textOf(child.stderr)));
      t.same(
        texts,
        children.map((_, i) => `${i}\n`),
      );
      t.same(
        await Promise.all(children.map(endingOf)),
        children.map((_, code) => ({ code, signal: null })),
      );
    }
    await until("no descriptor is left", () => count() <= before + 2);
  });

  t.test(`${name}: a process that cannot be started`, async (t) => {
    const folder = temporaryFolder(t);
    const command = { name: "sh", args: [], environment, directory: "/", limits };
    t.throws(() => start({ ...command, environment: { PATH: folder } }), { message: "spawn sh ENOENT" });
    t.throws(() => start({ ...command, environment: {} }), { message: "spawn sh ENOENT" });
    t.throws(() => start({ ...command, args: ["a\0b"] }), { message: /^spawn sh ERR_INVALID_ARG_VALUE/ });
    t.throws(() => start({ ...command, directory: join(folder, "nowhere") }), { message: /^spawn sh / });
  });
}

t.test("a limit beyond that of this process is that of this process", async (t) => {
  const [, ownMax] = /^Max open files +\d+ +(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
  const beyond = { ...limits, descriptorCountMax: 2 ** 31 };
  const child = startProcess({ name: "cat", args: ["/proc/self/limits"], environment, directory: "/", limits: beyond });
  t.match(await textOf(child.stdout), new RegExp(`^Max open files +${ownMax} +${ownMax} `, "m"));
  await endingOf(child);
});

t.test("a process is no zombie once its exit status is known", async (t) => {
  const child = shell(startProcess, "exit 0");
  child.stdout.resume();
  await endingOf(child);
  t.throws(() => readFileSync(`/proc/${child.pid}/stat`), { code: "ENOENT" });
});

t.test("a process does not outlive the thread that started it", async (t) => {
  const source = `
    import { parentPort } from "node:worker_threads";
    import { startProcess } from ${JSON.stringify(new URL("../../../src/native/process/process.js", import.meta.url).href)};
    const child = startProcess(${JSON.stringify({ name: "sleep", args: ["100"], environment, directory: "/", limits: { dataBytesMax: 1e9, cpuSecondsMax: 100, fileBytesMax: 0, descriptorCountMax: 10 } })});
    parentPort.postMessage(child.pid);`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(source)}`));
  const pid = await new Promise<number>((resolve, reject) => worker.on("message", resolve).on("error", reject));
  t.doesNotThrow(() => process.kill(pid, 0));
  await worker.terminate();
  // No process waits for it any more, so it may remain as a zombie.
  await until("the process is gone", () => /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8")));
});
