/** A process that has one store open and executes commands: test/support/store-entry.ts. */
import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import { within } from "./waiting.js";

export class StoreProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #answers: AsyncIterator<string>;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    child.stdin.on("error", () => undefined);
    this.#answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  }

  /** `store` is "records" or "shards". */
  static async start(
    store: string,
    folder: string,
    variables: Readonly<Record<string, string>> = {},
  ): Promise<StoreProcess> {
    const entry = fileURLToPath(new URL("./store-entry.js", import.meta.url));
    const opened = new StoreProcess(
      spawn(process.execPath, [entry, store, folder], {
        stdio: ["pipe", "pipe", "inherit"],
        env: { ...process.env, ...variables },
      }),
    );
    await opened.#answer();
    return opened;
  }

  /** A number writes the value of that id; "hold" starts a read that does not end; "readers" lists reader slots. */
  async ask(command: string): Promise<string> {
    this.#child.stdin.write(`${command}\n`);
    return await this.#answer();
  }

  /** Kills the process with SIGKILL. */
  async end(): Promise<void> {
    const ended = once(this.#child, "exit");
    if (this.#child.exitCode === null && this.#child.signalCode === null && this.#child.kill("SIGKILL")) await ended;
  }

  async #answer(): Promise<string> {
    const { value } = await within(this.#answers.next(), "an answer of a process with a store");
    return String(value);
  }
}
