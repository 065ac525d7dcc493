import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * The running child processes. They and their descendants end with this process, however that ends.
 */
const running = new Set<ChildProcess>();

let isWatched = false;

/** Called when the first process is started: a program that starts none handles signals itself. */
function watchEnd(): void {
  if (isWatched) return;
  isWatched = true;
  process.on("exit", killAll);
  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
    ["SIGHUP", 129],
  ] as const) {
    process.on(signal, () => {
      console.error(`stopped by ${signal}`);
      process.exit(code);
    });
  }
}

export function start(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  watchEnd();
  const child = spawn(command, args, options);
  running.add(child);
  child.on("close", () => running.delete(child));
  child.on("error", () => running.delete(child));
  return child;
}

/** Kills all child processes and waits until they have ended. */
export async function endAll(): Promise<void> {
  const closed = [...running].map((child) => new Promise<void>((resolve) => child.once("close", () => resolve())));
  killAll();
  await Promise.all(closed);
}

function killAll(): void {
  for (const { pid } of running) {
    if (pid !== undefined) for (const each of [...readDescendants(pid), pid]) killOne(each);
  }
}

/** The process may have ended already. */
function killOne(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    return;
  }
}

/** The children of a process, their children, and so on. */
export function readDescendants(pid: number): number[] {
  const children = readTasks(pid).flatMap((task) => {
    try {
      return readFileSync(`/proc/${pid}/task/${task}/children`, "utf8")
        .trim()
        .split(" ")
        .filter((id) => id !== "")
        .map(Number);
    } catch {
      return [];
    }
  });
  return children.flatMap((child) => [...readDescendants(child), child]);
}

/** The ids of its threads; [] when it has ended. */
export function readTasks(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

/** Resolves with the exit code once the process has ended and its output is read. Kills it after `timeoutMs`. */
export function ended(child: ChildProcess, timeoutMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => child.kill("SIGKILL"), timeoutMs);
    child.on("error", reject);
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      if (code === null) reject(new TrawlError("cancelled", `${child.spawnargs.join(" ")} ended by ${signal}`));
      else resolve(code);
    });
  });
}

/**
 * Starts a server and resolves with its address once it has printed a line that the pattern finds it in; what it prints
 * later is dropped. It ends with this process. Throws when it ends before.
 */
export async function startServer(
  program: string,
  args: readonly string[],
  { pattern = /^(http:\S+)$/, log = "inherit" as number | "inherit", env = {} as NodeJS.ProcessEnv } = {},
): Promise<{ readonly url: string; readonly child: ChildProcess }> {
  const child = start(process.execPath, [program, ...args], {
    stdio: ["ignore", "pipe", log],
    env: { ...process.env, ...env },
  });
  for await (const line of createInterface({ input: child.stdout as NodeJS.ReadableStream })) {
    const url = pattern.exec(line)?.[1];
    if (url === undefined) continue;
    child.stdout?.resume();
    return { url, child };
  }
  throw new TrawlError("internal", `${program} ${args.join(" ")} did not start`);
}

/** Runs a command to its end and returns what it printed; throws unless its exit code is 0. */
export async function run(
  command: string,
  args: readonly string[],
  input: string | Buffer | Iterable<Buffer>,
): Promise<string> {
  const child = start(command, args, { stdio: ["pipe", "pipe", "pipe"] });
  const parts: Buffer[] = [];
  const complaints: Buffer[] = [];
  child.stdout?.on("data", (part: Buffer) => parts.push(part));
  child.stderr?.on("data", (part: Buffer) => complaints.push(part));
  child.stdin?.on("error", () => {});
  const code = ended(child, commandTimeoutMs);
  if (typeof input === "string" || Buffer.isBuffer(input)) child.stdin?.write(input);
  else for (const part of input) child.stdin?.write(part);
  child.stdin?.end();
  if ((await code) === 0) return Buffer.concat(parts).toString();
  throw new TrawlError("internal", `${command} ${args.join(" ")}: ${Buffer.concat(complaints).toString().trim()}`);
}

/**
 * Wall milliseconds of a whole process that writes to /dev/null. A shell starts it and reads the clock, because starting
 * a process from this large one takes milliseconds that are not the command's.
 */
export async function timeCommand(command: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  const script =
    'from=$EPOCHREALTIME; "$@" >/dev/null 2>&1 </dev/null; code=$?; to=$EPOCHREALTIME; echo "${from/[.,]/} ${to/[.,]/} $code"';
  const child = start("bash", ["-c", script, "bash", ...command], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...environment },
  });
  let text = "";
  child.stdout?.on("data", (part: Buffer) => {
    text += part.toString();
  });
  await ended(child, commandTimeoutMs);
  const [from = NaN, to = NaN, code = NaN] = text.trim().split(" ").map(Number);
  if (code > 1) throw new TrawlError("internal", `${command.join(" ")} ended with ${code}`);
  return (to - from) / 1000;
}

const commandTimeoutMs = 600_000;

/** This checkout; this file is `dist/native-bench/system/folders.js` in it. */
export const checkoutFolder = fileURLToPath(new URL("../../..", import.meta.url)).replace(/\/$/, "");

/** A folder for this process, deleted when it ends. Also deletes those of processes that could not do so. */
export function makeWorkFolder(cache: string): string {
  for (const name of readdirSync(cache)) {
    const pid = /^run-(\d+)-/.exec(name)?.[1];
    if (pid !== undefined && !isAlive(Number(pid))) rmSync(join(cache, name), { recursive: true, force: true });
  }
  const folder = mkdtempSync(join(cache, `run-${process.pid}-`));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  return folder;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/**
 * Compiles a C program of this checkout for this machine, `source` being its path there, and returns the program's
 * path. The compiler is `$CC` or cc; throws `not-found` with its complaint.
 */
export async function compileProgram(source: string, workFolder: string): Promise<string> {
  const program = join(workFolder, basename(source, ".c"));
  const [compiler = "cc", ...flags] = (process.env["CC"] || "cc").split(" ");
  try {
    await run(
      compiler,
      [...flags, "-std=gnu11", "-O3", "-march=native", "-o", program, join(checkoutFolder, source)],
      "",
    );
  } catch (error) {
    throw new TrawlError("not-found", `${compiler} does not compile ${source}: ${errorMessage(error)}`, {
      cause: error,
    });
  }
  return program;
}
