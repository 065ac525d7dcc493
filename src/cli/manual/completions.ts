import type { Command, Option } from "commander";
import { findLeaves, firstSentence, type Leaf, takesValue } from "./command-tree.js";

/** The completion scripts, made from the commands. */
export const completions = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export type Shell = keyof typeof completions;

function listFlags({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined);
}

const longFlags = (command: Command): string[] => [...command.options.flatMap(({ long }) => long ?? []), "--help"];

/** The values that the argument of the command may have; none if it may have any. */
const listChoices = (command: Command): readonly string[] => command.registeredArguments[0]?.argChoices ?? [];

const nameWords = (command: Command): string => command.commands.map((child) => child.name()).join(" ");

function listGroups(program: Command): readonly Command[] {
  return program.commands.filter(({ commands }) => commands.length > 0);
}

function bashCompletion(program: Command): string {
  const groups = listGroups(program).map((group) => `    ${group.name()}) words="${nameWords(group)}" ;;`);
  const leaves = findLeaves(program);
  const flags = leaves.map(
    ({ words, command }) => `    "${words.join(" ")}") flags="${longFlags(command).join(" ")}" ;;`,
  );
  const values = leaves.flatMap(({ words, command }) =>
    command.options.flatMap((option) =>
      listFlags(option).flatMap((flag) =>
        option.argChoices === undefined
          ? []
          : [`    "${words.join(" ")} ${flag}") values="${option.argChoices.join(" ")}" ;;`],
      ),
    ),
  );
  const choices = leaves.flatMap(({ words, command }) => {
    const values = listChoices(command);
    return values.length === 0 ? [] : [`    "${words.join(" ")}") words="${values.join(" ")}" ;;`];
  });
  return `# Completion of trawl(1) for bash.
_trawl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="" flags="" values="" path="\${COMP_WORDS[1]}"
  local previous="\${COMP_WORDS[COMP_CWORD-1]}"
  # bash separates --name=value into three words.
  if [ "$current" = "=" ]; then current=""; elif [ "$previous" = "=" ]; then previous="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  case "$path" in
${groups.join("\n")}
  esac
  if [ "$COMP_CWORD" = 1 ]; then words="${nameWords(program)}"
  elif [ "$COMP_CWORD" -gt 2 ] || [ -z "$words" ]; then
    [ -z "$words" ] || path="$path \${COMP_WORDS[2]}"
    words=""
  fi
  case "$path" in
${flags.join("\n")}
  esac
  [ "$COMP_CWORD" = 1 ] || case "$path" in
${choices.join("\n")}
  esac
  case "$path $previous" in
${values.join("\n")}
  esac
  [ -z "$values" ] || words="$values"
  case "$current" in
    -*) mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current") ;;
    *) if [ -n "$words" ]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); else mapfile -t COMPREPLY < <(compgen -f -- "$current"); fi ;;
  esac
}
complete -F _trawl trawl
`;
}

const singleQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** A name and its description for `_describe`, where a colon separates the two. */
function zshItem(command: Command): string {
  return singleQuoted(`${command.name()}:${firstSentence(command.description()).replaceAll(":", "\\:")}`);
}

function zshOption(option: Option): string[] {
  const text = firstSentence(option.description).replaceAll(/[[\]:\\]/g, "\\$&");
  const value = option.argChoices === undefined ? ":value:_files" : `:value:(${option.argChoices.join(" ")})`;
  return listFlags(option).map((flag) => {
    const joint = takesValue(option) ? (flag.startsWith("--") ? "=" : "+") : "";
    return singleQuoted(`*${flag}${joint}[${text}]${takesValue(option) ? value : ""}`);
  });
}

/** The words of the command count as its first arguments. */
function zshArgument({ words, command }: Leaf): string {
  const choices = listChoices(command);
  if (choices.length === 0) return "'*:argument:_files'";
  return `${words.map((_, at) => `'${at + 1}: :'`).join(" ")} '${words.length + 1}:argument:(${choices.join(" ")})'`;
}

function zshCompletion(program: Command): string {
  const describe = (command: Command) => `found=(${command.commands.map(zshItem).join(" ")}); _describe command found`;
  const groups = listGroups(program).map(
    (group) =>
      `    ${group.name()}) if (( CURRENT == 3 )); then ${describe(group)}; return; fi; place="$place $words[3]" ;;`,
  );
  const leaves = findLeaves(program).map(
    ({ words, command }) =>
      `    ${singleQuoted(words.join(" "))}) _arguments -s ${command.options.flatMap(zshOption).join(" ")} '--help[show the help]' ${zshArgument({ words, command })} ;;`,
  );
  return `#compdef trawl
# Completion of trawl(1) for zsh.
_trawl() {
  local place="$words[2]"
  local -a found
  if (( CURRENT == 2 )); then ${describe(program)}; return; fi
  case "$place" in
${groups.join("\n")}
  esac
  case "$place" in
${leaves.join("\n")}
  esac
}
if [ "$funcstack[1]" = _trawl ]; then _trawl "$@"; else compdef _trawl trawl; fi
`;
}

const fishQuoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

/** True after the words of the command. */
function fishCondition({ words }: Leaf): string {
  return words.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
}

function fishOption(leaf: Leaf, option: Option): string {
  const names = listFlags(option).map((flag) =>
    flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
  );
  const choices = option.argChoices === undefined ? "" : ` -f -a ${fishQuoted(option.argChoices.join(" "))}`;
  const value = takesValue(option) ? ` -r${choices}` : "";
  const text = fishQuoted(firstSentence(option.description));
  return `complete -c trawl -n '${fishCondition(leaf)}' ${names.join(" ")}${value} -d ${text}`;
}

function fishCompletion(program: Command): string {
  const lines = ["# Completion of trawl(1) for fish."];
  for (const group of program.commands) {
    const text = fishQuoted(firstSentence(group.description()));
    lines.push(`complete -c trawl -f -n __fish_use_subcommand -a ${group.name()} -d ${text}`);
    const names = nameWords(group);
    for (const child of group.commands)
      lines.push(
        `complete -c trawl -f -n '__fish_seen_subcommand_from ${group.name()}; and not __fish_seen_subcommand_from ${names}' -a ${child.name()} -d ${fishQuoted(firstSentence(child.description()))}`,
      );
    for (const leaf of findLeaves(group, [group.name()])) {
      for (const option of leaf.command.options) lines.push(fishOption(leaf, option));
      const choices = listChoices(leaf.command);
      if (choices.length > 0)
        lines.push(`complete -c trawl -f -n '${fishCondition(leaf)}' -a ${fishQuoted(choices.join(" "))}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
