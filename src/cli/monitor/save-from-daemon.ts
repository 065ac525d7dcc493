import { rmSync, statSync } from "node:fs";
import { type FileHandle, open, rename } from "node:fs/promises";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { callDaemon } from "../connection/control-client.js";

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
