import { Option } from "commander";

/** Prints a line to standard output. */
export const print = (line: string): void => void process.stdout.write(`${line}\n`);

/** The data directory of the daemon that a command talks to. */
export function dataOption(): Option {
  return new Option("--data <dir>", "data directory of the daemon").env("TRAWL_DATA").default("data");
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, values: readonly string[] | undefined): readonly string[] {
  return [...(values ?? []), value];
}
