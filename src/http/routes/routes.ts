import type { Authenticator } from "../../account/sign-in/authenticator.js";
import type { Origins } from "../../account/sign-in/origins.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import { FairSemaphore, share, shareLimits } from "../../base/fair-semaphore.js";
import type { MetricRegistry } from "../../base/metrics.js";
import { waitForCommit, type AwaitedCommit } from "../../browse/commit-wait.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { EventSink } from "../../model/event-sink.js";
import { clientKey } from "../../model/client.js";
import type { Viewer } from "../../model/viewer.js";
import type { GraphqlExecutor } from "../../graphql/execution/executor.js";
import { blameHandler, blamePattern } from "./blame-route.js";
import { addClientRoutes, type ClientServices } from "./client-routes.js";
import type { ContentServices } from "./content.js";
import { headersOfEvery } from "../access/cors.js";
import { refuseHead, startEvents, type EventServices } from "../stream/event-response.js";
import { graphqlBytesMax, graphqlAdmission } from "./graphql-route.js";
import { guarded, guardedBody, type ViewerHandler } from "../access/guard.js";
import { addMcpRoutes, type McpServices } from "./mcp-route.js";
import { pageHandler } from "./pages.js";
import { addPatternRoute } from "./pattern-route.js";
import { rawHandler } from "./raw-route.js";
import { ByteBudget } from "../server/request-body.js";
import { receiptHandler } from "./receipt-route.js";
import { exportHandler, type ExportServices } from "./export-route.js";
import { requestCheck } from "../access/request-check.js";
import type { ChangeWatches } from "../../search/changes/change-watch.js";
import type { Searcher } from "../../search/searcher.js";
import { addOAuthRoutes, type OAuthServices } from "./oauth-routes.js";
import { addSignInRoutes, type SignInServices } from "./sign-in-routes.js";
import { streamChanges } from "../stream/change-stream.js";
import { chooseDiffType } from "../stream/diff-type.js";
import { parseStreamParams, type StreamParams, type WantedChanges, withSender } from "../stream/stream-params.js";
import type { TrustedHosts } from "../access/trusted-hosts.js";
import type { WebFiles } from "./web-files.js";
import { addWebFileRoute } from "./web-pages.js";
import { addWebhookRoute, type WebhookServices } from "./webhook-route.js";
import type { Handler } from "../server/handler.js";
import { plainText } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpServer } from "../server/uws.js";
import { WriteBudget } from "../stream/write-budget.js";

/** Limit on the total size of request bodies that are being received or processed. */
const bodiesBytesMax = 64 << 20;

/** Limit on a receipt that a client sends: parsing this much JSON takes 3 to 10 ms of the main thread. */
const receiptBytesMax = 1 << 20;

/** When a client may ask again for a stream that waits for changes. */
const watchRetrySeconds = 60;

/** Limit on receipts that are being received. */
const receiptsMax = 64;

