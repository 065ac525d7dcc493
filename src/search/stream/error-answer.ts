import { errorTable, errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { EventSink } from "../../model/event-sink.js";
import { QueryError } from "../../query/syntax/query-error.js";
import { toAlert } from "./alerts.js";
import { EventStream } from "./event-stream.js";

/** Limit on the logged length of a query. */
const loggedLength = 200;

/** Reports an invalid query or another error, instead of running a search, and ends the sink. */
export function answerError(query: string, sink: EventSink, error: unknown, log: Log): void {
  const stream = new EventStream(
    sink,
    {
      filters: () => [],
      progress: () => {
        throw new TrawlError("internal", "no progress without a search");
      },
    },
    () => undefined,
  );
  const shown = { query: query.slice(0, loggedLength) };
  if (error instanceof QueryError) {
    // Text typed by a client is not worth logging, and may be long or private.
    log.debug(shown, error.title);
    stream.end(toAlert(error), undefined);
  } else {
    const level = error instanceof TrawlError ? error.level : errorTable.internal.level;
    log[level](shown, errorMessage(error));
    stream.end(undefined, errorMessage(error));
  }
}
