import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import t, { type Test } from "tap";
import { monotonicMs, sleep } from "../../../src/base/deadline.js";
import { TrawlError } from "../../../src/base/errors.js";
import { localEnvironment, remoteEnvironment, strictRemoteAccess } from "../../../src/git/run/environment.js";
import { parseRemoteUrl } from "../../../src/git/run/remote-url.js";
import { GitChild, neverStop, runGit, type RunOptions } from "../../../src/git/run/run.js";
import type { ProcessLimits } from "../../../src/native/process/process.js";
import { fixture } from "../../support/git-mirror.js";
import { until, waitMsMax, within } from "../../support/waiting.js";

const unlimited: ProcessLimits = {
  dataBytesMax: Infinity,
  cpuSecondsMax: Infinity,
  fileBytesMax: Infinity,
  descriptorCountMax: Infinity,
};

const common: RunOptions = {
  args: [],
  environment: localEnvironment(),
  directory: "/",
  timeoutMs: 600_000,
  silenceMs: Infinity,
  outputBytesMax: 1 << 20,
  process: unlimited,
  stop: neverStop,
  stdin: null,
  exitCodes: [],
  onErrorLine: null,
};

/** Replaces git by a shell script for the duration of a test. */
function fakeGit(t: Test, script: string): RunOptions {
  const directory = mkdtempSync(join(tmpdir(), "trawl-fake-git-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  writeFileSync(join(directory, "git"), `#!/bin/sh\ncd '${directory}'\n${script}\n`);
  chmodSync(join(directory, "git"), 0o755);
  const environment = { ...common.environment, PATH: `${directory}${delimiter}${process.env["PATH"]}` };
  return { ...common, args: ["work"], environment, directory };
}

async function errorOf(work: Promise<unknown>): Promise<TrawlError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof TrawlError) return error;
    throw error;
  }
  throw new TrawlError("internal", "no error");
}

function isRunning(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return false;
  }
}

t.test("output, input and exit code", async (t) => {
  const { stdout, code } = await runGit({ ...common, args: ["hash-object", "--stdin"], stdin: "hello\n" });
  t.equal(stdout.toString(), "ce013625030ba8dba906f756967f9e9ca394464a\n");
  t.equal(code, 0);
  const allowed = await runGit({ ...fakeGit(t, "echo no; exit 3"), exitCodes: [3] });
  t.match({ code: allowed.code, stdout: String(allowed.stdout) }, { code: 3, stdout: "no\n" });
});

t.test("an error contains the last lines of git, without passwords and progress", async (t) => {
  const words = "printf 'Receiving objects:  10%% (1/10)\\rfatal: no https://u:s3cret@h/x\\n' >&2; exit 128";
  const error = await errorOf(runGit(fakeGit(t, words)));
  t.equal(error.code, "git");
  t.equal(error.message, "git work failed: fatal: no https://***@h/x");
});

t.test("git that cannot be started", async (t) => {
  const error = await errorOf(runGit({ ...common, environment: { PATH: "/nonexistent" } }));
  t.match({ code: error.code, message: error.message }, { code: "git", message: /cannot run git.*ENOENT/ });
  const nul = await errorOf(runGit({ ...common, args: ["a\0b"] }));
  t.equal(nul.code, "git");
});

t.test("limits end git and all processes that it started", async (t) => {
  // The background sleep would outlive git, and keep its pipes open.
  const hanging = "sleep 60 & echo $! > child; echo started; wait";
  const limits: readonly (readonly [name: string, options: Partial<RunOptions>, code: string, message: RegExp])[] = [
    ["timeout", { timeoutMs: 200 }, "git", /took longer than 200 ms/],
    ["silence", { silenceMs: 200 }, "git", /silent for more than 200 ms/],
    ["output", { outputBytesMax: 3 }, "git", /wrote more than 3 bytes/],
    ["stop", { stop: stopAfter(200) }, "cancelled", /was stopped/],
  ];
  for (const [name, options, code, message] of limits) {
    const fake = fakeGit(t, hanging);
    const error = await within(errorOf(runGit({ ...fake, ...options })), `${name}: in bounded time`, 50_000);
    t.match({ code: error.code, message: error.message }, { code, message }, name);
    const child = Number(readFileSync(join(fake.directory, "child"), "utf8"));
    await until(`${name}: no descendant is left`, () => !isRunning(child), 5_000);
  }
});

