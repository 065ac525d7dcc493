import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";
import { uninitializedBytes } from "../../base/bytes.js";
import type { SymbolFault } from "../../model/shard-record.js";
import type { StopSignal } from "../../base/stop-signal.js";
import { startProcess, type ProcessLimits, type StartedProcess } from "../../native/process/process.js";
import { ctagsArguments, ctagsEnvironment, newMark, type CtagsProgram } from "./ctags-program.js";

/** Why a text has no symbols. */
export type ExtractionFault = SymbolFault | "stopped";

/** A text and the ctags parser for it. */
export interface ParsedText {
  readonly fileName: string;
  readonly text: Uint8Array;
}

const pollMs = 20;

/** How long one text may take. */
export interface TextLimits {
  /** Processor time of ctags: on a busy host, a text is not blamed for what other processes take. */
  readonly cpuMs: number;
  /** Elapsed time: ends a ctags that waits for something that does not come. */
  readonly wallMs: number;
}

/** Of all that ctags writes for one window of texts: a million symbols with long names. */
const outputBytesMax = 256 * 1024 * 1024;

/** ctags needs 5 MiB, and a copy of the text. A parser may need much more than that for each byte. */
const processLimits: ProcessLimits = {
  dataBytesMax: 1024 * 1024 * 1024,
  cpuSecondsMax: 3600,
  fileBytesMax: 0,
  descriptorCountMax: 64,
};

const completed = Buffer.from('{"_type": "completed"');
const lineFeed = 10;

/** What a window of texts yielded: the records of the first ones, and what went wrong after them, if anything. */
export interface WindowOutcome {
  readonly outputs: readonly Buffer[];
  readonly fault: ExtractionFault | undefined;
}

/**
 * One running ctags. It parses one window of texts at a time; after a fault it is killed and cannot be used again.
 * `close` is idempotent and kills it.
 */
export class CtagsChild {
  /** Begins each record of its output. */
  readonly mark = newMark();
  /** Texts that it has parsed. */
  parsedCount = 0;
  readonly #process: StartedProcess;
  readonly #limits: TextLimits;
  readonly #stop: StopSignal;
  #watch: PendingCall | undefined;
  #isClosed = false;
  #hasEnded = false;
  #isGreeted = false;
  #bytes: Buffer = uninitializedBytes(64 * 1024);
  #length = 0;
  #searched = 0;
  #outputs: Buffer[] = [];
  #wantedCount = 0;
  /** When the last output was complete, and the processor time that ctags had used then. */
  #progressMs = 0;
  #progressCpuMs: number | undefined;
  #settle: ((outcome: WindowOutcome) => void) | undefined;

