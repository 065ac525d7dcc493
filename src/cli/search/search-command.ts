import { type Command, Option } from "commander";
import { TrawlError } from "../../base/errors.js";
import { groupCountDefault, groupCountMax, type GroupKind, groupKinds } from "../../model/result-groups.js";
import { addChoice, addConnectionOptions, collect, wholeNumber } from "../terminal/command-options.js";
import { resolveConnection, type TypedConnection } from "../connection/connection.js";
import { exitCodes } from "../terminal/exit-codes.js";
import type { LineLayout } from "./match-lines.js";
import type { SearchCommand, SearchFormat, Terminal } from "./run-search.js";

/** Options of `trawl search` as commander parses them. */
interface TypedSearch extends TypedConnection {
  readonly json: boolean;
  readonly filesWithMatches: boolean;
  readonly countLines: boolean;
  readonly quiet: boolean;
  readonly null: boolean;
  readonly onlyMatching: boolean;
  readonly vimgrep: boolean;
  readonly column: boolean;
  /** False with -N. */
  readonly lineNumber?: boolean;
  /** False with -I. */
  readonly filename: boolean;
  readonly heading?: boolean;
  readonly stats: boolean;
  readonly context?: number;
  readonly beforeContext?: number;
  readonly afterContext?: number;
  readonly maxColumns: number;
  readonly count?: string;
  readonly file?: string;
  readonly type?: string;
  readonly caseSensitive: boolean;
  readonly ignoreCase: boolean;
  readonly smartCase: boolean;
  readonly wordRegexp: boolean;
  readonly fixedStrings: boolean;
  readonly regexp: readonly string[];
  readonly glob: readonly string[];
  readonly color: When;
  readonly hyperlinks: When;
  readonly pager: boolean;
  readonly getCurl: boolean;
  readonly receipt: boolean;
  readonly waitFor: string;
  readonly strict: boolean;
  readonly resume: boolean;
  readonly duplicates: boolean;
  readonly explain: boolean;
  readonly groupBy?: GroupKind;
  readonly groups?: number;
}

type When = "auto" | "always" | "never";

const contextLinesMax = 1000;

/** A minified file must not fill the screen. */
const columnsMaxDefault = 1000;

/** Adds `trawl search`. */
export function addSearch(program: Command, exit: (code: number) => void): void {
  const command = program
    .command("search")
    .description("Search, and print matches as they are found.")
    .argument(
      "[query...]",
      "the query; words are joined with spaces; put -- before a word that starts with a dash; - reads standard input",
    );
  explainRipgrep(command);
  command.optionsGroup("What is found:");
  const types = ["standard", "keyword", "literal", "regexp"];
  addChoice(command, "-t, --type <type>", "pattern type", types, { otherwise: "A language is lang:NAME in the query." })
    .option(
      "-f, --file <file>",
      "search the contents of files for all patterns in this file, one per line, at once; - reads standard input. " +
        "Patterns are literals, or regular expressions with -t regexp; the query is optional, and its filters and patterns apply too",
    )
    .option("--count <n>", "stop after this many matches, or `all`")
    .option("-s, --case-sensitive", "distinguish upper and lower case", false)
    .option("-i, --ignore-case", "do not distinguish upper and lower case, which is the default", false)
    .option("-S, --smart-case", "distinguish upper and lower case if a pattern has an upper-case letter", false)
    .option("-w, --word-regexp", "patterns match whole words only", false)
    .option("-F, --fixed-strings", "patterns are literals, also those of -e; the same as -t literal", false)
    .option(
      "-e, --regexp <pattern>",
      "search the contents of files for this regular expression, or literal with -F; repeatable, for any of them. " +
        "The query may then have filters only",
      collect,
      [],
    )
    .option(
      "-g, --glob <glob>",
      "search only files whose path matches, as in .gitignore, or with !GLOB no such files; repeatable, the last one that matches counts",
      collect,
      [],
    )
    .optionsGroup("How it is searched:")
    .option("--receipt", "print on standard error, as JSON, what was searched and what was left out", false)
    .option("--strict", "like --receipt, and fail if anything that may contain a result was left out", false)
    .option(
      "--explain",
      "print on standard error, as JSON, the plan, what the search was expected to cost at most, and what it took",
      false,
    )
    .option("--wait-for <repo@commit>", "search when this commit is searchable; it is fetched if necessary", "")
    .option(
      "--resume",
      "if the connection breaks or the daemon restarts, go on where the results ended, in the same state of the repositories. " +
        "Only with --json, --count all or count:all; the daemon stores the results, up to half of its option resume.bytes",
      false,
    )
    .option(
      "--duplicates",
      "print the matches of files with the same content once, and the other files as NAME=FIRST. Each counts for --count",
      false,
    )
    .optionsGroup("What is printed:")
    .addOption(
      new Option(
        "--group-by <what>",
        "print no matches, but how many there are of each repository, path, language, author of commits, " +
          "or text that the first group of a regular expression captures; all are counted",
      ).choices(groupKinds),
    )
    .option(
      "--groups <n>",
      "with --group-by, print at most this many groups, those with the most matches; 100 unless given",
      wholeNumber(1, groupCountMax),
    )
    .option("--get-curl", "print the equivalent call of curl, and do not search", false)
    .addHelpText("after", searchExamples)
    .action(async (words: string[], typed: TypedSearch) => exit(await search(words, typed)));
  addFormatOptions(command);
  addPlaceOptions(command);
  addConnectionOptions(command.optionsGroup("The daemon:"));
}

