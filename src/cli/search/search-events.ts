import { randomInt } from "node:crypto";
import { sleep } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Connection } from "../connection/connection.js";
import { eventStream, send } from "../connection/send.js";
import { SseDecoder, type StreamEvent } from "../connection/sse-decoder.js";

/** Attempts in a row that bring no event. With their waits they take about two minutes. */
const attemptsMax = 10;
const firstWaitMs = 250;
const waitMsMax = 30_000;

export interface EventsRequest {
  readonly connection: Connection;
  readonly url: URL;
  /** The body of a POST request. */
  readonly body: string | undefined;
  readonly signal: AbortSignal | undefined;
  /** Whether the stream is resumed if its connection breaks; the URL says so as well. */
  readonly isResumable: boolean;
  /** Tells the user that the connection broke. */
  readonly note: (text: string) => void;
}

/**
 * The events of a search, as they arrive. If the connection of a resumable stream breaks, the search goes on after the
 * last event, so each is returned once. Otherwise throws the error of the connection, or returns if the response ends
 * early.
 */
export async function* searchEvents(request: EventsRequest): AsyncGenerator<readonly StreamEvent[], void> {
  const state: StreamState = { lastId: "", hasBegun: false, isDone: false, failedCount: 0 };
  const mayResume = () => request.isResumable && state.hasBegun && !state.isDone;
  for (;;) {
    let problem = "it was closed";
    try {
      for await (const events of connect(request, state)) {
        state.failedCount = 0;
        state.lastId = events.findLast(({ id }) => id !== undefined)?.id ?? state.lastId;
        state.isDone ||= events.some(({ name }) => name === "done");
        yield events;
      }
      if (!mayResume()) return;
    } catch (error) {
      if (!mayResume() || isFinal(error, request.signal)) throw error;
      problem = errorMessage(error);
    }
    if (++state.failedCount > attemptsMax)
      throw new TrawlError(
        "cancelled",
        `the connection was lost, and ${attemptsMax} attempts to resume failed: ${problem}`,
      );
    const waitMs = chooseWaitMs(state.failedCount);
    request.note(`the connection was lost (${problem}); resuming in ${(waitMs / 1000).toFixed(1)} s\n`);
    await sleep(waitMs, request.signal);
  }
}

interface StreamState {
  /** Of the last event; "" before it. */
  lastId: string;
  /** Whether the daemon has accepted the search. */
  hasBegun: boolean;
  isDone: boolean;
  /** Attempts since the last event. */
  failedCount: number;
}

async function* connect(
  { connection, url, body, signal }: EventsRequest,
  state: StreamState,
): AsyncGenerator<StreamEvent[], void> {
  const resumed = new URL(url);
  if (state.lastId !== "") resumed.searchParams.set("lastEventId", state.lastId);
  const response = await send(connection, { url: resumed, accept: eventStream, body, signal });
  state.hasBegun = true;
  const decoder = new SseDecoder();
  for await (const bytes of response as AsyncIterable<Uint8Array>) {
    const events = decoder.push(bytes);
    if (events.length > 0) yield events;
  }
}

/** Another attempt would have the same outcome. */
function isFinal(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted) return true;
  return (
    error instanceof TrawlError && (error.code === "gone" || error.code === "bad-request" || error.code === "forbidden")
  );
}

/** Twice as long after each failure, and random, so that not all clients of a daemon that restarts come at once. */
function chooseWaitMs(failedCount: number): number {
  const longestMs = Math.min(waitMsMax, firstWaitMs * 2 ** failedCount);
  return randomInt(Math.floor(longestMs / 2), longestMs);
}
