import type { ChildProcess } from "node:child_process";
import { TrawlError } from "../../src/base/errors.js";
import { start } from "../system/processes.js";
import type { Subject, Trial } from "./bench.js";

/** The machine's limits for one file: a running limits.c. */
export class MachineLimits {
  readonly #child: ChildProcess;
  #waiting: ((line: string) => void)[] = [];
  #text = "";

  constructor(program: string, textPath: string) {
    this.#child = start(program, [textPath], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#child.on("close", () => this.#waiting.splice(0).forEach((answer) => answer("")));
  }

  /** A bare limit: a command of limits.c whose result, times `unitsPerResult`, is a trial's amount. */
  limit(name: string, command: string, unitsPerResult: number): Subject {
    return { name, result: undefined, run: () => this.#trial(command, (result) => result * unitsPerResult) };
  }

  /** A command that does the same work as the other subjects, and must find the same. */
  peer(name: string, command: string, amount: number): Subject {
    return {
      name,
      result: async () => String((await this.#ask(command)).result),
      run: () => this.#trial(command, () => amount),
    };
  }

  close(): void {
    this.#child.stdin?.end();
  }

  async #trial(command: string, amountOf: (result: number) => number): Promise<Trial> {
    const { seconds, result } = await this.#ask(command);
    return { amount: amountOf(result), seconds };
  }

  async #ask(command: string): Promise<{ readonly seconds: number; readonly result: number }> {
    const line = await new Promise<string>((resolve) => {
      this.#waiting.push(resolve);
      this.#child.stdin?.write(`${command}\n`);
    });
    const [nanoseconds, result] = line.split(" ").map(Number);
    if (nanoseconds === undefined || result === undefined)
      throw new TrawlError("internal", `limits.c does not answer ${command}`);
    return { seconds: nanoseconds / 1e9, result };
  }

  #take(bytes: Buffer): void {
    const lines = (this.#text + bytes.toString()).split("\n");
    this.#text = lines.pop() ?? "";
    for (const line of lines) this.#waiting.shift()?.(line);
  }
}