/** Adds the daemon's routes to the server. */
// biome-ignore lint/complexity/noExcessiveLinesPerFunction: it is a table of routes, which is read in one piece.
export function addRoutes(server: HttpServer, services: Services): void {
  server.setCheck(requestCheck(services.hosts, services.log));
  server.setHeaders(headersOfEvery(services.origins));
  const guard = (handler: ViewerHandler): Handler => guarded(services.authenticator, handler);
  const events = { ...services, budget: new WriteBudget() };
  const stream = guard(streamHandler(events));
  for (const path of ["/.api/search/stream", "/search/stream"]) {
    server.route("GET", path, stream);
    addPatternRoute(server, path, services, (patterns) => streamHandler(events, patterns));
  }
  const permits = new FairSemaphore(shareLimits(receiptsMax, receiptsMax, services.sharePercent));
  const changes = guardedBody(services.authenticator, permits, "receipts", streamHandler(events));
  server.routeWithAdmission("POST", "/.api/search/changes", receiptBytesMax, changes);
  server.setBodyBudget(new ByteBudget(bodiesBytesMax, share(bodiesBytesMax, services.sharePercent)));
  server.routeWithAdmission(
    "POST",
    "/.api/graphql",
    graphqlBytesMax,
    graphqlAdmission(services.authenticator, services.graphql, services.sharePercent),
  );
  server.route(
    "GET",
    "/.api/client-config",
    guard((_, response) => response.reply(200, { "Content-Type": "application/json" }, JSON.stringify(clientConfig))),
  );
  server.route(
    "GET",
    "/.api/search/trace/ID",
    guard((request, response, viewer) => {
      const text = services.search.trace(request.params["ID"] ?? "", viewer);
      if (text === undefined)
        response.reply(404, plainText, "no such trace: only traces of recent searches are available\n");
      else response.reply(200, plainText, text);
    }),
  );
  server.route("GET", "/.api/search/receipt/ID", guard(receiptHandler(services.search)));
  // A link of a page sends no header of its own, without which a session is not valid below `/.api/`.
  for (const folder of ["/.api/search/export", "/-/search-jobs"])
    server.route("GET", `${folder}/FILE`, guard(exportHandler(services)));
  server.route("GET", blamePattern, guard(blameHandler(services.content, events, services.sharePercent)));
  server.route("GET", "/healthz", (_request, response) => response.reply(200, plainText, "ok\n"));
  // Health checks have no credential. Repositories that the viewer may not see are counted, but not named.
  server.route("GET", "/readyz", (request, response) => {
    const entry = services.authenticator.authenticate(request);
    const { ready, body } = services.readiness(entry.kind === "viewer" ? entry.viewer : undefined);
    response.reply(ready ? 200 : 503, { "Content-Type": "application/json" }, `${JSON.stringify(body, null, 2)}\n`);
  });
  server.route(
    "GET",
    "/metrics",
    guard(async (_request, response, viewer) => {
      if (!services.seesAll(viewer))
        return response.reply(
          403,
          plainText,
          "Metrics include searches in private repositories: only a site admin may read them.\n",
        );
      const text = await services.metrics.text();
      response.reply(200, { "Content-Type": services.metrics.contentType }, text);
    }),
  );
  addMcpRoutes(server, { ...services, contextFor: services.content.contextFor });
  addSignInRoutes(server, services);
  addOAuthRoutes(server, services);
  addClientRoutes(server, services, guard);
  addWebhookRoute(server, services.webhooks);
  addWebFileRoute(server, services.web);
  const raw = rawHandler(services.content, services.sharePercent);
  server.otherwise(pageHandler(services.authenticator, services.content, raw, services.web));
}

/** The services that the routes use. */
export interface Services {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly origins: Pick<Origins, "trusts">;
  readonly hosts: Pick<TrustedHosts, "has">;
  /** The share of each limit that one client may use, in percent. */
  readonly sharePercent: number;
  readonly signIn: SignInServices["signIn"];
  readonly cookies: SignInServices["cookies"];
  readonly isNameTaken: SignInServices["isNameTaken"];
  readonly oauth: OAuthServices["oauth"];
  readonly search: SearchHandler;
  /** Streams that wait for changes. */
  readonly watches: Pick<ChangeWatches, "refusal" | "run">;
  readonly jobs: ExportServices["jobs"];
  readonly graphql: Pick<GraphqlExecutor, "answer">;
  readonly mcp: McpServices["mcp"];
  /**
   * For `/readyz`: whether each repository is searchable or has failed, and the progress of each repository visible to
   * the viewer as JSON; undefined sees none.
   */
  readonly readiness: (viewer: Viewer | undefined) => Readiness;
  /** Whether no repository is hidden from the viewer. */
  readonly seesAll: (viewer: Viewer) => boolean;
  readonly metrics: MetricRegistry;
  readonly log: Log;
  readonly content: ContentServices;
  readonly refresh: ClientServices["refresh"];
  readonly externalUrl: () => string;
  readonly webhooks: WebhookServices;
  /** The files of the web pages; undefined if they are missing. */
  readonly web: WebFiles | undefined;
  /** The option `search.diffType`. */
  readonly diffType: "auto" | "commit" | "diff";
  /** A client that reads nothing for this long is disconnected. */
  readonly stallMs: number;
}

