import type { ChildProcess } from "node:child_process";
import { monotonicMs } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { Results } from "../report/results.js";
import { start } from "../system/processes.js";

/** One piece of work, done in several ways. */
export interface MicroBench {
  readonly task: string;
  /** Of `Trial.amount`, a second. */
  readonly unit: string;
  /** Ours first; the others are compared with it. */
  readonly subjects: readonly Subject[];
}

/** One way to do it. */
export interface Subject {
  readonly name: string;
  /** What it finds, compared with the others' before any time counts; undefined for a limit of the machine. */
  readonly result: (() => Promise<string> | string) | undefined;
  /** Does the work once. */
  readonly run: () => Promise<Trial> | Trial;
}

export interface Trial {
  readonly amount: number;
  readonly seconds: number;
}

/** A subject whose work always has the same amount; `find` returns what is compared. */
export function working(name: string, amount: number, find: () => number | string): Subject {
  const run = (): Trial => {
    const fromMs = monotonicMs();
    find();
    return { amount, seconds: (monotonicMs() - fromMs) / 1000 };
  };
  return { name, result: () => String(find()), run };
}

/**
 * Compares what the subjects find, then measures them in turn, round after round, so that other load on the machine
 * affects each alike. The first round does not count. In a round each subject works once, and until `roundMs` are over.
 */
export async function measureBench(
  group: string,
  { task, unit, subjects }: MicroBench,
  { rounds, roundMs }: { readonly rounds: number; readonly roundMs: number },
  results: Results,
): Promise<void> {
  const name = `${group}: ${task}`;
  const found: { readonly subject: string; readonly result: string }[] = [];
  for (const { name: subject, result } of subjects)
    if (result !== undefined) found.push({ subject, result: await result() });
  if (found.some(({ result }) => result !== found[0]?.result)) {
    const all = found.map(({ subject, result }) => `${subject}: ${result}`).join(", ");
    results.note(`${name}: the results differ (${all}), so there is no ratio.`);
    for (const { name: subject } of subjects) results.setIncomparable(name, subject);
  }
  const rates = subjects.map((): number[] => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, subject] of subjects.entries()) {
      const rate = await measureRate(subject, roundMs);
      if (round > 0) rates[i]?.push(rate);
    }
  }
  for (const [i, { name: subject }] of subjects.entries()) results.more(name, subject, `${unit}/s`, rates[i] ?? []);
}

async function measureRate(subject: Subject, roundMs: number): Promise<number> {
  let amount = 0;
  let seconds = 0;
  do {
    const trial = await subject.run();
    amount += trial.amount;
    seconds += trial.seconds;
  } while (seconds * 1000 < roundMs);
  return amount / seconds;
}

/** The machine's limits for one file: a running limits.c. */
export class MachineLimits {
  readonly #child: ChildProcess;
  readonly #waiting: ((line: string) => void)[] = [];
  #text = "";

  constructor(program: string, textPath: string) {
    this.#child = start(program, [textPath], { stdio: ["pipe", "pipe", "inherit"] });
    this.#child.stdin?.on("error", () => {});
    this.#child.stdout?.on("data", (bytes: Buffer) => this.#take(bytes));
    this.#child.on("close", () => this.#waiting.splice(0).forEach((answer) => answer("")));
  }

  /** A bare limit: a command of limits.c whose result, times `unitsPerResult`, is a trial's amount. */
  limit(name: string, command: string, unitsPerResult: number): Subject {
    const run = async (): Promise<Trial> => {
      const { seconds, result } = await this.#ask(command);
      return { amount: result * unitsPerResult, seconds };
    };
    return { name, result: undefined, run };
  }

  /** A command that does the same work as the other subjects, and must find the same. */
  peer(name: string, command: string, amount: number): Subject {
    const run = async (): Promise<Trial> => ({ amount, seconds: (await this.#ask(command)).seconds });
    return { name, result: async () => String((await this.#ask(command)).result), run };
  }

  close(): void {
    this.#child.stdin?.end();
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
