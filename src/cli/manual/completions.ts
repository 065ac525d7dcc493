import type { Command, Option } from "commander";
import { fieldNames, fields } from "../../query/syntax/fields.js";
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

/** Commands whose words are a query, and those whose first argument is the name of a repository. */
const queryCommands = ["search", "explain", "job create"];
const repositoryCommands = ["repo set", "repo remove", "repo sync"];

const yesNoOnly = "yes no only";

/** The values of fields that have few; those of `repo:` are asked for. */
const fieldValues: readonly (readonly [field: string, values: string])[] = [
  ["type", "file path repo symbol commit diff"],
  ["case", "yes no"],
  ["fork", yesNoOnly],
  ["archived", yesNoOnly],
  ["index", yesNoOnly],
  ["visibility", "any public private"],
  [
    "select",
    "repo file file.path file.directory file.owners content commit commit.diff commit.diff.added commit.diff.removed symbol",
  ],
  ["patterntype", "standard keyword literal regexp"],
];

const fieldWords = fieldNames
  .filter((name) => fields[name].built && fields[name].value !== "refused")
  .map((name) => `${name}:`)
  .join(" ");

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
  const bashValues = fieldValues.map(([field, values]) => `    ${field}) found=(${values}) ;;`);
  return `# Completion of trawl(1) for bash.
# Completes a word of a query; $2 is what stands before each word that is found.
_trawl_query() {
  local typed="$1" before="$2" name field="" found=()
  case "$typed" in *:*) field="\${typed%%:*}"; typed="\${typed#*:}" ;; esac
  case "$field" in
    "") found=(${fieldWords}); compopt -o nospace 2>/dev/null ;;
    repo|r) mapfile -t found < <(trawl complete -- "$typed" 2>/dev/null) ;;
${bashValues.join("\n")}
  esac
  for name in "\${found[@]}"; do [[ "$name" != "$typed"* ]] || COMPREPLY+=("$before$name"); done
}
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
  COMPREPLY=()
  case "$path:$current" in
    *:-*) ;;
    ${repositoryCommands.map((words) => `"${words}:"*`).join("|")}) [ "$COMP_CWORD" != 3 ] || _trawl_query "repo:$current" ""; [ "$COMP_CWORD" != 3 ] || return ;;
    ${queryCommands.map((words) => `"${words}:"*`).join("|")})
      if [ -z "$values" ] && [ "$COMP_CWORD" != 1 ]; then
        # bash separates name:value into three words, and replaces the last one.
        if [ "$current" = ":" ]; then _trawl_query "$previous:" ""
        elif [ "$previous" = ":" ]; then _trawl_query "\${COMP_WORDS[COMP_CWORD-2]}:$current" ""
        else case "$current" in *:*) _trawl_query "$current" "\${current%%:*}:" ;; *) _trawl_query "$current" "" ;; esac; fi
        [ "\${#COMPREPLY[@]}" = 0 ] || return
      fi ;;
  esac
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
  const name = words.join(" ");
  if (queryCommands.includes(name)) return "'*:argument:_trawl_query'";
  if (repositoryCommands.includes(name)) return "'1: :' '2: :' '3:repository:_trawl_names'";
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
  const zshValues = fieldValues.map(([field, values]) => `  elif compset -P '${field}:'; then compadd -- ${values}`);
  return `#compdef trawl
# Completion of trawl(1) for zsh.
_trawl_names() {
  local -a found
  found=(\${(f)"$(trawl complete -- "$PREFIX" 2>/dev/null)"})
  compadd -a found
}
_trawl_query() {
  if compset -P '(repo|r):'; then _trawl_names
${zshValues.join("\n")}
  else compadd -S '' -- ${fieldWords}; fi
}
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
  const cases = fieldValues.map(([field, values]) => `    case '${field}:*'; printf '${field}:%s\\n' ${values}`);
  const lines = [
    `# Completion of trawl(1) for fish.
function __trawl_query
  set -l typed (commandline -ct)
  switch "$typed"
    case 'repo:*' 'r:*'
      set -l parts (string split -m 1 : -- "$typed")
      for name in (trawl complete -- "$parts[2]" 2>/dev/null); echo "$parts[1]:$name"; end
${cases.join("\n")}
    case '*'; printf '%s\\n' ${fieldWords}
  end
end`,
  ];
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
      const name = leaf.words.join(" ");
      if (queryCommands.includes(name))
        lines.push(`complete -c trawl -f -n '${fishCondition(leaf)}' -a '(__trawl_query)'`);
      if (repositoryCommands.includes(name))
        lines.push(
          `complete -c trawl -f -n '${fishCondition(leaf)}' -a '(trawl complete -- (commandline -ct) 2>/dev/null)'`,
        );
      if (choices.length > 0)
        lines.push(`complete -c trawl -f -n '${fishCondition(leaf)}' -a ${fishQuoted(choices.join(" "))}`);
    }
  }
  return `${lines.join("\n")}\n`;
}