export interface Readiness {
  readonly ready: boolean;
  readonly body: unknown;
}

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
  readonly receiptRevisions: Searcher["receiptRevisions"];
}

export interface Refusal {
  readonly status: 429 | 503;
  readonly message: string;
  readonly retryAfterSeconds: number;
}

/**
 * Invalid parameters are reported as events in a stream with status 200: clients of this interface display them only in
 * this form.
 */
function streamHandler(services: Services & EventServices, patterns?: readonly string[]): ViewerHandler {
  const { search, log } = services;
  return (request, response, viewer) => {
    if (request.method === "HEAD") return refuseHead(response);
    const params = parseStreamParams(request.query, patterns !== undefined);
    const client = clientKey(viewer, request.remoteAddress);
    const refusal = params.kind === "request" ? refuse(params, client, services) : undefined;
    if (refusal) {
      const retry = { "Retry-After": String(Math.ceil(refusal.retryAfterSeconds)) };
      return response.reply(refusal.status, { ...plainText, ...retry }, `${refusal.message}\n`);
    }
    const sink = startEvents(request, response, services);
    if (params.kind === "bad") return endWithError(sink, params.message);
    const diffType = chooseDiffType(services.diffType, request.headers.get("user-agent"));
    const wanted = withSender(params.request, diffType, viewer, client, patterns);
    const changes = patterns === undefined ? wantedChanges(request, params) : params.changes;
    if (patterns !== undefined && changes !== undefined)
      return endWithError(sink, "since and watch cannot be combined with patterns");
    const run = (): void => {
      if (changes === undefined) search.run(wanted, sink);
      else streamChanges(wanted, changes, sink, services).catch(fail);
    };
    const fail = (error: unknown): void => {
      log.error({ err: error }, `search failed: ${errorMessage(error)}`);
      endWithError(sink, "internal error");
    };
    if (params.waitFor !== undefined) {
      const context = services.content.contextFor(viewer, request.remoteAddress);
      sink.onClosed(() => context.cancel());
      return runAfterCommit(params.waitFor, context, sink, () => {
        const late = search.admit(client);
        if (late === undefined) run();
        else endWithError(sink, late.message);
      }).catch(fail);
    }
    try {
      run();
    } catch (error) {
      fail(error);
    }
  };
}

/** The receipt is the body of a POST request. */
function wantedChanges(
  { method, body }: HttpRequest,
  { changes }: Pick<StreamParams & { kind: "request" }, "changes">,
): WantedChanges | undefined {
  return method === "POST" ? { since: body.toString(), isWatch: changes?.isWatch === true } : changes;
}

function refuse(
  { changes }: Pick<StreamParams & { kind: "request" }, "changes">,
  client: string,
  { search, watches }: Pick<Services, "search" | "watches">,
): Refusal | undefined {
  const refusal = changes?.isWatch === true ? watches.refusal(client) : undefined;
  return refusal === undefined ? search.admit(client) : { ...refusal, retryAfterSeconds: watchRetrySeconds };
}

/** Runs the search when the commit is searchable; otherwise the stream says why it is not, and has no results. */
async function runAfterCommit(
  commit: AwaitedCommit,
  context: RequestContext,
  sink: EventSink,
  run: () => void,
): Promise<void> {
  try {
    await waitForCommit(commit, context);
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code === "internal") throw error;
    return endWithError(sink, `wait_for: ${error.message}`);
  }
  if (!sink.closed) run();
}

/** What assistants in editors request at startup: all features other than search are off. */
const clientConfig = {
  chatEnabled: false,
  autoCompleteEnabled: false,
  customCommandsEnabled: false,
  attributionEnabled: false,
  attribution: "none",
  smartContextWindowEnabled: false,
  modelsAPIEnabled: false,
  userShouldUseEnterprise: false,
  latestSupportedCompletionsStreamAPIVersion: 0,
};

function endWithError(sink: EventSink, message: string): void {
  sink.send("error", [JSON.stringify({ message })]);
  sink.send("done", ["{}"]);
  sink.end();
}
