import { Argument, type Command, InvalidArgumentError, Option } from "commander";
import { nearestWord } from "../../base/text.js";
import { visibleLines } from "./output.js";

/** Prints a line to standard output. Names and messages from outside cannot control a terminal. */
export function print(line: string): void {
  process.stdout.write(`${process.stdout.isTTY ? visibleLines(line) : line}\n`);
}

/** The data directory of the daemon that a command talks to. */
export function dataOption(): Option {
  return new Option("--data <dir>", "data directory of the daemon").env("TRAWL_DATA").default("data");
}

/** Adds the options that say which daemon is asked over HTTP, and with which token. */
export function addConnectionOptions(command: Command): Command {
  return command
    .option(
      "--endpoint <url>",
      "address of the daemon; else TRAWL_ENDPOINT, SRC_ENDPOINT, or that of `trawl login`; the default is http://127.0.0.1:7080",
    )
    .option(
      "--token <token>",
      "access token, visible in process listings; better use TRAWL_TOKEN, SRC_ACCESS_TOKEN or `trawl login`",
    );
}

/**
 * Adds an option with a fixed list of values. A misspelt one is refused with the value that was probably meant, or else
 * with what `otherwise` says.
 */
export function addChoice(
  command: Command,
  flags: string,
  description: string,
  choices: readonly string[],
  { value, otherwise }: { readonly value?: string; readonly otherwise?: string } = {},
): Command {
  const option = new Option(flags, `${description}: ${choices.join(", ")}`).choices(choices);
  option.argParser(parseChoice(choices, otherwise));
  return command.addOption(value === undefined ? option : option.default(value));
}

/** Adds an argument with a fixed list of values, like `addChoice`; it may be left out if there is a default value. */
export function addChoiceArgument(command: Command, name: string, choices: readonly string[], value?: string): Command {
  const argument = new Argument(value === undefined ? `<${name}>` : `[${name}]`, choices.join(", ")).choices(choices);
  argument.argParser(parseChoice(choices, undefined));
  return command.addArgument(value === undefined ? argument : argument.default(value));
}

function parseChoice(choices: readonly string[], otherwise: string | undefined): (typed: string) => string {
  return (typed) => {
    if (choices.includes(typed)) return typed;
    const nearest = nearestWord(typed, choices);
    const hint =
      nearest === undefined ? (otherwise === undefined ? "" : ` ${otherwise}`) : ` (Did you mean ${nearest}?)`;
    throw new InvalidArgumentError(`Allowed are ${choices.join(", ")}.${hint}`);
  };
}

/** Parses a whole number between two bounds. */
export function wholeNumber(min: number, max: number): (typed: string) => number {
  return (typed) => {
    const value = Number(typed);
    if (!/^[0-9]{1,15}$/.test(typed) || value < min || value > max)
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    return value;
  };
}

/** Collects the values of an option that may be repeated. */
export function collect(value: string, values: readonly string[] | undefined): readonly string[] {
  return [...(values ?? []), value];
}
