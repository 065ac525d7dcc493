import type { Command, Option } from "commander";
import { optionTable, allowedText, type OptionRow } from "../src/daemon/options.js";

/** The manual pages and shell completions, generated from the commands and the options table. */
export interface Manual {
  /** Text by file name, for example `trawl.1`. */
  readonly pages: ReadonlyMap<string, string>;
  readonly bash: string;
  readonly zsh: string;
  readonly fish: string;
}

export function manualOf(program: Command, version: string): Manual {
  const pages = new Map([
    ["trawl.1", commandPage(program, version)],
    ["trawld.8", daemonPage(version)],
    ["trawl.jsonc.5", optionPage(version)],
  ]);
  return { pages, bash: bashCompletion(program), zsh: zshCompletion, fish: fishCompletion(program) };
}

/** A command without subcommands, and its full name as words. */
interface Leaf {
  readonly words: readonly string[];
  readonly command: Command;
}

function leavesOf(command: Command, words: readonly string[] = []): Leaf[] {
  if (command.commands.length === 0) return [{ words, command }];
  return command.commands.flatMap((child) => leavesOf(child, [...words, child.name()]));
}

/** Escapes text for roff, where a dot or quote at the start of a line is a request, and a backslash an escape. */
function roff(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .split("\n")
    .map((line) => (/^[.']/.test(line) ? `\\&${line}` : line))
    .join("\n");
}

function head(name: string, section: number, version: string): string {
  return `.TH ${name.toUpperCase()} ${section} "" "trawl ${version}" "Trawl"\n`;
}

function synopsis({ words, command }: Leaf): string {
  const args = command.registeredArguments.map(
    (argument) =>
      (argument.required ? `<${argument.name()}>` : `[${argument.name()}]`) + (argument.variadic ? "..." : ""),
  );
  return ["trawl", ...words, ...args].join(" ");
}

function optionText(option: Option): string {
  return `.TP\n.B ${roff(option.flags)}\n${roff(option.description)}${option.envVar === undefined ? "" : ` (environment variable ${option.envVar})`}\n`;
}

function commandPage(program: Command, version: string): string {
  const sections = leavesOf(program).map(
    (leaf) =>
      `.SS ${roff(synopsis(leaf))}\n${roff(leaf.command.description())}\n${leaf.command.options.map(optionText).join("")}`,
  );
  return `${head("trawl", 1, version)}.SH NAME
trawl \\- code search over git repositories
.SH SYNOPSIS
.B trawl
.I COMMAND
[\\fIOPTION\\fR...]
.SH DESCRIPTION
${roff("Searches, and manages the daemon trawld(8). All commands except serve, search and config connect to the daemon through a socket in its data directory, which only the daemon's account may open.")}
.SH COMMANDS
${sections.join("")}.SH EXIT STATUS
${roff("0 for success, and for a search with matches; 1 for a search without matches; 2 for an error; 3 if results are incomplete; 4 if the output could not be written.")}
.SH ENVIRONMENT
.TP
.B TRAWL_DATA
Data directory of the daemon.
.TP
.B TRAWL_ENDPOINT
Address of the daemon for the search command.
.TP
.B TRAWL_TOKEN
Access token for the search command.
.SH SEE ALSO
trawld(8), trawl.jsonc(5)
`;
}

function daemonPage(version: string): string {
  return `${head("trawld", 8, version)}.SH NAME
trawld \\- the code\\-search daemon
.SH SYNOPSIS
.B trawl serve
[\\fB\\-\\-config\\fR \\fIFILE\\fR] [\\fB\\-\\-data\\fR \\fIDIR\\fR]
.SH DESCRIPTION
${roff("Mirrors git repositories, indexes them and serves searches over HTTP. Runs as the systemd service trawld.service; its configuration is trawl.jsonc(5).")}
.SH SIGNALS
.TP
.B SIGTERM
${roff("Stops within ten seconds. Open streams end with the matches found so far and a notice.")}
.TP
.B SIGHUP
Reloads the configuration. "systemctl reload trawld" does the same, and reports errors.
.SH FILES
.TP
.I /etc/trawl/trawl.jsonc
Configuration.
.TP
.I /var/lib/trawl
Mirrors, shards, catalog, secrets and audit.log.
.SH SEE ALSO
trawl(1), trawl.jsonc(5)
`;
}

function optionPage(version: string): string {
  const rows = Object.entries<OptionRow>(optionTable).map(
    ([key, row]) =>
      `.TP\n.B ${roff(key)}\n${roff(`${row.description} Allowed: ${allowedText(row)}. Default: ${row.defaultText ?? JSON.stringify(row.default)}.`)}\n`,
  );
  return `${head("trawl.jsonc", 5, version)}.SH NAME
trawl.jsonc \\- configuration of trawld
.SH DESCRIPTION
${roff('JSON with comments. A key with a dot is a member of a nested object: search.queue is written as {"search": {"queue": 10}}. "trawl config check FILE" validates a file. The installed file lists all options, including those of repositories and contexts.')}
.SH OPTIONS
${rows.join("")}.SH SEE ALSO
trawl(1), trawld(8)
`;
}

function longFlags(command: Command): string[] {
  return [...command.options.flatMap(({ long }) => long ?? []), "--help"];
}

function bashCompletion(program: Command): string {
  const children = (command: Command): string => command.commands.map((child) => child.name()).join(" ");
  const groups = program.commands
    .filter(({ commands }) => commands.length > 0)
    .map((group) => `    ${group.name()}) words="${children(group)}" ;;`);
  const flags = leavesOf(program).map(
    ({ words, command }) => `    "${words.join(" ")}") flags="${longFlags(command).join(" ")}" ;;`,
  );
  return `# Completion of trawl(1) for bash.
_trawl() {
  local current="\${COMP_WORDS[COMP_CWORD]}" words="" flags="" path="\${COMP_WORDS[1]}"
  case "$path" in
${groups.join("\n")}
  esac
  if [ "$COMP_CWORD" = 1 ]; then words="${children(program)}"
  elif [ "$COMP_CWORD" -gt 2 ] || [ -z "$words" ]; then
    [ -z "$words" ] || path="$path \${COMP_WORDS[2]}"
    words=""
  fi
  case "$path" in
${flags.join("\n")}
  esac
  case "$current" in
    -*) mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$current") ;;
    *) if [ -n "$words" ]; then mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current"); else mapfile -t COMPREPLY < <(compgen -f -- "$current"); fi ;;
  esac
}
complete -F _trawl trawl
`;
}

/** zsh loads the bash completion. */
const zshCompletion = `#compdef trawl
autoload -U +X bashcompinit && bashcompinit
source /usr/share/bash-completion/completions/trawl
`;

function fishCompletion(program: Command): string {
  const quoted = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = ["# Completion of trawl(1) for fish."];
  for (const group of program.commands) {
    lines.push(`complete -c trawl -f -n __fish_use_subcommand -a ${group.name()} -d ${quoted(group.description())}`);
    for (const child of group.commands)
      lines.push(
        `complete -c trawl -f -n '__fish_seen_subcommand_from ${group.name()}' -a ${child.name()} -d ${quoted(child.description())}`,
      );
    for (const { words, command } of leavesOf(group, [group.name()])) {
      for (const { long, description } of command.options) {
        const seen = words.map((word) => `__fish_seen_subcommand_from ${word}`).join("; and ");
        if (long) lines.push(`complete -c trawl -n '${seen}' -l ${long.slice(2)} -d ${quoted(description)}`);
      }
    }
  }
  return `${lines.join("\n")}\n`;
}