t.test("too much output is an error, also if git has exited before it is read", async (t) => {
  const fake = fakeGit(t, "echo $$ > pid; echo more than three");
  const failed = errorOf(runGit({ ...fake, outputBytesMax: 3 }));
  const pidFile = join(fake.directory, "pid");
  /** Its parent, this process, has not read how it ended. */
  const isZombie = (): boolean => {
    const pid = existsSync(pidFile) ? readFileSync(pidFile, "utf8").trim() : "";
    return pid !== "" && / Z /.test(readFileSync(`/proc/${pid}/stat`, "latin1"));
  };
  // No output is read meanwhile; then the timer comes first that sees that git has exited.
  const endMs = monotonicMs() + waitMsMax;
  while (!isZombie() && monotonicMs() < endMs);
  const timerMs = monotonicMs() + 100;
  while (monotonicMs() < timerMs);
  t.match((await failed).message, /wrote more than 3 bytes/);
});

t.test("exceeding a limit of the kernel: the error names the limit and the remedy", async (t) => {
  const loop = "while :; do :; done";
  const rows: readonly (readonly [name: string, script: string, bounds: Partial<ProcessLimits>, message: RegExp])[] = [
    ["processor time", loop, { cpuSecondsMax: 1 }, /^git work used more than 1 s of CPU time; request less/],
    [
      "processor time of a descendant",
      `(${loop}); echo "error: index-pack died of signal 24" >&2; exit 128`,
      { cpuSecondsMax: 1 },
      /used more than 1 s of CPU time/,
    ],
    [
      "size of a file",
      "exec head -c 3000000 /dev/zero >file",
      { fileBytesMax: 1 << 20 },
      /writing a file of more than 1048576 bytes; raise git.maxFetchBytes/,
    ],
    [
      "memory",
      "echo 'fatal: Out of memory, malloc failed (tried to allocate 9 bytes)' >&2; exit 128",
      { dataBytesMax: 64 << 20 },
      /needed more than 64 MiB of memory; .*git.maxMemoryBytes/,
    ],
  ];
  for (const [name, script, bounds, message] of rows) {
    const error = await errorOf(
      runGit({ ...fakeGit(t, script), process: { ...unlimited, ...bounds }, exitCodes: [128] }),
    );
    t.match({ code: error.code, message: error.message }, { code: "git", message }, name);
  }
});

t.test("the memory of git's regular expressions is limited", async (t) => {
  const repository = fixture(t);
  repository.commit({ branch: "main", files: { a: "1" } });
  const args = [`--git-dir=${repository.path}`, "rev-parse", "main^{/(((b{1,255}){1,255}){1,255})}"];
  // Without the limit it takes 17 GB and half a minute.
  const error = await errorOf(runGit({ ...common, args, process: { ...unlimited, dataBytesMax: 64 << 20 } }));
  t.equal(error.code, "git");
});

t.test("a guard ends git with its reason", async (t) => {
  const error = await within(
    errorOf(runGit({ ...fakeGit(t, "sleep 60"), guard: () => "is not wanted" })),
    "the end of git",
  );
  t.match({ code: error.code, message: error.message }, { code: "git", message: "git work is not wanted" });
});

t.test("git that ignores SIGTERM is killed", async (t) => {
  const fake = fakeGit(t, "trap '' TERM; while :; do sleep 1; done");
  const error = await within(errorOf(runGit({ ...fake, timeoutMs: 100 })), "the end of git");
  t.match(error.message, /took longer/);
});

t.test("a descendant that keeps the pipes open after success does not delay the caller", async (t) => {
  const { stdout } = await within(runGit(fakeGit(t, "echo done; setsid sleep 100 & exit 0")), "the end of git");
  t.equal(String(stdout), "done\n");
});

t.test("limits hold for a descendant that writes on after git has exited", async (t) => {
  const writing = "(while echo x; do sleep 0.05; done) & echo $! > child; echo $$ > pid; exit 0";
  let directory = "";
  const hasExited = (): boolean => {
    const file = join(directory, "pid");
    return existsSync(file) && readFileSync(file, "utf8") !== "" && !isRunning(Number(readFileSync(file, "utf8")));
  };
  const limits: readonly (readonly [name: string, options: Partial<RunOptions>, code: string, message: RegExp])[] = [
    ["timeout", { timeoutMs: 2_000 }, "git", /took longer than 2000 ms/],
    ["output", { outputBytesMax: 60 }, "git", /wrote more than 60 bytes/],
    ["stop", { stop: hasExited }, "cancelled", /was stopped/],
  ];
  for (const [name, options, code, message] of limits) {
    // On a busy machine it may not write for a second, which ends the wait for it.
    const run = async (attemptsLeft: number): Promise<unknown> => {
      const fake = fakeGit(t, writing);
      directory = fake.directory;
      const result = await within(
        runGit({ ...fake, ...options }).catch((error: unknown) => error),
        `${name}: in bounded time`,
        50_000,
      );
      return result instanceof TrawlError || attemptsLeft === 0 ? result : run(attemptsLeft - 1);
    };
    t.match(await run(20), { code, message }, name);
    const child = Number(readFileSync(join(directory, "child"), "utf8"));
    await until(`${name}: no descendant is left`, () => !isRunning(child), 5_000);
  }
});