  /** Throws `internal` if ctags cannot be started. */
  constructor(program: CtagsProgram, limits: TextLimits, stop: StopSignal) {
    this.#limits = limits;
    this.#stop = stop;
    this.#process = startProcess({
      name: basename(program.command),
      args: ctagsArguments(program, this.mark),
      environment: ctagsEnvironment(program.command),
      directory: "/",
      limits: processLimits,
    });
    const { stdin, stdout, stderr } = this.#process;
    // Whatever goes wrong with the streams also closes the output.
    for (const stream of [stdin, stdout, stderr]) stream.on("error", () => undefined);
    stderr.resume();
    stdout.on("data", (part: Buffer) => this.#take(part));
    stdout.on("close", () => this.#end());
  }

  /** Parses the texts in order. Resolves at the end of the last one, or at the first fault. */
  parse(texts: readonly ParsedText[]): Promise<WindowOutcome> {
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#outputs = [];
      this.#wantedCount = texts.length;
      this.#progress();
      if (this.#isClosed || this.#hasEnded) return this.#finish("crash");
      this.#watch = callEvery(pollMs, () => this.#check());
      // Written together, so that few calls of the system are needed.
      this.#process.stdin.cork();
      for (const { fileName, text } of texts) {
        const request = { command: "generate-tags", filename: fileName, size: text.length };
        this.#process.stdin.write(`${JSON.stringify(request)}\n`);
        this.#process.stdin.write(text);
      }
      this.#process.stdin.uncork();
    });
  }

  /** Kills it. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#watch?.cancel();
    try {
      process.kill(-this.#process.pid, "SIGKILL");
    } catch {
      // It has ended.
    }
    this.#process.stdin.destroy();
    this.#process.stderr.destroy();
    this.#reap();
  }

  /** Its id is not free for another process before its ending was read. */
  #reap(): void {
    const poll = callEvery(pollMs, () => {
      if (this.#process.ending() === null) return;
      poll.cancel();
      this.#process.stdout.destroy();
    });
  }

  #end(): void {
    this.#hasEnded = true;
    this.#finish("crash");
    this.close();
  }

  #check(): void {
    if (this.#stop()) this.#finish("stopped");
    else if (this.#isLate()) this.#finish("time");
  }

  #progress(): void {
    this.#progressMs = monotonicMs();
    this.#progressCpuMs = undefined;
  }

  /** The processor time of a text is counted from the first check after the last one was complete. */
  #isLate(): boolean {
    const elapsedMs = monotonicMs() - this.#progressMs;
    if (elapsedMs > this.#limits.wallMs) return true;
    const cpuMs = processorMs(this.#process.pid);
    this.#progressCpuMs ??= cpuMs;
    return cpuMs - this.#progressCpuMs > this.#limits.cpuMs;
  }

  /** Ends the window. */
  #finish(fault: ExtractionFault | undefined): void {
    const settle = this.#settle;
    if (settle === undefined) return;
    this.#settle = undefined;
    this.#watch?.cancel();
    const outputs = this.#outputs;
    this.parsedCount += outputs.length;
    if (fault !== undefined) this.close();
    settle({ outputs, fault });
  }

  #take(part: Buffer): void {
    if (this.#isClosed) return;
    if (this.#settle === undefined && this.#isGreeted) {
      // Output that nobody asked for: the next window would take it for its own.
      this.#end();
      return;
    }
    if (this.#length + part.length > outputBytesMax) return this.#finish("output");
    this.#reserve(part.length);
    part.copy(this.#bytes, this.#length);
    this.#length += part.length;
    if (this.#isGreeted || this.#skipGreeting()) this.#split();
  }

  #reserve(byteCount: number): void {
    if (this.#length + byteCount <= this.#bytes.length) return;
    const grown = uninitializedBytes(2 * (this.#length + byteCount));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }

  /** The first line names the program. */
  #skipGreeting(): boolean {
    const end = this.#bytes.subarray(0, this.#length).indexOf(lineFeed);
    if (end < 0) return false;
    this.#isGreeted = true;
    this.#drop(end + 1);
    return true;
  }

  /** Takes the output of each text that is complete. */
  #split(): void {
    for (;;) {
      const bytes = this.#bytes.subarray(0, this.#length);
      const at = bytes.indexOf(completed, this.#searched);
      const end = at < 0 ? -1 : bytes.indexOf(lineFeed, at);
      if (end < 0) {
        this.#searched = at < 0 ? Math.max(0, this.#length - completed.length) : at;
        return;
      }
      this.#searched = end + 1;
      if (at > 0 && bytes[at - 1] !== lineFeed) continue;
      this.#outputs.push(Buffer.from(bytes.subarray(0, at)));
      this.#progress();
      this.#drop(end + 1);
      if (this.#outputs.length < this.#wantedCount) continue;
      return this.#finish(this.#length > 0 ? "garbage" : undefined);
    }
  }

  #drop(byteCount: number): void {
    this.#bytes.copy(this.#bytes, 0, byteCount, this.#length);
    this.#length -= byteCount;
    this.#searched = 0;
  }
}

/** Processor time that a process has used, in steps of 10 ms; 0 if it has ended. */
function processorMs(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // See proc_pid_stat(5). Only the name of the program, in parentheses, can have spaces.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return 10 * (Number(fields[11]) + Number(fields[12]));
  } catch {
    return 0;
  }
}
