import type { BigIntStats } from "node:fs";
import { open, stat, type FileHandle } from "node:fs/promises";
import { errorMessage, TrawlError } from "../base/errors.js";

/** Lines that wait for the disk; a further one is refused. At 200 bytes each they hold 2 MB. */
const waitingLinesMax = 10_000;

interface WaitingLine {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A file of lines that only its owner may read, each on the disk when its promise resolves.
 *
 * Lines that come while others are being written are written together, with one fdatasync: a line waits for two of them
 * at most, and thousands a second share some hundred. Writing and syncing happen on libuv's threads.
 */
export class LineFile {
  readonly #path: string;
  #handle: FileHandle | undefined;
  #identity = "";
  #waiting: WaitingLine[] = [];
  #written: Promise<void> | undefined;
  /** A write that failed may have left a part of a line. */
  #endsInPart = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Rejects with `storage` when the line cannot be written, and with `overloaded` when too many wait. */
  append(text: string): Promise<void> {
    if (this.#waiting.length >= waitingLinesMax) {
      return Promise.reject(
        new TrawlError(
          "overloaded",
          `${waitingLinesMax} lines wait to be written to ${this.#path}; try again in a moment`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      this.#written ??= this.#writeAll();
    });
  }

  /** Resolves when the lines so far are written or refused. */
  async settled(): Promise<void> {
    await this.#written;
  }

  /** Writes what waits, and closes the file; a later line opens it again. */
  async close(): Promise<void> {
    await this.#written;
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  /** A file that was renamed, as logrotate does, or deleted is left, and the next line begins a new one. */
  async #closeIfMoved(): Promise<void> {
    if (
      this.#handle === undefined ||
      (await fileIdentity(stat(this.#path, bigStat)).catch(() => "")) === this.#identity
    )
      return;
    const handle = this.#handle;
    this.#handle = undefined;
    this.#endsInPart = false;
    await handle.close();
  }

  async #writeAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write(lines.map(({ text }) => `${text}\n`).join(""));
        for (const { resolve } of lines) resolve();
      } catch (error) {
        this.#endsInPart = true;
        const failure = new TrawlError("storage", `cannot write ${this.#path}: ${errorMessage(error)}`, {
          cause: error,
        });
        for (const { reject } of lines) reject(failure);
      }
    }
    // At once: whoever was told of its line above may append the next one before a callback of this promise runs.
    this.#written = undefined;
  }

  async #write(text: string): Promise<void> {
    await this.#closeIfMoved();
    if (this.#handle === undefined) {
      this.#handle = await open(this.#path, "a", 0o600);
      this.#identity = await fileIdentity(this.#handle.stat(bigStat));
    }
    await this.#handle.appendFile(this.#endsInPart ? `\n${text}` : text);
    this.#endsInPart = false;
    await this.#handle.datasync().catch(ignoreUnsyncable);
  }
}

const bigStat = { bigint: true } as const;

/** What tells one file from another, whatever their names are. */
async function fileIdentity(stat: Promise<BigIntStats>): Promise<string> {
  const { dev, ino } = await stat;
  return `${dev}:${ino}`;
}

/** A pipe or a device, where an operator puts one for the file, has nothing to sync. */
function ignoreUnsyncable(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
}
