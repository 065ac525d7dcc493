import { get as httpGet, type IncomingMessage } from "node:http";
import { get as httpsGet } from "node:https";
import { TrawlError, errorMessage } from "../base/errors.js";
import { printCaret } from "../query/syntax/caret.js";
import type { Alert, Progress, Skipped, StreamError, StreamMatch } from "../model/stream-events.js";
import { placeOfBytes } from "../query/syntax/characters.js";
import { jsonPrinter, plainPrinter, terminalPrinter, type MatchPrinter } from "./match-printer.js";
import { Output } from "./output.js";
import { SseDecoder, type StreamEvent } from "./sse-decoder.js";

export interface SearchCommand {
  readonly query: string;
  /** `http://HOST:PORT` of the daemon. */
  readonly endpoint: string;
  /** Undefined for an anonymous request. */
  readonly token: string | undefined;
  readonly json: boolean;
  /** A number or "all"; if undefined, the query determines it. */
  readonly count: string | undefined;
  readonly patternType: string | undefined;
}

/** Where a command writes; `process.stdout` and `process.stderr`, or those of a test. */
export interface Terminal {
  readonly out: NodeJS.WriteStream | NodeJS.WritableStream;
  readonly err: NodeJS.WritableStream;
  /** True if `out` is a terminal. */
  readonly isTerminal: boolean;
  readonly colours: boolean;
}

/** `incomplete`: something was excluded, and standard error says what. `unwritten`: results could not be written. */
export const exitCodes = { matches: 0, noMatches: 1, failed: 2, incomplete: 3, unwritten: 4 } as const;

/** What is excluded unless the query asks for it: results without it are complete. */
const completeWithout: ReadonlySet<string> = new Set(["repository-fork", "excluded-archive", "display"]);

/**
 * Prints results as they stream. Resolves with the exit code; throws if the daemon cannot be reached, or the results
 * cannot be written.
 */
export async function runSearch(command: SearchCommand, terminal: Terminal): Promise<number> {
  const query = await readQuery(command);
  const response = await ask(searchUrl(command, query), command);
  const output = new Output(terminal.out);
  const view = new SearchView(query, printerFor(command, terminal), terminal, command.count !== undefined);
  const decoder = new SseDecoder();
  try {
    for await (const bytes of response as AsyncIterable<Uint8Array>) {
      const text = decoder
        .push(bytes)
        .map((event) => view.show(event))
        .join("");
      await output.write(text);
      if (output.closed) break;
    }
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    if (!output.closed && !view.done) throw brokenStream(error);
  }
  await output.finish();
  if (output.closed) return exitCodes.matches;
  if (!view.done) throw brokenStream(undefined);
  return view.finish();
}

function searchUrl(command: SearchCommand, query: string): URL {
  const url = new URL(".api/search/stream", command.endpoint.endsWith("/") ? command.endpoint : `${command.endpoint}/`);
  url.searchParams.set("q", query);
  url.searchParams.set("v", "V3");
  if (command.patternType !== undefined) url.searchParams.set("t", command.patternType);
  return url;
}

/** The query as it is sent. A count applies to all of it, even if both sides of an `or` contain filters. */
async function readQuery({ query, count, patternType }: SearchCommand): Promise<string> {
  if (count === undefined) return query;
  // Loading the query language takes longer than most searches, so it is loaded only when needed.
  const { isUnion } = await import("./query-form.js");
  return `${isUnion(query, patternType ?? "") ? `(${query})` : query} count:${count}`;
}

function printerFor(command: SearchCommand, terminal: Terminal): MatchPrinter {
  if (command.json) return jsonPrinter;
  return terminal.isTerminal ? terminalPrinter(terminal.colours) : plainPrinter;
}

