import { Session } from "node:inspector/promises";
import type { Profiler as Cpu } from "node:inspector";
import { getHeapSnapshot } from "node:v8";
import { sleep } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { mergedProfile, type ThreadProfile } from "./merged-profile.js";

/** Longest profile, in seconds: with a sample in each millisecond, a thread has 8 bytes of JSON for each. */
export const profileSecondsMax = 120;

/** Interval between two samples of a thread, in microseconds. */
const samplingMicroseconds = 1_000;

/** A thread that does not answer within this time after the end of the profile is left out. */
const answerMs = 10_000;

export interface ProfiledThreads {
  /** What runs in a thread with this number. */
  readonly nameOf: (threadId: number) => string | undefined;
}

/**
 * Looks into the running process by the protocol of V8's inspector, without opening a port: the main thread through a
 * session of its own, and the worker threads through messages that interrupt them, also while they run a task.
 */
export class Profiler {
  readonly #nameOf: ProfiledThreads["nameOf"];
  #isBusy = false;

  constructor({ nameOf }: ProfiledThreads) {
    this.#nameOf = nameOf;
  }

  /** Sends a CPU profile of all threads that exist at its begin, as Chrome's developer tools read it. */
  async profile(seconds: number, signal: AbortSignal, send: (text: string) => Promise<void>): Promise<void> {
    await this.#alone(async () => {
      const session = new Session();
      session.connect();
      try {
        for (const part of mergedProfile(await this.#sample(session, seconds, signal))) await send(part);
      } finally {
        session.disconnect();
      }
    });
  }

  /** Sends a snapshot of the heap of the main thread, which does nothing else while V8 takes it. */
  async heapSnapshot(signal: AbortSignal, send: (text: string) => Promise<void>): Promise<void> {
    await this.#alone(async () => {
      const snapshot = getHeapSnapshot();
      snapshot.setEncoding("utf8");
      try {
        for await (const text of snapshot as AsyncIterable<string>) {
          if (signal.aborted) return;
          await send(text);
        }
      } finally {
        snapshot.destroy();
      }
    });
  }

  async #alone(work: () => Promise<void>): Promise<void> {
    if (this.#isBusy)
      throw new TrawlError("conflict", "another profile or heap snapshot is being taken; try again when it has ended");
    this.#isBusy = true;
    try {
      await work();
    } finally {
      this.#isBusy = false;
    }
  }

  async #sample(session: Session, seconds: number, signal: AbortSignal): Promise<readonly ThreadProfile[]> {
    const workers = new WorkerSessions(session);
    await workers.attach();
    const threads = workers.threads.map(({ sessionId, threadId }) => ({
      name: `${this.#nameOf(threadId) ?? "other"} thread ${threadId}`,
      ask: (method: string, parameters?: object) => workers.ask(sessionId, method, parameters),
    }));
    const all = [{ name: "main thread", ask: (method: string, to = {}) => session.post(method, to) }, ...threads];
    await Promise.all(all.map(({ ask }) => before(answerMs, begin(ask)).catch(() => undefined)));
    await sleep(seconds * 1_000, signal);
    if (signal.aborted) throw new TrawlError("cancelled", "the caller has disconnected");
    const profiles = await Promise.all(
      all.map(async ({ name, ask }): Promise<ThreadProfile | undefined> => {
        try {
          const { profile } = (await before(answerMs, ask("Profiler.stop"))) as { profile: Cpu.Profile };
          await ask("Profiler.disable");
          return { name, profile };
        } catch {
          // The thread has ended, or hangs in a system call.
          return undefined;
        }
      }),
    );
    return profiles.filter((one) => one !== undefined);
  }
}

type Ask = (method: string, parameters?: object) => Promise<unknown>;

async function begin(ask: Ask): Promise<void> {
  await ask("Profiler.enable");
  await ask("Profiler.setSamplingInterval", { interval: samplingMicroseconds });
  await ask("Profiler.start");
}

/** Rejects if the work takes longer. */
async function before<T>(limitMs: number, work: Promise<T>): Promise<T> {
  const done = new AbortController();
  const late = sleep(limitMs, done.signal).then(() => {
    throw new TrawlError("cancelled", "a thread did not answer in time");
  });
  late.catch(() => undefined);
  try {
    return await Promise.race([work, late]);
  } finally {
    done.abort();
  }
}

interface WorkerSession {
  readonly sessionId: string;
  readonly threadId: number;
}

/** The part of the protocol that passes messages to the sessions of worker threads; its types are not those of Node. */
class WorkerSessions {
  readonly #session: Session;
  readonly #waiting = new Map<string, (message: { readonly result?: unknown; readonly error?: unknown }) => void>();
  readonly threads: WorkerSession[] = [];
  #nextId = 1;

  constructor(session: Session) {
    this.#session = session;
    session.on("NodeWorker.attachedToWorker", ({ params: { sessionId, workerInfo } }) => {
      const threadId = Number(/^\[worker ([0-9]{1,9})\]/.exec(workerInfo.title)?.[1] ?? workerInfo.workerId);
      this.threads.push({ sessionId, threadId });
    });
    session.on("NodeWorker.receivedMessageFromWorker", ({ params: { sessionId, message } }) => {
      const answer = JSON.parse(message) as {
        readonly id?: number;
        readonly result?: unknown;
        readonly error?: unknown;
      };
      const key = `${sessionId} ${answer.id}`;
      this.#waiting.get(key)?.(answer);
      this.#waiting.delete(key);
    });
  }

  /** Knows the threads that exist when it resolves. */
  async attach(): Promise<void> {
    await this.#session.post("NodeWorker.enable", { waitForDebuggerOnStart: false });
  }

  async ask(sessionId: string, method: string, params: object = {}): Promise<unknown> {
    const id = this.#nextId++;
    const answer = new Promise<{ readonly result?: unknown; readonly error?: unknown }>((resolve) => {
      this.#waiting.set(`${sessionId} ${id}`, resolve);
    });
    const message = JSON.stringify({ id, method, params });
    await this.#session.post("NodeWorker.sendMessageToWorker", { sessionId, message });
    const { result, error } = await answer;
    if (error !== undefined) throw new TrawlError("internal", errorMessage(error));
    return result;
  }
}
