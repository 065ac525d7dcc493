import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { sleep } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import type { MatchChange } from "../../model/match-change.js";
import type { Progress, Receipt, StreamError } from "../../model/stream-events.js";
import type { Connection } from "../connection/connection.js";
import { eventStream, send, urlAt } from "../connection/send.js";
import { exitCodes } from "../terminal/exit-codes.js";
import { Output, visible } from "../terminal/output.js";
import { parseData, SseDecoder, type StreamEvent } from "../connection/sse-decoder.js";

export interface DiffCommand {
  /** As typed. */
  readonly receipt: string;
  readonly query: string;
  readonly connection: Connection;
  readonly isJson: boolean;
  readonly isWatch: boolean;
  /** File to which the new receipt is written. */
  readonly save: string | undefined;
  readonly patternType: string | undefined;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
}

/** Time between two attempts to continue a stream that was cut off. */
const reconnectMs = 1_000;

const marks = { came: "+", went: "-", moved: ">" } as const;

/** Prints what changed; resolves with the exit code, like that of a search. */
export async function diffResults(command: DiffCommand): Promise<number> {
  const output = new Output(process.stdout);
  const state = new DiffState(command, readReceipt(command.receipt));
  for (;;) {
    try {
      await readStream(command, state, output);
    } catch (error) {
      if (command.signal.aborted) return exitCodes.interrupted;
      // The stream of a daemon that is restarted continues from the last receipt.
      if (!command.isWatch || !state.hasBegun || state.hasFailed) throw error;
    }
    if (output.closed) return exitCodes.matches;
    if (!command.isWatch || state.hasFailed) break;
    await sleep(reconnectMs);
  }
  await output.finish();
  return state.exitCode;
}

/** What the events have said so far. */
class DiffState {
  readonly #command: DiffCommand;
  /** The base of the next request, as sent. */
  receipt: string;
  hasBegun = false;
  hasFailed = false;
  #isDone = false;
  #hasChanges = false;
  #isComplete = true;

  constructor(command: DiffCommand, receipt: string) {
    this.#command = command;
    this.receipt = receipt;
  }

  get isDone(): boolean {
    return this.#isDone;
  }

  get exitCode(): number {
    if (this.hasFailed) return exitCodes.failed;
    if (!this.#isComplete) return exitCodes.incomplete;
    return this.#hasChanges ? exitCodes.matches : exitCodes.noMatches;
  }

  /** The text to print for an event. */
  show(event: StreamEvent): string {
    const { name } = event;
    if (name === "changes") {
      const changes = parseData<MatchChange[]>(event);
      this.#hasChanges ||= changes.length > 0;
      return changes
        .map((change) => (this.#command.isJson ? `${JSON.stringify(change)}\n` : printChange(change)))
        .join("");
    }
    if (name === "error") {
      this.hasFailed = true;
      note(parseData<StreamError>(event).message);
    } else if (name === "done") this.#isDone = true;
    else if (name === "progress") this.#take(parseData<Progress>(event));
    return "";
  }

  #take({ receipt, changes }: Progress): void {
    if (changes === undefined || receipt === undefined) return;
    this.hasBegun = true;
    for (const name of changes.repositoriesGone) note(`${name} is not searched any more: its matches are not listed`);
    for (const { repository, revision, commit } of changes.basesGone)
      note(
        `${repository}${revision === "" ? "" : `@${revision}`} could not be compared: commit ${commit} does not exist any more`,
      );
    this.#isComplete &&= changes.basesGone.length === 0;
    this.#keep(receipt);
  }

  #keep(receipt: Receipt): void {
    this.receipt = JSON.stringify(receipt);
    if (this.#command.save !== undefined) writeFileSync(this.#command.save, `${this.receipt}\n`);
  }
}

async function readStream(command: DiffCommand, state: DiffState, output: Output): Promise<void> {
  const url = urlAt(command.connection, ".api/search/changes");
  url.searchParams.set("q", command.query);
  url.searchParams.set("v", "V3");
  if (command.patternType !== undefined) url.searchParams.set("t", command.patternType);
  if (command.isWatch) url.searchParams.set("watch", "1");
  const response = await send(command.connection, {
    url,
    accept: eventStream,
    body: state.receipt,
    signal: command.signal,
  });
  const decoder = new SseDecoder();
  for await (const bytes of response as AsyncIterable<Uint8Array>) {
    await output.show(
      decoder
        .push(bytes)
        .map((event) => state.show(event))
        .join(""),
    );
    if (output.closed) return;
  }
  if (!state.isDone) throw new TrawlError("cancelled", "the connection was lost before all changes were received");
}

/** `+ repo:path:line:text`; for a match that moved, where it was follows in parentheses. */
function printChange(change: MatchChange): string {
  const { repository, revision, line, symbol, from } = change;
  const name = revision === "" ? repository : `${repository}@${revision}`;
  const text = line ?? (symbol === undefined ? "" : `${symbol.kind.toLowerCase()} ${symbol.name}`);
  const place = ({ path, lineNumber }: Pick<MatchChange, "path" | "lineNumber">): string =>
    lineNumber === undefined ? path : `${path}:${lineNumber + 1}`;
  const origin = from === undefined ? "" : ` (${visible(place(from))})`;
  const end = change.lineNumber === undefined ? "" : `:${visible(text)}`;
  return `${marks[change.change]} ${visible(`${name}:${place(change)}`)}${origin}${end}\n`;
}

/** The text of a file, or the id or url of a receipt. `trawl search --receipt` may have printed other lines before it. */
function readReceipt(typed: string): string {
  if (typed !== "-" && !existsSync(typed)) return typed;
  const text = readFileSync(typed === "-" ? 0 : typed, "utf8");
  return text.split("\n").findLast((line) => line.startsWith("{")) ?? text;
}

function note(text: string): void {
  process.stderr.write(`trawl: ${visible(text)}\n`);
}