t.test("no descriptor leaks if git's input was not ended", async (t) => {
  const pipes = (): number =>
    readdirSync("/proc/self/fd").filter((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`).startsWith("pipe:");
      } catch {
        return false;
      }
    }).length;
  const before = pipes();
  for (let i = 0; i < 3; i++) {
    const child = new GitChild({ ...common, args: ["version"] }, common, null);
    child.stdout.resume();
    t.equal(await child.ended, 0);
  }
  await until("the pipes are closed", () => pipes() <= before);
});

t.test("output that arrives while the thread is busy, after git has exited, is not lost", async (t) => {
  const folder = t.testdir({});
  const [isBusy, isWritten] = [join(folder, "busy"), join(folder, "written")];
  const script = `(until [ -e '${isBusy}' ]; do sleep 0.01; done; head -c 60000 /dev/zero; touch '${isWritten}') & exit 0`;
  const running = runGit(fakeGit(t, script));
  await sleep(300);
  // From here the loop continues with due timers, and only then reads.
  await new Promise((resolve) => setImmediate(resolve));
  writeFileSync(isBusy, "");
  const endMs = monotonicMs() + waitMsMax;
  while (!existsSync(isWritten) && monotonicMs() < endMs);
  t.equal((await running).stdout.length, 60_000);
});

t.test("lines of standard error arrive while git runs", async (t) => {
  const lines: string[] = [];
  const script = "printf 'a: 1%%\\ra: 2%%\\rb' >&2; sleep 0.1; printf 'c\\n' >&2";
  await runGit({ ...fakeGit(t, script), onErrorLine: (line) => lines.push(line) });
  t.strictSame(lines, ["a: 1%", "a: 2%", "bc"]);
});

t.test("git gets only our environment", async (t) => {
  process.env["GIT_DIR"] = "/tmp/elsewhere";
  process.env["GIT_SSH_COMMAND"] = "touch /tmp/owned";
  process.env["HTTPS_PROXY"] = "http://proxy.example.org";
  t.teardown(() => {
    delete process.env["GIT_DIR"];
    delete process.env["GIT_SSH_COMMAND"];
    delete process.env["HTTPS_PROXY"];
  });
  const of = (url: string) => remoteEnvironment(parseRemoteUrl(url), strictRemoteAccess);
  for (const environment of [localEnvironment(), of("/x"), of("https://example.org/x"), of("ssh://h/x")]) {
    t.notOk("GIT_DIR" in environment || "GIT_SSH_COMMAND" in environment, "nothing of ours leaks in");
    t.equal(environment["GIT_CONFIG_NOSYSTEM"], "1");
    t.equal(environment["HOME"], "/nonexistent");
  }
  t.equal(localEnvironment()["GIT_ALLOW_PROTOCOL"], "", "reading a mirror may use no transport");
  t.equal(of("/x")["GIT_ALLOW_PROTOCOL"], "file");
  t.equal(of("https://example.org/x")["GIT_ALLOW_PROTOCOL"], "https");
  t.equal(of("git@example.org:x")["GIT_ALLOW_PROTOCOL"], "ssh");
  t.equal(of("https://example.org/x")["HTTPS_PROXY"], "http://proxy.example.org");
  t.notOk("HTTPS_PROXY" in of("/x"));
});

t.test("git reads the configuration from the environment", async (t) => {
  const access = { ...strictRemoteAccess, home: "/home/x", credentialHelper: "store" };
  const environment = remoteEnvironment(parseRemoteUrl("https://ada:s3cret@example.org/x"), access);
  const value = (key: string): string =>
    execFileSync("git", ["config", "--get", key], { env: environment, cwd: "/" }).toString().trim();
  t.equal(value("core.hooksPath"), "/dev/null");
  t.equal(value("http.followRedirects"), "false");
  t.equal(value("credential.helper"), "store");
  t.match(value("http.https://example.org/.extraHeader"), /^Authorization: Basic /);
  t.equal(environment["HOME"], "/home/x");
});

function stopAfter(delayMs: number): () => boolean {
  const startMs = monotonicMs();
  return () => monotonicMs() - startMs > delayMs;
}
