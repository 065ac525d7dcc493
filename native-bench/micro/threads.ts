import { once } from "node:events";
import { Worker, type MessagePort } from "node:worker_threads";
import { Piscina } from "piscina";
import { ControlBlock } from "../../src/protocol/control-block.js";
import { timedAsync, type BenchGroup, type MicroBench, type Subject } from "./bench.js";
import type { Fixture } from "./fixture.js";
import type { EchoOrder, Introduction, PourOrder, PourWay } from "./transfer-worker.js";

const ways: readonly PourWay[] = ["lent", "transferred", "cloned"];

const kibibyte = 1024;
const megabyte = 1e6;
const roundTripCount = 200;

/** Bytes that one trial transfers. */
const pouredBytes = 32 * 1024 * kibibyte;

/** As in a search: bytes in flight. */
const creditBytes = 512 * kibibyte;

/** How long a worker without credit waits before it checks again. */
const creditWaitMs = 1000;

/**
 * The cost of transferring bytes from a worker to the main thread, at the sizes of a search's batches, and of running a
 * task. The limit of the former is copying as many bytes, which stands for writing a batch.
 */
export async function threadGroups(fixture: Fixture): Promise<BenchGroup[]> {
  const worker = new Worker(new URL("./transfer-worker.js", import.meta.url));
  const [{ returnPort }] = (await once(worker, "message")) as [Introduction];
  const pool = new Piscina<undefined, undefined>({
    filename: new URL("./echo-worker.js", import.meta.url).href,
    name: "echo",
    minThreads: 1,
    maxThreads: 1,
    atomics: "disabled",
    recordTiming: false,
  });
  const copying = fixture.limit("copying", "copy", 1 / megabyte);
  const batches: MicroBench[] = [32, 64, 128].map((size) => ({
    task: `${size} KiB from thread to thread`,
    unit: "MB",
    subjects: [...ways.map((way) => pouring(worker, returnPort, way, size * kibibyte)), ...copying],
  }));
  const tasks: MicroBench[] = [
    { task: "task and answer", unit: "round trips", subjects: [piscinaRoundTrips(pool), messageRoundTrips(worker)] },
  ];
  const close = async (): Promise<void> => {
    returnPort.close();
    await worker.terminate();
    await pool.destroy();
  };
  return [
    { title: "From thread to thread", benches: batches, close: async () => {} },
    { title: "Tasks", benches: tasks, close },
  ];
}

/** The worker sends batches as far as its credit goes; each one that arrives gives its credit back, and lent memory. */
function pouring(worker: Worker, returnPort: MessagePort, way: PourWay, batchBytes: number): Subject {
  const control = ControlBlock.allocate(0, creditBytes, creditWaitMs);
  const pour = async (): Promise<number> => {
    const order: PourOrder = {
      kind: "pour",
      way,
      batchBytes,
      count: Math.ceil(pouredBytes / batchBytes),
      control: control.memory,
    };
    let bytes = 0;
    await new Promise<void>((resolve) => {
      const receive = (batch: Uint8Array): void => {
        const { length } = batch;
        const memory = batch.buffer as ArrayBuffer;
        bytes += length;
        if (way === "lent") returnPort.postMessage(memory, [memory]);
        control.giveCredit(length);
        if (bytes < order.count * batchBytes) return;
        worker.off("message", receive);
        resolve();
      };
      worker.on("message", receive);
      worker.postMessage(order);
    });
    return bytes;
  };
  return {
    name: way,
    result: async () => String(await pour()),
    run: () => timedAsync(async () => (await pour()) / megabyte),
  };
}

function piscinaRoundTrips(pool: Piscina<undefined, undefined>): Subject {
  return roundTrips("Piscina", () => pool.run(undefined));
}

function messageRoundTrips(worker: Worker): Subject {
  const order: EchoOrder = { kind: "echo" };
  return roundTrips(
    "messages",
    () =>
      new Promise<void>((resolve) => {
        worker.once("message", () => resolve());
        worker.postMessage(order);
      }),
  );
}

function roundTrips(name: string, trip: () => Promise<void>): Subject {
  const all = async (): Promise<number> => {
    for (let i = 0; i < roundTripCount; i++) await trip();
    return roundTripCount;
  };
  return { name, result: undefined, run: () => timedAsync(all) };
}