const searchExamples = `
Examples:
  trawl search 'repo:^github\\.com/git/ lang:c strbuf_add'
  trawl search -wF -e 'f(x)' -e 'g(x)' -g '*.c' -g '!t/'
  trawl search -oIN --count all '/CVE-\\d+-\\d+/' | sort | uniq -c
  trawl search --group-by author type:commit fix
  trawl search -C 2 -S 'file:^src/ Buffer'
`;

function addFormatOptions(command: Command): void {
  const lines = wholeNumber(0, contextLinesMax);
  command
    .option("-C, --context <n>", "also print this many lines before and after each match", lines)
    .option("-B, --before-context <n>", "lines before each match", lines)
    .option("-A, --after-context <n>", "lines after each match", lines)
    .option(
      "-M, --max-columns <n>",
      "on a terminal, cut longer lines; 0 for never",
      wholeNumber(0, 1e9),
      columnsMaxDefault,
    )
    .option("--json", "one JSON object for each matching file", false)
    .option("-l, --files-with-matches", "print only the names of files and repositories with matches", false)
    .option("-c, --count-lines", "print only how many lines of each file have matches", false)
    .option(
      "-q, --quiet",
      "print nothing, and end with the first result: the exit code says whether there is one",
      false,
    )
    .option("-0, --null", "print a NUL byte after each name", false)
    .option("--stats", "print a summary on standard error also if the output is not a terminal", false);
  const whens = ["auto", "always", "never"] as const;
  const value = "auto";
  addChoice(
    command,
    "--color <when>",
    "when to use colours, where auto is on a terminal unless NO_COLOR is set",
    whens,
    { value },
  );
  addChoice(command, "--hyperlinks <when>", "links from names and line numbers to pages", whens, { value });
  command.addOption(new Option("--pager", "show results in a pager: $TRAWL_PAGER, $PAGER or less").default(false));
}

/** What is printed of each line, and what before it; as ripgrep names it. */
function addPlaceOptions(command: Command): void {
  command
    .option("-o, --only-matching", "print only the text that matches, one match per line", false)
    .option("-n, --line-number", "print line numbers, which is the default")
    .option("-N, --no-line-number", "print no line numbers")
    .option("-I, --no-filename", "print no names of repositories and files with lines")
    .option("--column", "print the column of the first match of each line, in bytes", false)
    .option("--heading", "print the name above the lines of each file, as on a terminal")
    .option("--no-heading", "print the name on each line, as in a pipe")
    .option("--vimgrep", "print a line for each match, with line number and column, for editors", false);
}

/** Options of ripgrep that have another form here: the message says which. */
function explainRipgrep(command: Command): void {
  const { outputError } = command.configureOutput();
  command.configureOutput({
    outputError: (text, write) => {
      const [, flag = ""] = /unknown option '([^']{1,40})'/.exec(text) ?? [];
      const instead = ripgrepEquivalent(flag);
      outputError?.(instead === undefined ? text : `${text.trimEnd()}\n${instead}\n`, write);
    },
  });
}

async function search(words: readonly string[], typed: TypedSearch): Promise<number> {
  const command = toSearchCommand(await readFlags(await readInputs(words, typed), typed), typed);
  const { runSearch, searchAsCurl } = await import("./run-search.js");
  if (typed.getCurl) {
    process.stdout.write(`${await searchAsCurl(command)}\n`);
    return exitCodes.matches;
  }
  const stop = new AbortController();
  const terminal = standardTerminal(typed, stop.signal);
  if (typed.pager && terminal.isTerminal) return await searchInPager(command, terminal);
  const onInterrupt = () => stop.abort();
  process.once("SIGINT", onInterrupt);
  const code = await runSearch(command, terminal);
  process.removeListener("SIGINT", onInterrupt);
  // A shell ends a loop only if the command in it was ended by the signal.
  if (code === exitCodes.interrupted) process.kill(process.pid, "SIGINT");
  return code;
}

