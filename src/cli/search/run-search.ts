import { TrawlError } from "../../base/errors.js";
import type { WantedGroups } from "../../model/result-groups.js";
import type { ReceiptMode } from "../../model/search-request.js";
import type { Connection } from "../connection/connection.js";
import { curlCall, eventStream, urlAt } from "../connection/send.js";
import { exitCodes } from "../terminal/exit-codes.js";
import { Output, visible } from "../terminal/output.js";
import { rawPainter, terminalPainter } from "./line-painter.js";
import type { ContextLines, LineLayout } from "./match-lines.js";
import {
  countPrinter,
  jsonPrinter,
  type MatchPrinter,
  namePrinter,
  plainPrinter,
  PlacePrinter,
} from "./plain-printer.js";
import { searchEvents } from "./search-events.js";
import { SearchView, type ViewOptions } from "./search-view.js";
import { terminalPrinter } from "./terminal-printer.js";
import { colour, createStyle } from "./terminal-style.js";
import { callAfter, callEvery, monotonicMs, type PendingCall } from "../../base/deadline.js";

/**
 * `lines` prints matches; `names` only the names of the files and repositories that have some; `none` nothing: the search
 * ends with its first result.
 */
export type SearchFormat = "lines" | "json" | "names" | "counts" | "none";

export interface SearchCommand {
  /** May be empty if there are patterns. */
  readonly query: string;
  /** Results must contain one of these; undefined if the query alone decides. */
  readonly patterns: readonly string[] | undefined;
  readonly connection: Connection;
  readonly format: SearchFormat;
  /** A NUL byte follows each name. */
  readonly nul: boolean;
  readonly context: ContextLines;
  readonly layout: LineLayout;
  /** Whether each file has a heading; undefined if the terminal decides. */
  readonly heading: boolean | undefined;
  /** Whether a summary is also printed if the output is no terminal. */
  readonly summary: boolean;
  /** Longer lines are cut on a terminal; 0 for no limit. */
  readonly columnsMax: number;
  /** A number or "all"; if undefined, the query determines it. */
  readonly count: string | undefined;
  readonly patternType: string | undefined;
  readonly caseSensitive: boolean;
  readonly receipt: ReceiptMode;
  /** Whether matches of files with the same content are printed once. */
  readonly duplicates: boolean;
  /** Undefined unless matches are counted instead of printed. */
  readonly groups: WantedGroups | undefined;
  /** Whether the costs of the search are printed on standard error. */
  readonly explain: boolean;
  /** Whether the search goes on after a lost connection. */
  readonly isResumable: boolean;
  /** `REPOSITORY@COMMIT` that must be searchable before the search begins; "" for none. */
  readonly waitFor: string;
}

/** Where a command writes; `process.stdout` and `process.stderr`, or those of a test. */
export interface Terminal {
  readonly out: NodeJS.WriteStream | NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream;
  /** True if `out` is a terminal. */
  readonly isTerminal: boolean;
  readonly colours: boolean;
  readonly hyperlinks: boolean;
  /** True if `err` is a terminal. */
  readonly errIsTerminal: boolean;
  readonly errColours: boolean;
  /** Aborted by Ctrl-C. */
  readonly signal?: AbortSignal;
}

/**
 * Prints results as they stream. Resolves with the exit code; throws if the daemon cannot be reached, or the results
 * cannot be written.
 */
export async function runSearch(command: SearchCommand, terminal: Terminal): Promise<number> {
  const query = await readQuery(command);
  const note = (text: string) => void terminal.err.write(text);
  const view = new SearchView({
    query,
    ...createPrinters(command, terminal),
    printGroups: groupPrinter(command, terminal),
    note,
    style: createStyle(terminal.errColours, undefined),
    hasSummary: command.summary || (terminal.isTerminal && command.format === "lines"),
    hasGap: terminal.isTerminal,
    hasOwnLimit: command.count !== undefined || (await limitsItself(query, command.patternType)),
    isQuiet: command.format === "none",
    hasWholeLines: command.format === "json" || (command.format === "lines" && command.layout.each !== "text"),
  });
  const progress = terminal.errIsTerminal
    ? new ProgressLine(
        note,
        () => view.matchCount,
        () => countColumns(terminal.err),
      )
    : undefined;
  try {
    const code = await printSearch(command, query, { terminal, view, progress });
    if (code === exitCodes.noMatches && command.format !== "none" && !view.hasAlert)
      await noteMisspellings(command, view);
    return code;
  } catch (error) {
    if (terminal.signal?.aborted) return interrupted(terminal);
    throw error;
  } finally {
    progress?.clear();
  }
}

