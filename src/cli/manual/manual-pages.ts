import type { Argument, Command, Option } from "commander";
import { allowedText, type OptionRow, optionTable } from "../../daemon/config/options.js";
import { exitCodeText } from "../terminal/exit-codes.js";
import { findLeaves, type Leaf, printArgument, printSynopsis } from "./command-tree.js";
import { environmentVariables, files } from "./environment-variables.js";

/** The manual pages, made from the commands and the table of options: text by file name, for example `trawl.1`. */
export function createPages(program: Command, version: string): ReadonlyMap<string, string> {
  return new Map([
    ["trawl.1", commandPage(program, version)],
    ["trawld.8", daemonPage(version)],
    ["trawl.jsonc.5", optionPage(version)],
  ]);
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

function item(term: string, text: string): string {
  return `.TP\n.B ${roff(term)}\n${roff(text)}\n`;
}

function argumentText(argument: Argument): string {
  return argument.description === "" ? "" : item(printArgument(argument), argument.description);
}

function optionText(option: Option): string {
  const variable = option.envVar === undefined ? "" : ` (environment variable ${option.envVar})`;
  return item(option.flags, option.description + variable);
}

function commandText(leaf: Leaf): string {
  const { command } = leaf;
  const details = [...command.registeredArguments.map(argumentText), ...command.options.map(optionText)];
  return `.SS ${roff(printSynopsis(leaf))}\n${roff(command.description())}\n${details.join("")}`;
}

function commandPage(program: Command, version: string): string {
  const sentence = (text: string) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`;
  return `${head("trawl", 1, version)}.SH NAME
trawl \\- code search over git repositories
.SH SYNOPSIS
.B trawl
.I COMMAND
[\\fIOPTION\\fR...]
.SH DESCRIPTION
${roff("Searches, and manages the daemon trawld(8). Commands that manage it connect to it through a socket in its data directory, which only the daemon's account may open; search, diff-results, api, job and login use HTTP.")}
.SH COMMANDS
${findLeaves(program).map(commandText).join("")}.SH EXIT STATUS
${exitCodeText.map(([code, meaning]) => item(String(code), sentence(meaning))).join("")}.SH ENVIRONMENT
${environmentVariables.map(([names, meaning]) => item(names, sentence(meaning))).join("")}.SH FILES
${files.map(([path, meaning]) => `.TP\n.I ${roff(path)}\n${roff(sentence(meaning))}\n`).join("")}.SH SEE ALSO
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
Reloads the configuration. "systemctl reload trawld" does the same, and reports errors. If the terminal in which it runs was closed, it stops instead.
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
  const rows = Object.entries<OptionRow>(optionTable).map(([key, row]) =>
    item(
      key,
      `${row.description} Allowed: ${allowedText(row)}. Default: ${row.defaultText ?? JSON.stringify(row.default)}.`,
    ),
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