type Inputs = Pick<SearchCommand, "query" | "patterns">;

/** What decides the query, when flags of ripgrep have changed it. */
type Flagged = Inputs & Pick<SearchCommand, "patternType" | "caseSensitive">;

async function readFlags(inputs: Inputs, typed: TypedSearch): Promise<Flagged> {
  const { type: patternType, caseSensitive, ignoreCase, smartCase } = typed;
  if (Number(caseSensitive) + Number(ignoreCase) + Number(smartCase) > 1)
    throw new TrawlError("bad-request", "-s, -i and -S contradict each other: leave all but one out");
  if (!(typed.wordRegexp || typed.fixedStrings || smartCase || typed.regexp.length > 0 || typed.glob.length > 0))
    return { ...inputs, patternType, caseSensitive };
  // Loading the query language takes longer than most searches, so it is loaded only when needed.
  const { applyRipgrepFlags } = await import("./ripgrep-flags.js");
  const flagged = applyRipgrepFlags({ ...typed, ...inputs, patternType });
  return { ...inputs, ...flagged, caseSensitive: caseSensitive || flagged.caseSensitive };
}

/** With patterns of their own, standard input is not read for a query. */
async function readInputs(words: readonly string[], { file, regexp }: TypedSearch): Promise<Inputs> {
  if (file === undefined && regexp.length > 0 && words.length === 0) return { query: "", patterns: undefined };
  if (file === undefined || (file !== "-" && words.length === 1 && words[0] === "-")) {
    const { readQueryText } = await import("./query-input.js");
    const query = await readQueryText(words, process.stdin);
    if (file === undefined) return { query, patterns: undefined };
    words = [query];
  }
  const { readPatterns } = await import("./query-input.js");
  return { query: words.join(" "), patterns: await readPatterns(file, process.stdin) };
}

/** Ctrl-C is for the pager; when it is left, the search ends. */
async function searchInPager(command: SearchCommand, terminal: Terminal): Promise<number> {
  const [{ startPager }, { runSearch }] = await Promise.all([import("./pager.js"), import("./run-search.js")]);
  const ignore = () => undefined;
  process.on("SIGINT", ignore);
  const pager = startPager();
  try {
    return await runSearch(command, { ...terminal, out: pager.input, errIsTerminal: false });
  } finally {
    await pager.close();
    process.removeListener("SIGINT", ignore);
  }
}

function toSearchCommand(flagged: Flagged, typed: TypedSearch): SearchCommand {
  const { query } = flagged;
  if (typed.duplicates && (typed.resume || typed.countLines))
    throw new TrawlError("bad-request", "--duplicates cannot be combined with --resume or -c");
  checkGroups(typed);
  if (typed.resume) checkResumable(query, typed);
  return {
    ...flagged,
    connection: resolveConnection(typed),
    format: chooseFormat(typed),
    nul: typed.null,
    context: {
      before: typed.beforeContext ?? typed.context ?? 0,
      after: typed.afterContext ?? typed.context ?? 0,
    },
    layout: chooseLayout(typed),
    heading: typed.vimgrep ? false : typed.heading,
    summary: typed.stats,
    columnsMax: typed.maxColumns,
    count: typed.count,
    waitFor: typed.waitFor,
    receipt: typed.strict ? "strict" : typed.receipt ? "report" : "none",
    isResumable: typed.resume,
    duplicates: typed.duplicates,
    explain: typed.explain,
    groups: typed.groupBy && { by: typed.groupBy, countMax: typed.groups ?? groupCountDefault },
  };
}

/** Of groups there are neither lines nor names. */
function checkGroups({ groupBy, groups, duplicates, resume, filesWithMatches, countLines, quiet }: TypedSearch): void {
  if (groupBy === undefined && groups !== undefined) throw new TrawlError("bad-request", "--groups needs --group-by");
  if (groupBy !== undefined && (duplicates || resume || filesWithMatches || countLines || quiet))
    throw new TrawlError("bad-request", "--group-by cannot be combined with --duplicates, --resume, -l, -c or -q");
}

