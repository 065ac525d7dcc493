import type { Authenticator } from "../../account/sign-in/authenticator.js";
import type { ProviderSignIn } from "../../account/sign-in/provider-sign-in.js";
import type { Origins } from "../../account/sign-in/origins.js";
import type { Log } from "../../base/log.js";
import { FairSemaphore, share, shareLimits } from "../../base/fair-semaphore.js";
import type { MetricRegistry } from "../../base/metrics.js";
import type { Viewer } from "../../model/viewer.js";
import type { GraphqlExecutor } from "../../graphql/execution/executor.js";
import { addOpenApiRoute } from "../api/openapi.js";
import { blameHandler, blamePattern } from "./blame-route.js";
import { addClientRoutes, type ClientServices } from "./client-routes.js";
import type { ContentServices } from "./named-content.js";
import { headersOfEvery } from "../access/cors.js";
import { graphqlAdmission, graphqlBytesMax } from "./graphql-route.js";
import { guarded, guardedBody, type ViewerHandler } from "../access/guard.js";
import type { ClientPermits } from "../access/concurrency.js";
import { addMcpRoutes, type McpServices } from "./mcp-route.js";
import { pageHandler } from "./page-routes.js";
import { rawHandler } from "./raw-route.js";
import { ByteBudget } from "../server/request-body.js";
import { exportHandler, exportPaths, type ExportServices } from "./export-route.js";
import { requestCheck, type TrustedHosts } from "../access/request-check.js";
import type { ResumableStreams } from "../../resume/resumable-streams.js";
import type { ChangeWatches } from "../../search/changes/change-watch.js";
import { addOAuthRoutes, type OAuthServices } from "./oauth-routes.js";
import { addProviderRoutes, type ProviderServices } from "./provider-routes.js";
import { addSearchJobRoutes } from "./search-job-routes.js";
import { addSignInRoutes, type SignInServices } from "./sign-in-routes.js";
import { type SearchHandler, streamHandler } from "./stream-route.js";
import type { WebFiles } from "./web-files.js";
import { addWebFileRoute } from "./web-pages.js";
import { addUploadRoutes, type UploadServices } from "./upload-route.js";
import { addScimRoutes, type ScimServices } from "./scim-routes.js";
import { addWebhookRoute, type WebhookServices } from "./webhook-route.js";
import type { Handler } from "../server/handler.js";
import { plainText } from "../server/headers.js";
import type { HttpServer } from "../server/uws.js";
import { WriteBudget } from "../stream/sse.js";
import { TrawlError } from "../../base/errors.js";
import { parsePatternBody } from "../stream/stream-params.js";
import { receiptLists, type ReceiptRange } from "../../search/report/latest-searches.js";
import { patternSetLimits } from "../../query/plan/pattern-set.js";
import type { Searcher } from "../../search/searcher.js";

/** Limit on the total size of request bodies that are being received or processed. */
const bodiesBytesMax = 64 << 20;

/** Limit on a receipt that a client sends: parsing this much JSON takes 3 to 10 ms of the main thread. */
const receiptBytesMax = 1 << 20;

/** Limit on receipts that are being received. */
const receiptsMax = 64;

