import type { Command, Option } from "commander";
import { findLeaves, firstSentence, type Leaf, takesValue } from "./command-tree.js";

/** The completion scripts, made from the commands. */
export const completions = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion } as const;

export type Shell = keyof typeof completions;

function listFlags({ short, long }: Option): string[] {
  return [short, long].filter((flag) => flag !== undefined);
}

const longFlags = (command: Command): string[] => [...command.options.flatMap(({ long }) => long ?? []), "--help"];

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
  return `# Completion of trawl(1) for bash.
_trawl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="" flags="" values="" path="\${COMP_WORDS[1]}"
  local previous="\${COMP_WORDS[COMP_CWORD-1]}"
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

function zshCompletion(program: Command): string {
  const describe = (command: Command) => `found=(${command.commands.map(zshItem).join(" ")}); _describe command found`;
  const groups = listGroups(program).map(
    (group) =>
      `    ${group.name()}) if (( CURRENT == 3 )); then ${describe(group)}; return; fi; place="$place $words[3]" ;;`,
  );
  const leaves = findLeaves(program).map(
    ({ words, command }) =>
      `    ${singleQuoted(words.join(" "))}) _arguments -s ${command.options.flatMap(zshOption).join(" ")} '--help[show the help]' '*:argument:_files' ;;`,
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

function fishOption({ words }: Leaf, option: Option): string {
  const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
  const names = listFlags(option).map((flag) =>
    flag.startsWith("--") ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
  );
  const choices = option.argChoices === undefined ? "" : ` -f -a ${fishQuoted(option.argChoices.join(" "))}`;
  const value = takesValue(option) ? ` -r${choices}` : "";
  const text = fishQuoted(firstSentence(option.description));
  return `complete -c trawl -n '${seen}' ${names.join(" ")}${value} -d ${text}`;
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
    for (const leaf of findLeaves(group, [group.name()]))
      for (const option of leaf.command.options) lines.push(fishOption(leaf, option));
  }
  return `${lines.join("\n")}\n`;
}