/** A search that ends at a limit of matches cannot be repeated exactly, so it is not worth storing what people look at. */
function checkResumable(query: string, { json, count }: TypedSearch): void {
  if (json || count === "all" || /(^|[\s(])count:all(?![^\s)])/i.test(query)) return;
  throw new TrawlError("bad-request", "--resume needs --json, --count all or count:all in the query");
}

function chooseLayout({ onlyMatching, vimgrep, column, lineNumber, filename }: TypedSearch): LineLayout {
  return {
    each: onlyMatching ? "text" : vimgrep ? "match" : "line",
    hasName: filename,
    hasNumber: lineNumber !== false,
    hasColumn: column || vimgrep,
  };
}

function chooseFormat({ quiet, json, filesWithMatches, countLines }: TypedSearch): SearchFormat {
  if (quiet) return "none";
  if (json) return "json";
  if (filesWithMatches) return "names";
  return countLines ? "counts" : "lines";
}

function standardTerminal({ color, hyperlinks }: TypedSearch, signal: AbortSignal): Terminal {
  const isTerminal = process.stdout.isTTY === true;
  const errIsTerminal = process.stderr.isTTY === true;
  const { NO_COLOR, TERM } = process.env;
  const isSimple = TERM === undefined || TERM === "dumb";
  const coloured = (onTerminal: boolean) =>
    color === "always" || (color === "auto" && onTerminal && !NO_COLOR && !isSimple);
  return {
    out: process.stdout,
    err: process.stderr,
    isTerminal: isTerminal || color === "always",
    colours: coloured(isTerminal),
    // The console of Linux shows the address itself.
    hyperlinks: hyperlinks === "always" || (hyperlinks === "auto" && isTerminal && !isSimple && TERM !== "linux"),
    errIsTerminal,
    errColours: coloured(errIsTerminal),
    signal,
  };
}

const other: readonly (readonly [flags: readonly string[], instead: string])[] = [
  [["-x", "--line-regexp"], "for whole lines, write a regular expression: /^LINE$/"],
  [
    ["-v", "--invert-match", "-L", "--files-without-match"],
    "for files without a match, write `not PATTERN` in the query",
  ],
  [["--iglob"], "for files by their path in any case, write file:REGEXP or -file:REGEXP in the query"],
  [["-T", "--type-not"], "to leave out a language, write -lang:NAME in the query"],
  [["-m", "--max-count"], "--count limits the matches of all files together"],
  [["-U", "--multiline", "--multiline-dotall"], "a regular expression may contain \\n, and begin with (?s)"],
  [["-P", "--pcre2"], "regular expressions are those of RE2"],
  [["-p", "--pretty"], "write --color always"],
  [["--files"], "for all files, write type:path in the query, and --count all"],
  [["-.", "-u", "-uu", "-uuu", "--hidden", "--no-ignore"], "all files of the repositories are searched"],
];

const equivalents = new Map(other.flatMap(([flags, instead]) => flags.map((flag) => [flag, instead] as const)));

/** What to write for an option of ripgrep that `trawl search` does not have. */
function ripgrepEquivalent(flag: string): string | undefined {
  return equivalents.get(flag);
}

/** Options as commander parses them. */
interface TypedDiff extends TypedConnection {
  readonly json: boolean;
  readonly watch: boolean;
  readonly save?: string;
  readonly type?: string;
}

/** Adds `trawl diff-results`. */
export function addDiffResults(program: Command, exit: (code: number) => void): void {
  const command = program
    .command("diff-results")
    .description("Print the matches of a search that came, went or moved since an earlier one.")
    .argument(
      "<receipt>",
      "the receipt of the earlier search: a file with its JSON, its id or its url; - for standard input",
    )
    .argument("<query...>", "the query; words are joined with spaces");
  addConnectionOptions(command);
  addChoice(command, "-t, --type <type>", "pattern type", ["standard", "keyword", "literal", "regexp"])
    .option("--json", "one JSON object for each change", false)
    .option("--save <file>", "write the new receipt to this file; it may be the one that was read")
    .option("--watch", "go on, and print changes when they are indexed, until Ctrl-C", false)
    .action(async (receipt: string, words: string[], typed: TypedDiff) => {
      const { diffResults } = await import("./diff-results.js");
      const stop = new AbortController();
      const onInterrupt = () => stop.abort();
      process.once("SIGINT", onInterrupt);
      const code = await diffResults({
        receipt,
        query: words.join(" "),
        connection: resolveConnection(typed),
        isJson: typed.json,
        isWatch: typed.watch,
        save: typed.save,
        patternType: typed.type,
        signal: stop.signal,
      });
      process.removeListener("SIGINT", onInterrupt);
      exit(code);
    });
}