/** For searches for which the daemon does not look for what may have been meant, such as resumable ones. */
async function noteMisspellings({ query, patternType }: SearchCommand, view: SearchView): Promise<void> {
  // Loaded only when needed, like everything that parses queries.
  const { listMisspellings } = await import("./query-form.js");
  for (const text of listMisspellings(query, patternType ?? "")) view.note(visible(text));
}

/** Whether the query has a `count:` for all of its parts. */
async function limitsItself(query: string, patternType: string | undefined): Promise<boolean> {
  if (!/count:/i.test(query)) return false;
  // Loaded only when needed, like everything that parses queries.
  const { hasCount } = await import("./query-form.js");
  return hasCount(query, patternType ?? "");
}

/** The width of a terminal; 80 if it is unknown. */
function countColumns(stream: NodeJS.WritableStream): number {
  return ("columns" in stream && Number(stream.columns)) || 80;
}

/** The same search as a call of curl. */
export async function searchAsCurl(command: SearchCommand): Promise<string> {
  const url = searchUrl(command, await readQuery(command));
  return curlCall(command.connection, url, eventStream, requestBody(command));
}

interface Printed {
  readonly terminal: Terminal;
  readonly view: SearchView;
  readonly progress: ProgressLine | undefined;
}

async function printSearch(command: SearchCommand, query: string, printed: Printed): Promise<number> {
  const { terminal, view, progress } = printed;
  const events = searchEvents({
    connection: command.connection,
    url: searchUrl(command, query),
    body: requestBody(command),
    signal: terminal.signal,
    isResumable: command.isResumable,
    note: (text) => {
      progress?.clear();
      terminal.err.write(`trawl: ${text}`);
    },
  });
  const output = new Output(terminal.out);
  try {
    for await (const some of events) {
      const text = some.map((event) => view.show(event)).join("");
      if (text !== "") progress?.clear();
      await output.write(text);
      if (output.closed || (command.format === "none" && view.resultCount > 0)) return exitCodes.matches;
    }
  } catch (error) {
    if (error instanceof TrawlError || terminal.signal?.aborted) throw error;
    if (!output.closed && !view.done) throw brokenStream(error);
  }
  progress?.clear();
  await output.finish();
  if (output.closed) return exitCodes.matches;
  if (!view.done) throw brokenStream(undefined);
  return view.finish();
}

/** Leaves the terminal as it was: without a colour or a hyperlink that was not ended. */
function interrupted(terminal: Terminal): number {
  if (terminal.hyperlinks) terminal.out.write("\u001b]8;;\u001b\\");
  if (terminal.colours) terminal.out.write("\u001b[0m");
  return exitCodes.interrupted;
}

function requestBody({ patterns }: SearchCommand): string | undefined {
  return patterns === undefined ? undefined : JSON.stringify({ patterns });
}

function searchUrl(command: SearchCommand, query: string): URL {
  const url = urlAt(command.connection, ".api/search/stream");
  url.searchParams.set("q", query);
  url.searchParams.set("v", "V3");
  if (command.patternType !== undefined) url.searchParams.set("t", command.patternType);
  if (command.duplicates) url.searchParams.set("duplicates", "1");
  if (command.explain) url.searchParams.set("explain", "1");
  if (command.groups !== undefined) {
    url.searchParams.set("group", command.groups.by);
    url.searchParams.set("groups", String(command.groups.countMax));
  }
  if (command.isResumable) url.searchParams.set("resume", "1");
  if (command.waitFor !== "") url.searchParams.set("wait_for", command.waitFor);
  if (command.receipt === "report") url.searchParams.set("receipt", "1");
  if (command.receipt === "strict") url.searchParams.set("strict", "1");
  const lines = Math.max(command.context.before, command.context.after);
  if (lines > 0) {
    url.searchParams.set("cm", "true");
    url.searchParams.set("cl", String(lines));
  }
  return url;
}

