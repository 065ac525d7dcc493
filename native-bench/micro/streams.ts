import type { ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { TrawlError } from "../../src/base/errors.js";
import { start } from "../system/processes.js";
import type { BenchGroup, MicroBench, Subject, Trial } from "./bench.js";
import type { Fixture } from "./fixture.js";
import { digestOf, drainSeconds } from "./stream-client.js";
import { foundBatches, makeEvents, newBuffer, readySizes, type FoundName, type StreamEvents } from "./stream-events.js";
import { queryOf, type StreamOrder, type StreamWay } from "./stream-order.js";

export const foundTitle = "Event streams of found matches";

export const readerCounts = [1, 4, 16];

/** Bytes of events that one trial streams: as many as the text has, within bounds, and less where gzip is the limit. */
const trialBytes = { min: 1e6, max: 64e6 };
const gzipShare = 1 / 8;

const million = 1e6;

const serverPath = fileURLToPath(new URL("./stream-server.js", import.meta.url));

/**
 * Event streams over real sockets, from a process for each way of writing them to this one, which reads as fast as it
 * can and counts. Before any time counts, all that the ways send is compared.
 */
export async function streamGroups(fixture: Fixture): Promise<BenchGroup[]> {
  const ways = ["trawl", "uWebSockets.js", "node:http", "socket"] as const;
  const [trawl, uws, node, socket] = await Promise.all(ways.map((way) => StreamServer.start(way, fixture)));
  const events = makeEvents(fixture.kernels[0], fixture.reader);
  const bytes = Math.min(trialBytes.max, Math.max(trialBytes.min, fixture.text.bytes));
  const ready = [false, true].flatMap((gzip) =>
    readySizes.map((_, set): MicroBench => {
      const order = readyOrder(events, set, gzip, bytes);
      const subjects = [trawl, uws, node].map((server) => server.subject(order, events.ready[set].matchCount, 1));
      return {
        task: `${sizeText(set)}${gzip ? ", gzip" : ""}`,
        unit: "M matches",
        subjects: gzip ? subjects : [...subjects, socket.limit(order, events.ready[set].matchCount)],
      };
    }),
  );
  const found = foundCases.map(({ name, readers, gzip, task }): MicroBench => {
    const order = foundOrder(fixture, events, name, gzip, bytes / readers);
    return {
      task,
      unit: "M matches",
      subjects: [trawl, node].map((server) => server.subject(order, events.found[name].matchCount, readers)),
    };
  });
  const close = async (): Promise<void> => [trawl, uws, node, socket].forEach((server) => server.stop());
  return [
    { title: foundTitle, benches: found, close: async () => {} },
    { title: "Event streams of finished events", benches: ready, close },
  ];
}

const foundCases: readonly {
  readonly task: string;
  readonly name: FoundName;
  readonly readers: number;
  readonly gzip: boolean;
}[] = [
  ...readerCounts.map((readers) => ({ task: readersText(readers), name: "lines" as const, readers, gzip: false })),
  { task: "chunks with 3 lines of context", name: "chunks", readers: 1, gzip: false },
  { task: "lines, gzip", name: "lines", readers: 1, gzip: true },
];

export function readersText(readers: number): string {
  return `lines, ${readers} ${readers === 1 ? "reader" : "readers"}`;
}

function sizeText(set: number): string {
  return `finished events of ${Math.round(readySizes[set] / 1024)} KiB`;
}

/** A multiple of eight, so that the bare socket can write small events in large pieces. */
function readyOrder({ ready }: StreamEvents, set: number, gzip: boolean, bytes: number): StreamOrder {
  const once = ready[set].elements.reduce((sum, { length }) => sum + length, 0);
  return { source: { kind: "ready", set }, times: 8 * Math.ceil((gzip ? bytes * gzipShare : bytes) / once / 8), gzip };
}

function foundOrder(
  { kernels: [kernel] }: Fixture,
  events: StreamEvents,
  name: FoundName,
  gzip: boolean,
  bytes: number,
): StreamOrder {
  const out = newBuffer();
  let once = 0;
  for (const {
    bytes: { length },
  } of foundBatches(kernel, events.found[name], () => out))
    once += length;
  return {
    source: { kind: "found", name },
    times: Math.max(1, Math.round((gzip ? bytes * gzipShare : bytes) / once)),
    gzip,
  };
}

class StreamServer {
  readonly #way: StreamWay;
  readonly #child: ChildProcess;
  readonly #port: number;

  static async start(way: StreamWay, { textFolder, kernels: [kernel] }: Fixture): Promise<StreamServer> {
    const child = start(process.execPath, [serverPath, way, textFolder, kernel.name], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const port = await new Promise<number>((resolve, reject) => {
      child.stdout?.once("data", (bytes: Buffer) => resolve(Number(bytes.toString())));
      child.once("close", () =>
        reject(new TrawlError("internal", `the stream server for ${way} ended before it listened`)),
      );
    });
    return new StreamServer(way, child, port);
  }

  private constructor(way: StreamWay, child: ChildProcess, port: number) {
    this.#way = way;
    this.#child = child;
    this.#port = port;
  }

  /** `readers` ask at the same time; `matchCount` is what the events have once. */
  subject(order: StreamOrder, matchCount: number, readers: number): Subject {
    const amount = (readers * order.times * matchCount) / million;
    return {
      name: this.#way,
      result: () => digestOf(this.#port, `/?${queryOf({ ...order, times: 1 })}`),
      run: async (): Promise<Trial> => {
        const seconds = await Promise.all(
          Array.from({ length: readers }, () => drainSeconds(this.#port, `/?${queryOf(order)}`)),
        );
        return { amount, seconds: Math.max(...seconds) };
      },
    };
  }

  limit(order: StreamOrder, matchCount: number): Subject {
    return { ...this.subject(order, matchCount, 1), result: undefined };
  }

  stop(): void {
    this.#child.kill();
  }
}
