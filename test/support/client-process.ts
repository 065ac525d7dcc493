import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Test } from "tap";
import { within } from "./waiting.js";

export interface ClientOrder {
  /** Open `count` connections and keep them, or let `count` clients send requests one after another. */
  readonly kind: "hold" | "repeat";
  readonly port: number;
  readonly path: string;
  readonly count: number;
  /** Number of addresses in 127.0.0.0/8 from which the clients connect in turn, at most 50,000. */
  readonly addressCount: number;
}

export interface ClientTally {
  opened: number;
  /** Connections that ended without a response. */
  cut: number;
  /** Connections that could not be established. */
  failed: number;
  /** Number of responses by status. */
  readonly statuses: Record<string, number>;
}

/** Many clients in a process of their own, so that they do not use the test's descriptors and processor time. */
export class ClientProcess {
  readonly #child: ChildProcess;

  /** Starts the process, which ends with the test. */
  constructor(t: Test) {
    this.#child = fork(fileURLToPath(new URL("client-entry.js", import.meta.url)));
    t.teardown(() => void this.#child.kill("SIGKILL"));
  }

  /** Resolves when all are connected, or when `leave` has ended the repeated requests. */
  async run(order: ClientOrder): Promise<void> {
    const done = this.#answer((message) => message === "done");
    this.#child.send(order);
    await done;
  }

  async tally(): Promise<ClientTally> {
    const answer = this.#answer((message) => typeof message === "object");
    this.#child.send("tally");
    return (await within(answer, "the tally of the clients")) as ClientTally;
  }

  /** Closes all connections, and stops sending requests. */
  async leave(): Promise<void> {
    const left = this.#answer((message) => message === "left");
    this.#child.send("leave");
    await within(left, "the end of the clients");
  }

  #answer(isIt: (message: unknown) => boolean): Promise<unknown> {
    return new Promise((resolve) => {
      const take = (message: unknown): void => {
        if (!isIt(message)) return;
        this.#child.off("message", take);
        resolve(message);
      };
      this.#child.on("message", take);
    });
  }
}
