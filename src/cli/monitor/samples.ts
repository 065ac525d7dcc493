import type { RunningSummary } from "../../search/root/running-search.js";
import { callDaemon } from "../connection/control-client.js";
import type { Connection } from "../connection/connection.js";
import { send, urlAt } from "../connection/send.js";
import { monotonicMs } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";

/** The state of a daemon at a moment. */
export interface Sample {
  readonly atMs: number;
  readonly metrics: Readings;
  /** Undefined if only the metrics are known. */
  readonly searches: readonly RunningSummary[] | undefined;
}

export type SampleSource = () => Promise<Sample>;

const noProgress = (): void => undefined;

/** From the control socket of a data directory. */
export function controlSource(dataDirectory: string): SampleSource {
  const get = (path: string): Promise<unknown> =>
    callDaemon(dataDirectory, { method: "GET", path, body: undefined, progress: noProgress });
  return async () => {
    const searches = (await get("/searches")) as readonly RunningSummary[];
    return { atMs: monotonicMs(), metrics: parseReadings(String(await get("/metrics"))), searches };
  };
}

/** Limit on the text of the metrics of another host. */
const textBytesMax = 16 << 20;

/** From the metrics of a daemon, or from the address of `metrics.listen`. */
export function endpointSource(connection: Connection): SampleSource {
  return async () => {
    const response = await send(connection, { url: urlAt(connection, "metrics"), accept: "text/plain" });
    const chunks: Uint8Array[] = [];
    let byteCount = 0;
    for await (const chunk of response as AsyncIterable<Uint8Array>) {
      byteCount += chunk.length;
      if (byteCount > textBytesMax) throw new TrawlError("bad-request", "the metrics are too long");
      chunks.push(chunk);
    }
    return { atMs: monotonicMs(), metrics: parseReadings(Buffer.concat(chunks).toString()), searches: undefined };
  };
}

interface Reading {
  readonly labels: string;
  readonly value: number;
}

/** The values of metrics, by name. */
export class Readings {
  readonly #byName: ReadonlyMap<string, readonly Reading[]>;

  constructor(byName: ReadonlyMap<string, readonly Reading[]>) {
    this.#byName = byName;
  }

  /** Whether there is such a metric. */
  has(name: string): boolean {
    return this.#byName.has(name);
  }

  /** The sum of the values that have these labels, each written as `name="value"`; 0 without any. */
  sum(name: string, ...labels: readonly string[]): number {
    let sum = 0;
    for (const reading of this.#byName.get(name) ?? [])
      if (labels.every((label) => reading.labels.includes(label))) sum += reading.value;
    return sum;
  }

  /** The value of a label of the first reading; "" without one. */
  label(name: string, label: string): string {
    const { labels = "" } = this.#byName.get(name)?.at(0) ?? {};
    const at = `,${labels}`.indexOf(`,${label}="`);
    if (at < 0) return "";
    const from = at + `${label}="`.length;
    return labels.slice(from, labels.indexOf('"', from));
  }

  /** The counts of a histogram with these labels by upper bound, which ascend, as do the counts. */
  buckets(name: string, ...labels: readonly string[]): readonly (readonly [upTo: number, count: number])[] {
    const counts = new Map<number, number>();
    for (const reading of this.#byName.get(`${name}_bucket`) ?? []) {
      if (!labels.every((label) => reading.labels.includes(label))) continue;
      const bound = /(?:^|,)le="([^"]{1,30})"/.exec(reading.labels)?.[1] ?? "";
      const upTo = bound === "+Inf" ? Infinity : Number(bound);
      counts.set(upTo, (counts.get(upTo) ?? 0) + reading.value);
    }
    return [...counts].sort(([a], [b]) => a - b);
  }
}

/** Parses the text format of Prometheus, as far as this daemon writes it: no label contains a brace or a quote. */
export function parseReadings(text: string): Readings {
  const byName = new Map<string, Reading[]>();
  for (const line of text.split("\n")) {
    const [, name, labels = "", value] = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{([^}]*)\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined || value === undefined) continue;
    const reading = { labels, value: Number(value) };
    const known = byName.get(name);
    if (known === undefined) byName.set(name, [reading]);
    else known.push(reading);
  }
  return new Readings(byName);
}