/** The query as it is sent. What options add applies to all of it. */
async function readQuery({ query, count, patternType, caseSensitive }: SearchCommand): Promise<string> {
  const added = [...(caseSensitive ? ["case:yes"] : []), ...(count === undefined ? [] : [`count:${count}`])];
  if (added.length === 0) return query;
  if (query === "") return added.join(" ");
  // Loading the query language takes longer than most searches, so it is loaded only when needed.
  const { addToQuery } = await import("./query-form.js");
  return addToQuery(query, patternType ?? "", added.join(" "));
}

/** A line for each group: the number of its matches, a tab, and what they have in common. */
function groupPrinter({ format, nul }: SearchCommand, { isTerminal, colours }: Terminal): ViewOptions["printGroups"] {
  const style = createStyle(colours, undefined);
  return (groups) => {
    if (format === "json") return groups.groups.map((group) => `${JSON.stringify(group)}\n`).join("");
    const counts = groups.groups.map(({ count }) => (isTerminal ? count.toLocaleString("en") : String(count)));
    const width = isTerminal ? Math.max(0, ...counts.map(({ length }) => length)) : 0;
    const lines = groups.groups.map(({ value, label }, i) => {
      const name = label === value ? value : `${label} <${value}>`;
      const shown = isTerminal ? visible(name) : name;
      return `${style.paint(colour.number, counts[i].padStart(width))}${isTerminal ? "  " : "\t"}${shown}${nul ? "\0" : "\n"}`;
    });
    return lines.join("");
  };
}

function createPrinters(command: SearchCommand, terminal: Terminal): Pick<ViewOptions, "print" | "rest"> {
  const print = createPrinter(command, terminal);
  if (!command.duplicates || command.format !== "lines") return { print, rest: () => "" };
  const places = new PlacePrinter(print, command.nul, terminal.isTerminal ? visible : (name) => name);
  return { print: (match) => places.print(match), rest: () => places.rest() };
}

function createPrinter(command: SearchCommand, terminal: Terminal): MatchPrinter {
  const { format, nul, context, layout, columnsMax } = command;
  const style = createStyle(terminal.colours, terminal.hyperlinks ? command.connection.endpoint : undefined);
  const painter = terminal.isTerminal ? terminalPainter(style, columnsMax) : rawPainter;
  switch (format) {
    case "none":
      return () => "";
    case "json":
      return jsonPrinter(terminal.isTerminal);
    case "names":
      return namePrinter(painter, nul);
    case "counts":
      return countPrinter(painter, nul);
    case "lines":
      if (command.heading ?? (terminal.isTerminal && !nul && layout.each !== "match"))
        return terminalPrinter({ style, context, layout, columnsMax });
      return plainPrinter({ context, layout, painter, nul });
  }
}

function brokenStream(cause: unknown): TrawlError {
  return new TrawlError("cancelled", "the connection was lost before the search was complete: results are missing", {
    cause,
  });
}

/** A quick search shows none. */
const firstAfterMs = 400;
const everyMs = 200;

/**
 * One line on a terminal that says how long a search has been running, while it has printed nothing. `clear` removes
 * it for good; it is idempotent.
 */
class ProgressLine {
  readonly #write: (text: string) => void;
  readonly #matchCount: () => number;
  readonly #columns: () => number;
  readonly #startMs = monotonicMs();
  #pending: PendingCall;
  #isShown = false;

  /** `columns` is the width of the terminal. */
  constructor(write: (text: string) => void, matchCount: () => number, columns: () => number) {
    this.#write = write;
    this.#matchCount = matchCount;
    this.#columns = columns;
    this.#pending = callAfter(firstAfterMs, () => {
      this.#show();
      this.#pending = callEvery(everyMs, () => this.#show());
    });
  }

  clear(): void {
    this.#pending.cancel();
    if (this.#isShown) this.#write("\r\u001b[K");
    this.#isShown = false;
  }

  #show(): void {
    const seconds = ((monotonicMs() - this.#startMs) / 1000).toFixed(1);
    const found = this.#matchCount() > 0 ? `, ${this.#matchCount().toLocaleString("en")} matches` : "";
    // A line that fills the terminal would continue on the next one, where it cannot be cleared.
    const text = `searching for ${seconds} s${found} … press Ctrl-C to stop`.slice(0, Math.max(0, this.#columns() - 1));
    this.#write(`\r\u001b[K${text}`);
    this.#isShown = true;
  }
}
