import { rmSync, statSync } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import type { Command } from "commander";
import { addConnectionOptions, dataOption, print, wholeNumber } from "../terminal/command-options.js";
import { type TypedConnection, resolveConnection } from "../connection/connection.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { callDaemon } from "../connection/control-client.js";

interface TypedTop extends TypedConnection {
  readonly data: string;
  readonly once: boolean;
  readonly interval: number;
}

const intervalSecondsMax = 3_600;
const profileSecondsMax = 120;

/** Adds `trawl top`. */
export function addTop(program: Command): void {
  const command = program
    .command("top")
    .description(
      "Show what the daemon does: searches, requests, the index and memory, refreshed until q or Ctrl-C. With --endpoint, from its /metrics, without the searches that are running.",
    )
    .addOption(dataOption())
    .option("--once", "print one page, with averages since the start of the daemon", false)
    .option("--interval <seconds>", "time between two pages", wholeNumber(1, intervalSecondsMax), 2);
  addConnectionOptions(command).action(async (typed: TypedTop) => {
    const { controlSource, endpointSource } = await import("./samples.js");
    const { showTop, printOnce } = await import("./run-top.js");
    const source = typed.endpoint === undefined ? controlSource(typed.data) : endpointSource(resolveConnection(typed));
    const isShown = process.stdout.isTTY === true && process.stdin.isTTY === true && !typed.once;
    if (isShown) await showTop(source, typed.interval);
    else await printOnce(source);
  });
}

/** Adds `trawl profile` and `trawl heap-snapshot`. */
export function addProfile(program: Command): void {
  program
    .command("profile")
    .argument("<file>", "where to write it; the name should end in .cpuprofile")
    .addOption(dataOption())
    .option("--seconds <n>", "duration of the profile", wholeNumber(1, profileSecondsMax), 10)
    .description(
      "Write a CPU profile of all threads of the running daemon to a file, for the developer tools of Chrome and similar programs.",
    )
    .action(async (file: string, { data, seconds }: { data: string; seconds: number }) => {
      const byteCount = await saveFromDaemon(data, { path: "/profile", body: { seconds } }, file, "profile");
      print(`${file}: ${byteCount} bytes`);
    });
  program
    .command("heap-snapshot")
    .argument("<file>", "where to write it; the name should end in .heapsnapshot")
    .addOption(dataOption())
    .description(
      "Write a snapshot of the heap of the daemon's main thread to a file. For some seconds nothing is answered. It contains what is in memory, also secrets.",
    )
    .action(async (file: string, { data }: { data: string }) => {
      const byteCount = await saveFromDaemon(data, { path: "/heap-snapshot", body: {} }, file, "heap snapshot");
      print(`${file}: ${byteCount} bytes`);
    });
}

/** A process that is interrupted exits with this code, as shells expect. */
const interruptedCode = 130;

/**
 * Writes the text that the daemon sends to a file, readable by its owner only, and returns its size. The file appears when
 * it is complete: if the disk is full, or the command is interrupted, nothing is left. Throws `storage` if it cannot be
 * written, before the daemon is asked if that is known then.
 */
export async function saveFromDaemon(
  dataDirectory: string,
  { path, body }: { readonly path: string; readonly body: unknown },
  target: string,
  what: string,
): Promise<number> {
  const notWritten = (cause: unknown): TrawlError =>
    new TrawlError("storage", `no ${what} was written to ${target}: ${errorMessage(cause)}`, { cause });
  if (statSync(target, { throwIfNoEntry: false })?.isFile() === false) throw notWritten("it is not a file");
  const unfinished = `${target}.${process.pid}.unfinished`;
  const remove = (): void => rmSync(unfinished, { force: true });
  const onInterrupt = (): void => {
    remove();
    process.exit(interruptedCode);
  };
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, onInterrupt);
  try {
    const file = await open(unfinished, "wx", 0o600).catch((error: unknown) => {
      throw notWritten(error);
    });
    try {
      const byteCount = await receive(dataDirectory, { path, body }, file, notWritten);
      await rename(unfinished, target).catch((error: unknown) => {
        throw notWritten(error);
      });
      return byteCount;
    } catch (error) {
      remove();
      throw error;
    }
  } finally {
    for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, onInterrupt);
  }
}

async function receive(
  dataDirectory: string,
  call: { readonly path: string; readonly body: unknown },
  file: FileHandle,
  notWritten: (cause: unknown) => TrawlError,
): Promise<number> {
  let byteCount = 0;
  try {
    await callDaemon(dataDirectory, {
      method: "POST",
      ...call,
      progress: () => undefined,
      chunk: async (text) => {
        const bytes = Buffer.from(text);
        byteCount += bytes.length;
        await file.appendFile(bytes).catch((error: unknown) => {
          throw notWritten(error);
        });
      },
    });
    // Some file systems tell only now that the disk is full.
    await file.sync().catch((error: unknown) => {
      throw notWritten(error);
    });
    return byteCount;
  } finally {
    await file.close().catch(() => undefined);
  }
}
