import type { BigIntStats } from "node:fs";
import { open, stat, type FileHandle } from "node:fs/promises";
import { errorMessage, TrawlError } from "../base/errors.js";

/** Limit on queued lines; a further one is refused. At 200 bytes each they take 2 MB. */
const waitingLinesMax = 10_000;

interface WaitingLine {
  readonly text: string;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A file of lines that only its owner may read; the promise of each line resolves when it is durable.
 *
 * Lines that arrive while others are being written are written together with one fdatasync: a line waits for at most
 * two of them, and thousands of lines per second share a few hundred. Writing and syncing run on libuv's threads.
 */
export class LineFile {
  readonly #path: string;
  #handle: FileHandle | undefined;
  #identity = "";
  #waiting: WaitingLine[] = [];
  #written: Promise<void> | undefined;
  /** A failed write may have left an incomplete line. */
  #endsInPart = false;

  constructor(path: string) {
    this.#path = path;
  }

  /** Rejects with `storage` if the line cannot be written, and with `overloaded` if too many are queued. */
  append(text: string): Promise<void> {
    if (this.#waiting.length >= waitingLinesMax) {
      return Promise.reject(
        new TrawlError(
          "overloaded",
          `${waitingLinesMax} lines are waiting to be written to ${this.#path}; try again in a moment`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      this.#written ??= this.#writeAll();
    });
  }

  /** Resolves when all lines so far have been written or refused. */
  async settled(): Promise<void> {
    await this.#written;
  }

  /** Writes the queued lines and closes the file; a later line opens it again. */
  async close(): Promise<void> {
    await this.#written;
    const handle = this.#handle;
    this.#handle = undefined;
    await handle?.close();
  }

  /** If the file was renamed, as logrotate does, or deleted, it is closed, and the next line starts a new file. */
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
    // Immediately: a caller whose line has just been confirmed may append the next one before a callback of this
    // promise runs.
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

/** Identifies a file independently of its name. */
async function fileIdentity(stat: Promise<BigIntStats>): Promise<string> {
  const { dev, ino } = await stat;
  return `${dev}:${ino}`;
}

/** A pipe or a device, which an operator may use instead of a file, cannot be synced. */
function ignoreUnsyncable(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
}
