import { errorMessage, TrawlError } from "../../base/errors.js";
import { waitForCommit } from "../../browse/commit-wait.js";
import type { AwaitedCommit } from "../../browse/mirror-messages.js";
import type { RequestContext } from "../../browse/request-context.js";
import { clientKey } from "../../model/client.js";
import { internalError, originFields, toOrigin } from "../../model/request-origin.js";
import type { SearchListener } from "../../model/search-listener.js";
import type { PartitionVersion, SearchRequest } from "../../model/search-request.js";
import type { Viewer } from "../../model/viewer.js";
import type { ResumableStreams } from "../../resume/resumable-streams.js";
import type { ChangeWatches } from "../../search/changes/change-watch.js";
import type { Searcher } from "../../search/searcher.js";
import type { ViewerHandler } from "../access/guard.js";
import { plainText, rateLimitHeaders } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import { streamChanges } from "../stream/change-stream.js";
import { type EventServices, refuseHead, startEvents, type SseStream } from "../stream/sse.js";
import {
  type ClientTypes,
  parseStreamParams,
  type StreamParams,
  type WantedChanges,
  withSender,
} from "../stream/stream-params.js";
import type { ContentServices } from "./named-content.js";

/** When a client may ask again for a stream that waits for changes. */
const watchRetrySeconds = 60;

/**
 * After a restart the search is repeated, and may choose another of the equal files to report their content: a client that
 * has a part of it would get it twice.
 */
const duplicatesNotResumable = "duplicates=1 cannot be combined with resume=1: search again if the connection breaks\n";

/** They are about single matches, of which a search that counts groups sends none. */
const groupsAlone = "group cannot be combined with since, watch, resume or duplicates\n";

export interface SearchHandler {
  /** Called before the stream starts: a refusal makes the response a plain 429 or 503. */
  admit(client: string): Refusal | undefined;
  /** Sends every event of the search, `done` last, and ends the sink; stops when the sink is closed. */
  readonly run: Searcher["run"];
  /**
   * The text behind a `trace` URL, `/.api/search/trace/ID`; undefined if it is no longer available, or not visible to
   * this viewer.
   */
  trace(id: string, viewer: Viewer): string | undefined;
  /** Part of a list of the receipt with this id; undefined if there is none for this viewer. */
  readonly receiptPage: Searcher["receiptPage"];
  readonly sendChanges: Searcher["sendChanges"];
  /** The limits on the searches of a client. */
  readonly quotas: Searcher["quotas"];
  readonly receiptRevisions: Searcher["receiptRevisions"];
  readonly fleet: Searcher["fleet"];
}

