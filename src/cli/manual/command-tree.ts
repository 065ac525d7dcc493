import type { Argument, Command, Option } from "commander";

/** A command without subcommands, and its full name as words. */
export interface Leaf {
  readonly words: readonly string[];
  readonly command: Command;
}

/** The commands below this one that can be run, in the order of the help text. */
export function findLeaves(command: Command, words: readonly string[] = []): Leaf[] {
  if (command.commands.length === 0) return [{ words, command }];
  return command.commands.flatMap((child) => findLeaves(child, [...words, child.name()]));
}

/** The command with its arguments: `trawl repo add <name> <url>`. */
export function printSynopsis({ words, command }: Leaf): string {
  return ["trawl", ...words, ...command.registeredArguments.map(printArgument)].join(" ");
}

export function printArgument(argument: Argument): string {
  const dots = argument.variadic ? "..." : "";
  return argument.required ? `<${argument.name()}>${dots}` : `[${argument.name()}]${dots}`;
}

/** Whether a value follows the option. */
export function takesValue(option: Option): boolean {
  return option.required || option.optional;
}

/** The first sentence of a description, without its full stop, for lists of completions. */
export function firstSentence(text: string): string {
  const [sentence = ""] = text.split(/\. |: /, 1);
  return sentence.replace(/\.$/, "");
}
