import { TrawlError } from "../../src/base/errors.js";

interface Bound {
  readonly min: number;
  readonly max: number;
  readonly isWhole: boolean;
  readonly unit: string;
}

/**
 * The limits of one generator. Beyond them the figures would describe the generator and not the server: a small request
 * costs it 80 µs of its one core (measured by overhead.ts, in each run of the harness). Connections and clients stay
 * below the usual limits of open files and of ports to one address.
 */
export const loadBounds = {
  rate: { min: 0.01, max: 10_000, isWhole: false, unit: "requests a second" },
  concurrency: { min: 1, max: 10_000, isWhole: true, unit: "clients" },
  connections: { min: 1, max: 10_000, isWhole: true, unit: "connections" },
  "in-flight": { min: 1, max: 20_000, isWhole: true, unit: "requests" },
  duration: { min: 0.1, max: 3600, isWhole: false, unit: "seconds" },
  requests: { min: 1, max: 10_000_000, isWhole: true, unit: "requests" },
  timeout: { min: 0.1, max: 600, isWhole: false, unit: "seconds" },
  drain: { min: 0, max: 60, isWhole: false, unit: "seconds" },
} as const satisfies Readonly<Record<string, Bound>>;

export type BoundName = keyof typeof loadBounds;

/** Throws `bad-config` unless the value is within its bounds. */
export function requireWithin(name: BoundName, value: number): void {
  const { min, max, isWhole, unit } = loadBounds[name];
  if (value >= min && value <= max && (!isWhole || Number.isInteger(value))) return;
  const range = `${isWhole ? "a whole number " : ""}from ${min} to ${max} ${unit}`;
  throw new TrawlError("bad-config", `${name} ${value}: must be ${range}`);
}