export interface Refusal {
  readonly status: 429 | 503;
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/** What the stream endpoint needs. */
export interface StreamServices extends EventServices {
  readonly search: SearchHandler;
  readonly watches: Pick<ChangeWatches, "refusal" | "run">;
  readonly resumable: Pick<ResumableStreams, "start" | "find" | "resume">;
  readonly content: Pick<ContentServices, "contextFor">;
  /** The option `search.diffType`. */
  readonly diffType: "auto" | "commit" | "diff";
}

/** A search that a client asked for, with valid parameters. */
interface Wanted {
  readonly search: SearchRequest;
  /** Undefined for an ordinary search. */
  readonly changes: WantedChanges | undefined;
  readonly waitFor: AwaitedCommit | undefined;
  /** Whether its events are stored, so that the stream can be resumed. */
  readonly isResumable: boolean;
}

/**
 * Invalid parameters are reported as events in a stream with status 200: clients of this interface display them only in
 * this form. What cannot be resumed is refused with a status, after which a browser does not try again.
 */
export function streamHandler(services: StreamServices, patterns?: readonly string[]): ViewerHandler {
  return (request, response, viewer) => {
    if (request.method === "HEAD") return refuseHead(response);
    const client = clientKey(viewer, request.remoteAddress);
    response.addHeaders(rateLimitHeaders(services.search.quotas(client)));
    const params = parseStreamParams(request.query, patterns !== undefined);
    if (params.kind === "bad") return endWithError(startEvents(request, response, services), params.message);
    const types = findTypes(services.diffType, request.headers.get("user-agent"));
    const search = withSender(params.request, types, viewer, client, toOrigin(request), patterns);
    const changes = patterns === undefined ? wantedChanges(request, params) : params.changes;
    const isOfOneNode = params.resume !== undefined || request.headers.has("last-event-id");
    if (isOfOneNode && services.search.fleet?.hasAll === false) return response.reply(400, plainText, notOverNodes);
    if (search.duplicates === true && changes !== undefined)
      return response.reply(400, plainText, "duplicates=1 cannot be combined with since or watch\n");
    if (
      search.groups !== undefined &&
      (changes !== undefined || params.resume !== undefined || search.duplicates === true)
    )
      return response.reply(400, plainText, groupsAlone);
    const lastEventId = request.headers.get("last-event-id") || params.resume?.lastEventId || "";
    const isResumable = params.resume !== undefined || lastEventId !== "";
    if (isResumable && changes !== undefined)
      return response.reply(
        400,
        plainText,
        "resume=1 cannot be combined with since or watch: go on with the last receipt\n",
      );
    if (isResumable && search.duplicates === true) return response.reply(400, plainText, duplicatesNotResumable);
    if (lastEventId !== "") return resume(lastEventId, search, request, response, services);
    const refusal = admit(changes, client, services);
    if (refusal !== undefined) return refuse(response, refusal);
    return begin({ search, changes, waitFor: params.waitFor, isResumable }, request, response, services);
  };
}

/** The receipt is the body of a POST request. */
function wantedChanges(
  { method, body }: HttpRequest,
  { changes }: Pick<StreamParams & { kind: "request" }, "changes">,
): WantedChanges | undefined {
  return method === "POST" ? { since: body.toString(), isWatch: changes?.isWatch === true } : changes;
}

function admit(
  changes: WantedChanges | undefined,
  client: string,
  { search, watches }: Pick<StreamServices, "search" | "watches">,
): Refusal | undefined {
  const refusal = changes?.isWatch === true ? watches.refusal(client) : undefined;
  return refusal === undefined ? search.admit(client) : { ...refusal, retryAfterSeconds: watchRetrySeconds };
}

function refuse(response: HttpResponse, { status, retryAfterSeconds, message }: Refusal): void {
  response.reply(status, { ...plainText, "Retry-After": String(Math.ceil(retryAfterSeconds)) }, `${message}\n`);
}

const notOverNodes = "resume is not available where the repositories are on several nodes: search without it\n";

/** Starts a stream, which has all events. */
function begin(
  wanted: Wanted,
  request: HttpRequest,
  response: HttpResponse,
  services: StreamServices,
): Promise<void> | void {
  const { viewer, client, patterns } = wanted.search;
  const sink = startEvents(request, response, services);
  if (patterns !== undefined && wanted.changes !== undefined)
    return endWithError(sink, "since and watch cannot be combined with patterns");
  const fail = (error: unknown): void => {
    services.log.error({ ...originFields(request), err: error }, `search failed: ${errorMessage(error)}`);
    endWithError(sink, internalError(request));
  };
  const run = (search: SearchRequest): void => runSearch({ ...wanted, search }, sink, services, fail);
  if (wanted.waitFor !== undefined) {
    const context = services.content.contextFor(viewer, request);
    sink.onClosed(() => context.cancel());
    return runAfterCommit(wanted.waitFor, context, sink, (atLeast) => {
      const late = services.search.admit(client);
      if (late === undefined) run(atLeast === undefined ? wanted.search : { ...wanted.search, atLeast });
      else endWithError(sink, late.message);
    }).catch(fail);
  }
  try {
    run(wanted.search);
  } catch (error) {
    fail(error);
  }
}

function runSearch(
  { search, changes, isResumable }: Wanted,
  sink: SseStream,
  services: StreamServices,
  fail: (error: unknown) => void,
): void {
  if (changes !== undefined) streamChanges(search, changes, sink, services).catch(fail);
  else if (isResumable)
    services.resumable.start(search, sink).catch((error: unknown) => {
      if (error instanceof TrawlError && error.code !== "internal") endWithError(sink, error.message);
      else fail(error);
    });
  else services.search.run(search, sink);
}

/** Sends what follows the event with this id. */
async function resume(
  lastEventId: string,
  searched: SearchRequest,
  request: HttpRequest,
  response: HttpResponse,
  services: StreamServices,
): Promise<void> {
  const { search, resumable } = services;
  let sink: SseStream | undefined;
  try {
    const found = await resumable.find(lastEventId, searched);
    if (response.closed) return;
    const refusal = found.isInterrupted ? search.admit(searched.client) : undefined;
    if (refusal !== undefined) return refuse(response, refusal);
    sink = startEvents(request, response, services);
    await resumable.resume(found, searched, sink);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code === "internal") throw error;
    if (sink === undefined) response.replyError(error.httpStatus, error.code, error.message);
    else sink.fail(error.message);
  }
}

/** Runs the search when the commit is searchable; otherwise the stream says why it is not, and has no results. */
async function runAfterCommit(
  commit: AwaitedCommit,
  context: RequestContext,
  sink: SearchListener,
  run: (atLeast: PartitionVersion | undefined) => void,
): Promise<void> {
  let atLeast: PartitionVersion | undefined;
  try {
    atLeast = await waitForCommit(commit, context);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code === "internal") throw error;
    return endWithError(sink, `wait_for: ${error.message}`);
  }
  if (!sink.closed) run(atLeast);
}

function endWithError(sink: SearchListener, message: string): void {
  sink.error(message);
  sink.done();
}

/** Clients that end a stream with an error when a match object has a type that they do not know. */
const strictClient = /^(?:src-cli|Go-http-client)\//;

/**
 * The types of match objects that a client knows. The interface lists "diff"; the original server sends "commit" for both,
 * and some clients accept nothing else, nor "person". `setting` is `search.diffType`.
 */
function findTypes(setting: "auto" | "commit" | "diff", userAgent: string | undefined): ClientTypes {
  const isStrict = strictClient.test(userAgent ?? "");
  if (setting !== "auto") return { diffType: setting, refusesOwners: isStrict && setting === "commit" };
  return { diffType: isStrict ? "commit" : "diff", refusesOwners: isStrict };
}
