import { errorTable, errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { SearchListener } from "../../model/search-listener.js";
import { QueryError } from "../../query/syntax/query-error.js";
import { toAlert } from "./alerts.js";

/** Limit on the logged length of a query. */
const loggedLength = 200;

/** Reports an invalid query or another error, instead of running a search. */
export function answerError(query: string, listener: SearchListener, error: unknown, log: Log): void {
  const shown = { query: query.slice(0, loggedLength) };
  if (error instanceof QueryError) {
    // Text typed by a client is not worth logging, and may be long or private.
    log.debug(shown, error.title);
    listener.alert(toAlert(error));
  } else {
    const level = error instanceof TrawlError ? error.level : errorTable.internal.level;
    log[level](shown, errorMessage(error));
    listener.error(errorMessage(error));
  }
  listener.done();
}
