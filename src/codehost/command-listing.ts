import { callAfter, sleep } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import { redactUrl } from "../git/run/remote-url.js";
import {
  type Ending,
  type ProcessLimits,
  type StartedProcess,
  startProcess,
  waitForEnding,
} from "../native/process/process.js";
import type { ConnectionConfig, Listing } from "./connection.js";
import { toListing } from "./repository-list.js";

const commandMsMax = 300_000;
const outputBytesMax = 16 * 1024 * 1024;
/** What is kept of standard error, for the message if the program fails. */
const errorTextMax = 1_000;

/** How long to wait for pipes to close after the program has ended: a descendant that has left its session may hold them open. */
const closeMs = 1_000;

/** Its time and output are limited here; its memory is the operator's matter. */
const processLimits: ProcessLimits = {
  dataBytesMax: Infinity,
  cpuSecondsMax: commandMsMax / 1000,
  fileBytesMax: Infinity,
  descriptorCountMax: 1024,
};

/** What the program gets of the daemon's environment: how to find programs, credentials of systemd, and the network. */
const variables = [
  ...["PATH", "HOME", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "CREDENTIALS_DIRECTORY", "SSH_AUTH_SOCK"],
  ...["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"],
  ...["SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH"],
];

/**
 * Runs a program that prints a list of repositories, in the form of `parseRepositoryList`. Its list counts only if it ends with
 * exit code 0. It is killed, with all that it has started, if it takes too long or writes too much, and what it leaves running
 * is killed when it ends.
 */
export async function listCommand(
  { command, maxRepositories }: Pick<ConnectionConfig, "command" | "maxRepositories">,
  signal: AbortSignal,
  timeoutMs = commandMsMax,
): Promise<Listing> {
  const [program = ""] = command;
  return toListing(await new CommandRun(command, signal, timeoutMs).end(), program, maxRepositories);
}

class CommandRun {
  readonly #program: string;
  readonly #process: StartedProcess;
  readonly #signal: AbortSignal;
  readonly #timeoutMs: number;
  readonly #parts: Buffer[] = [];
  #byteCount = 0;
  #errorText = "";
  #failure: TrawlError | undefined;

  /** Throws `bad-config` if the program cannot be started. */
  constructor([program = "", ...args]: readonly string[], signal: AbortSignal, timeoutMs: number) {
    signal.throwIfAborted();
    this.#program = program;
    this.#signal = signal;
    this.#timeoutMs = timeoutMs;
    this.#process = start(program, args);
  }

  /** What it has written when it has ended. */
  async end(): Promise<string> {
    const { stdin, stdout, stderr } = this.#process;
    for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
    const closed = Promise.all([stdout, stderr].map((one) => new Promise((resolve) => one.on("close", resolve))));
    stdin.end();
    stdout.on("data", (part: Buffer) => this.#take(part));
    stderr.on("data", (part: Buffer) => {
      this.#errorText = (this.#errorText + part.toString("utf8")).slice(0, errorTextMax);
    });
    const timer = callAfter(this.#timeoutMs, () => this.#fail("git", `took longer than ${this.#timeoutMs / 1000} s`));
    const stop = () => this.#fail("cancelled", "was stopped");
    this.#signal.addEventListener("abort", stop);
    try {
      const ending = await waitForEnding(this.#process);
      this.#kill();
      await Promise.race([closed, sleep(closeMs)]);
      this.#requireSuccess(ending);
      return Buffer.concat(this.#parts).toString("utf8");
    } finally {
      timer.cancel();
      this.#signal.removeEventListener("abort", stop);
      for (const stream of [stdin, stdout, stderr]) stream.destroy();
    }
  }

  #take(part: Buffer): void {
    this.#byteCount += part.length;
    if (this.#byteCount > outputBytesMax) this.#fail("git", `wrote more than ${outputBytesMax} bytes`);
    else this.#parts.push(part);
  }

  #fail(code: "git" | "cancelled", message: string): void {
    this.#failure ??= new TrawlError(code, `${this.#program} ${message}`);
    this.#kill();
  }

  #requireSuccess({ code, signal }: Ending): void {
    if (this.#failure !== undefined) throw this.#failure;
    if (code === 0) return;
    const how = signal === null ? `failed with exit code ${code}` : `was ended by ${signal}`;
    const text = redactUrl(this.#errorText.trim()).replaceAll(/\s+/g, " ");
    throw new TrawlError("git", `${this.#program} ${how}${text === "" ? "" : `: ${text}`}`);
  }

  /** Kills it and its descendants: it leads a session of its own. */
  #kill(): void {
    try {
      process.kill(-this.#process.pid, "SIGKILL");
    } catch {
      // All have ended.
    }
  }
}

function start(program: string, args: readonly string[]): StartedProcess {
  const environment = Object.fromEntries(
    variables.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  ) as Record<string, string>;
  try {
    return startProcess({ name: program, args, environment, directory: "/", limits: processLimits });
  } catch (error) {
    throw new TrawlError("bad-config", `the program ${program} cannot be run: ${errorMessage(error)}`, {
      cause: error,
    });
  }
}