/** Adds the daemon's routes to the server. */
export function addRoutes(server: HttpServer, services: Services): void {
  server.setCheck(requestCheck(services.hosts, services.log));
  server.setHeaders(headersOfEvery(services.origins));
  const guard = (handler: ViewerHandler): Handler => guarded(services.authenticator, handler);
  /** Also for narrow tokens that may search. */
  const reading = (handler: ViewerHandler): Handler => guarded(services.authenticator, handler, "search");
  const events = { ...services, budget: new WriteBudget() };
  const stream = reading(streamHandler(events));
  for (const path of ["/.api/search/stream", "/search/stream"]) {
    server.route("GET", path, stream);
    addPatternRoute(server, path, services, (patterns) => streamHandler(events, patterns));
  }
  const permits = new FairSemaphore(shareLimits(receiptsMax, receiptsMax, services.sharePercent));
  const changes = guardedBody(services.authenticator, permits, "receipts", streamHandler(events), {
    suffices: "search",
  });
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
  server.route("GET", "/.api/search/receipt/ID", reading(receiptHandler(services.search)));
  for (const [pattern, file, example] of exportPaths)
    server.route("GET", pattern, guard(exportHandler(services, file, example)));
  addSearchJobRoutes(server, services);
  server.route("GET", blamePattern, reading(blameHandler(services.content, events, services.sharePercent)));
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
      if (!services.servesMetrics)
        return response.reply(404, plainText, "The metrics are served at another address: metrics.listen.\n");
      const text = await services.metrics.text();
      response.reply(200, { "Content-Type": services.metrics.contentType }, text);
    }),
  );
  addMcpRoutes(server, { ...services, contextFor: services.content.contextFor });
  addSignInRoutes(server, services);
  addOAuthRoutes(server, services);
  addProviderRoutes(server, { ...services, baseUrl: services.oauth.baseUrl });
  addScimRoutes(server, { ...services.scim, baseUrl: services.oauth.baseUrl });
  addClientRoutes(server, services, guard);
  addUploadRoutes(server, { ...services.uploads, contextFor: services.content.contextFor }, services.authenticator);
  addOpenApiRoute(server, services.externalUrl, guard);
  addWebhookRoute(server, services.webhooks);
  addWebFileRoute(server, services.web);
  const raw = rawHandler(services.content, services.sharePercent);
  server.otherwise(
    pageHandler(services.authenticator, services.content, raw, services.web, services.providers),
    "pages",
  );
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
  readonly providers: ProviderServices["providers"] & Pick<ProviderSignIn, "buttons">;
  readonly proxies: ProviderServices["proxies"];
  readonly sessionUserId: ProviderServices["sessionUserId"];
  readonly search: SearchHandler;
  /** Streams that wait for changes. */
  readonly watches: Pick<ChangeWatches, "refusal" | "run">;
  readonly jobs: ExportServices["jobs"];
  readonly resumable: Pick<ResumableStreams, "start" | "find" | "resume">;
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
  /** False if another server does. */
  readonly servesMetrics: boolean;
  readonly log: Log;
  readonly content: ContentServices;
  readonly refresh: ClientServices["refresh"];
  readonly externalUrl: () => string;
  readonly webhooks: WebhookServices;
  readonly scim: Omit<ScimServices, "baseUrl">;
  readonly uploads: Omit<UploadServices, "contextFor">;
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

/** The sizes of bodies are bounded together, and a search is admitted when its body is complete. */
const always: ClientPermits = { refusal: () => undefined, room: () => ({ countMax: Infinity, left: Infinity }) };

/** Adds the route of a search for the patterns in the body, which `handle` gets. */
function addPatternRoute(
  server: HttpServer,
  path: string,
  { authenticator }: { readonly authenticator: Pick<Authenticator, "authenticate"> },
  handle: (patterns: readonly string[]) => ViewerHandler,
): void {
  const handler: ViewerHandler = (request, response, viewer) => {
    let patterns: readonly string[];
    try {
      patterns = parsePatternBody(request.body);
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "bad-request") throw error;
      return response.reply(400, plainText, `${error.message}\n`);
    }
    return handle(patterns)(request, response, viewer);
  };
  const admission = guardedBody(authenticator, always, "searches", handler, { suffices: "search" });
  server.routeWithAdmission("POST", path, patternSetLimits.allBytesMax, admission);
}

const json = { "Content-Type": "application/json" };

const itemsDefault = 1_000;

/** Part of a list of a receipt: `/.api/search/receipt/ID?list=excluded&from=0&count=1000`. */
function receiptHandler(search: Pick<Searcher, "receiptPage">): ViewerHandler {
  return (request, response, viewer) => {
    const range = readRange(new URLSearchParams(request.query));
    if (typeof range === "string") return response.reply(400, plainText, `${range}\n`);
    const page = search.receiptPage(request.params["ID"] ?? "", range, viewer);
    if (page === undefined)
      return response.reply(404, plainText, "no such receipt: only receipts of recent searches are available\n");
    response.reply(200, json, JSON.stringify(page));
  };
}

/** Returns a message if a parameter is invalid. */
function readRange(given: URLSearchParams): ReceiptRange | string {
  const list = receiptLists.find((name) => name === (given.get("list") ?? "excluded"));
  if (list === undefined) return `list must be one of ${receiptLists.join(", ")}`;
  const from = readIndex(given.get("from"), 0);
  if (from === undefined) return "from must be a whole number";
  const count = readIndex(given.get("count"), itemsDefault);
  return count === undefined ? "count must be a whole number" : { list, from, count };
}

function readIndex(text: string | null, absent: number): number | undefined {
  if (text === null) return absent;
  return /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}