async function ask(url: URL, { endpoint, token }: SearchCommand): Promise<IncomingMessage> {
  const get = url.protocol === "https:" ? httpsGet : httpGet;
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const authorization = token === undefined ? {} : { Authorization: `token ${token}` };
    get(url, { headers: { Accept: "text/event-stream", ...authorization } }, resolve).on("error", (cause) => {
      reject(
        new TrawlError(
          "not-found",
          `no response from ${endpoint}: ${errorMessage(cause)}; is trawld running there? ` +
            "Start one with `trawl serve`, or specify its address with --endpoint",
          { cause },
        ),
      );
    });
  });
  if (response.statusCode === 200) return response;
  const body = Buffer.concat((await response.toArray()) as Buffer[])
    .toString()
    .trim();
  const refusal = `${endpoint} answered ${response.statusCode}: ${body}`;
  if (response.statusCode !== 401) throw new TrawlError("overloaded", refusal);
  throw new TrawlError(
    "forbidden",
    `${refusal} Set an access token in TRAWL_TOKEN; \`trawl token create\` creates one`,
  );
}

function brokenStream(cause: unknown): TrawlError {
  return new TrawlError("cancelled", "the connection was lost before the search was complete: results are missing", {
    cause,
  });
}

/** Interprets the events of one search for the user. */
class SearchView {
  readonly #query: string;
  readonly #print: MatchPrinter;
  readonly #terminal: Terminal;
  /** Whether the limit on matches was given on the command line: reaching it then counts as complete. */
  readonly #hasOwnLimit: boolean;
  #matches = false;
  #failed = false;
  #progress: Progress | undefined;
  #alert: Alert | undefined;
  done = false;

  constructor(query: string, print: MatchPrinter, terminal: Terminal, hasOwnLimit: boolean) {
    this.#query = query;
    this.#print = print;
    this.#terminal = terminal;
    this.#hasOwnLimit = hasOwnLimit;
  }

  /** The text to print for this event. */
  show(event: StreamEvent): string {
    switch (event.name) {
      case "matches": {
        const matches = JSON.parse(event.data) as StreamMatch[];
        this.#matches ||= matches.length > 0;
        return matches.map((match) => this.#print(match)).join("");
      }
      case "progress":
        this.#progress = JSON.parse(event.data) as Progress;
        return "";
      case "alert":
        this.#alert = JSON.parse(event.data) as Alert;
        return "";
      case "error":
        this.#failed = true;
        this.#note((JSON.parse(event.data) as StreamError).message);
        return "";
      case "done":
        this.done = true;
        return "";
      default:
        return "";
    }
  }

  /**
   * Reports what was excluded and why; returns the exit code. An alert without any progress means that the query was
   * not executed.
   */
  finish(): number {
    const progress = this.#progress;
    const skipped = (progress?.skipped ?? []).filter(
      ({ reason }) => !this.#hasOwnLimit || reason !== "shard-match-limit",
    );
    for (const one of skipped) this.#note(skippedText(one));
    if (this.#alert) this.#note(alertText(this.#alert, this.#query));
    if (progress && this.#terminal.isTerminal) {
      this.#note(
        `${progress.matchCount} ${progress.matchCount === 1 ? "match" : "matches"} in ${progress.durationMs} ms`,
      );
    }
    if (this.#failed || (this.#alert && !progress)) return exitCodes.failed;
    if (skipped.some(({ reason }) => !completeWithout.has(reason))) return exitCodes.incomplete;
    return this.#matches ? exitCodes.matches : exitCodes.noMatches;
  }

  #note(text: string): void {
    this.#terminal.err.write(`trawl: ${text}\n`);
  }
}

function skippedText({ title, message, suggested }: Skipped): string {
  const hint = suggested ? ` (${suggested.title}: ${suggested.queryExpression})` : "";
  return `${title}: ${message}${hint}`;
}

/** An invalid query is shown with a caret below the erroneous part. */
function alertText({ title, description, proposedQueries, place }: Alert, query: string): string {
  const caret = place === undefined ? "" : `\n\n${printCaret(query, placeOfBytes(query, place.from, place.to))}`;
  const proposals = (proposedQueries ?? []).map((proposed) => `\n  try: ${proposed.query}`);
  return `${title}${description ? `: ${description}` : ""}${caret}${proposals.join("")}`;
}
