import { TrawlError } from "../../base/errors.js";
import type { BaseRevisions } from "../../model/match-change.js";
import {
  BaseListener,
  type ChangeListener,
  type JsonElements,
  type SearchListener,
} from "../../model/search-listener.js";
import type { SearchRequest } from "../../model/search-request.js";
import type { Alert, Filter, Progress } from "../../model/stream-events.js";
import { parseReceipt } from "../../search/revisions/revision-changes.js";
import type { ChangeRequest } from "../../search/changes/change-search.js";
import type { ChangeWatches } from "../../search/changes/change-watch.js";
import type { Searcher } from "../../search/searcher.js";
import type { WantedChanges } from "./stream-params.js";

export interface ChangeStreamServices {
  readonly search: Pick<Searcher, "run" | "sendChanges" | "receiptRevisions">;
  readonly watches: Pick<ChangeWatches, "run">;
}

/**
 * The revisions of a receipt, given as its id, its `url` or as the JSON of the receipt itself. `find` looks for a
 * receipt by id. Throws `bad-request`, or `not-found` if there is no receipt with this id any more.
 */
function readBase(text: string, find: (id: string) => BaseRevisions | undefined): BaseRevisions {
  if (text.trimStart().startsWith("{")) return parseReceipt(parseJson(text));
  const id = text.slice(text.lastIndexOf("/") + 1);
  if (!/^[\w-]{1,64}$/.test(id))
    throw new TrawlError("bad-request", "since must be the id of a receipt, its url, or the receipt as JSON");
  const base = find(id);
  if (base !== undefined) return base;
  throw new TrawlError(
    "not-found",
    "since: there is no receipt with this id; only those of recent searches are kept, so send the receipt itself",
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new TrawlError("bad-request", "since: the receipt is not valid JSON");
  }
}

/** Sends the changes of a search's results, and ends the sink. */
export async function streamChanges(
  request: SearchRequest,
  { since, isWatch }: WantedChanges,
  sink: ChangeListener,
  services: ChangeStreamServices,
): Promise<void> {
  try {
    const base =
      since === ""
        ? await searchFirst(request, sink, services)
        : readBase(since, (id) => services.search.receiptRevisions(id, request.viewer));
    if (base !== undefined) await sendSince({ ...request, since: base }, isWatch, sink, services);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code === "internal") throw error;
    sink.error(error.message);
  }
  sink.done();
}

async function sendSince(
  request: ChangeRequest,
  isWatch: boolean,
  sink: ChangeListener,
  { search, watches }: ChangeStreamServices,
): Promise<void> {
  if (isWatch) await watches.run(request, sink);
  else await search.sendChanges(request, sink, "last");
}

/** Sends all results; returns what was searched. Undefined if the search failed, or the client has left. */
async function searchFirst(
  request: SearchRequest,
  sink: ChangeListener,
  { search }: ChangeStreamServices,
): Promise<BaseRevisions | undefined> {
  const receipt = request.receipt === "strict" ? "strict" : "report";
  return await new Promise((resolve, reject) => {
    const first = new FirstSearch(sink);
    // The outcome of the search follows its last event at once, if it was executed.
    first.onClosed(() => queueMicrotask(() => resolve(undefined)));
    search.run({ ...request, receipt, isBase: true }, first, (end) => {
      try {
        resolve(first.hasFailed || sink.closed ? undefined : end.receipt?.revisions());
      } catch (error) {
        reject(error as Error);
      }
    });
  });
}

/** Passes on all events of a search, except its end. */
class FirstSearch extends BaseListener {
  override readonly filterEvents = "each";
  readonly #client: SearchListener;
  hasFailed = false;

  constructor(client: SearchListener) {
    super();
    this.#client = client;
    client.onDrain(() => this.drained());
    client.onClosed(() => this.end());
  }

  override get pendingBytes(): number {
    return this.#client.pendingBytes;
  }

  override matches(parts: readonly JsonElements[]): void {
    this.#client.matches(parts);
  }

  override filters(filters: readonly Filter[]): void {
    this.#client.filters(filters);
  }

  override progress(progress: Progress): void {
    this.#client.progress(progress);
  }

  override alert(alert: Alert): void {
    this.#client.alert(alert);
  }

  override error(message: string): void {
    this.hasFailed = true;
    this.#client.error(message);
  }
}
