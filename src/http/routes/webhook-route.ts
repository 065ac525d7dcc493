import { createHmac, randomBytes } from "node:crypto";
import { type Sender, toSender } from "../../account/records/audit-log.js";
import { RateLimiter, attemptsIn } from "../../account/records/rate-limiter.js";
import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { bearerToken, isSameSecret } from "../access/shared-secret.js";
import type { Handler } from "../server/handler.js";
import { plainText, rateLimitHeaders, waitHeaders } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";

/** Limit on the size of a delivery. Parsing this much JSON takes 3 to 10 ms of the main thread. */
const deliveryBytesMax = 1 << 20;

/** Limit on deliveries per hook, and on refusals per address. */
const deliveriesMax = 600;
const deliveryLimit = attemptsIn(60_000, deliveriesMax);
const refusalLimit = attemptsIn(60_000, 60);
const deliveryQuota = { name: "deliveries", unit: "requests", countMax: deliveriesMax, windowSeconds: 60 } as const;

/** When a sender may try again whose delivery may be about what nodes fetch that do not answer. */
const untoldSeconds = 5;

/** Limit on repositories named in one plain delivery. */
const namedMax = 100;

/** The names that code hosts use for changes of branches or tags. */
const pushEvents: ReadonlySet<string> = new Set([
  "push",
  "create",
  "delete",
  "Push Hook",
  "Tag Push Hook",
  "repo:push",
  "repo:refs_changed",
  "tag_push",
  "repository_update",
]);

/** What became of a delivery; `unneeded` has nothing to be fetched, and `untold` may have something that other nodes fetch. */
export type DeliveryOutcome = "accepted" | "unneeded" | "untold" | "refused" | "limited" | "invalid";

/** The names of repositories that will be fetched, and sentences about nodes of a fleet that could not be told. */
export interface RequestedByAddress {
  readonly queued: readonly string[];
  readonly lacks: readonly string[];
}

export interface WebhookServices {
  /** By the id in the URL. */
  readonly webhookSecrets: ReadonlyMap<string, string>;
  /** Schedules a fetch of the repositories that match any of these addresses. */
  readonly requestByAddress: (addresses: readonly string[]) => Promise<RequestedByAddress>;
  /** Records a refused delivery. */
  readonly recordRefusal: (sender: Sender, reason: string) => void;
  readonly count: (outcome: DeliveryOutcome) => void;
}

/**
 * `POST /.api/webhooks/ID`: a code host announces a push, and the repositories that it names are fetched immediately
 * rather than at their next scheduled time.
 *
 * The sender proves that it knows the secret of the hook: by a signature of the body (GitHub, Gitea, Forgejo), as a
 * token (GitLab), or as `Authorization: Bearer`. Several deliveries for a repository that is waiting cause one fetch.
 */
export function addWebhookRoute(server: HttpServer, services: WebhookServices): void {
  server.routeWithBody("POST", "/.api/webhooks/ID", deliveryBytesMax, webhookHandler(services));
}

function webhookHandler({ webhookSecrets, requestByAddress, recordRefusal, count }: WebhookServices): Handler {
  const deliveries = new RateLimiter(deliveryLimit);
  const refusals = new RateLimiter(refusalLimit);
  // An unknown hook is checked like an existing one, so its response takes as long.
  const nobodysSecret = randomBytes(32).toString("hex");
  const tooMany = (response: HttpResponse, limit: string, waitMs: number): void => {
    count("limited");
    const headers = { ...plainText, ...waitHeaders(limit, Math.ceil(waitMs / 1000)) };
    response.reply(429, headers, "Too many deliveries within one minute.\n");
  };
  const answer = async (addresses: readonly string[], response: HttpResponse): Promise<void> => {
    const { queued, lacks } = await requestByAddress(addresses);
    if (queued.length === 0 && lacks.length > 0) {
      count("untold");
      const headers = { "Retry-After": String(untoldSeconds) };
      return response.replyError(503, "overloaded", lacks.join("; "), headers);
    }
    count(queued.length > 0 ? "accepted" : "unneeded");
    const body = JSON.stringify({ queued, ...(lacks.length === 0 ? {} : { lacks }) });
    return response.reply(202, { ...plainText, "Content-Type": "application/json" }, body);
  };
  return (request, response) => {
    const id = request.params["ID"] ?? "";
    const refusalWaitMs = refusals.begin(request.remoteAddress, monotonicMs());
    if (refusalWaitMs > 0) return tooMany(response, "refusals", refusalWaitMs);
    if (!isGenuine(request, webhookSecrets.get(id) ?? nobodysSecret)) {
      count("refused");
      recordRefusal(toSender(request), `no webhook ${JSON.stringify(id.slice(0, 64))}, or a wrong secret`);
      return response.reply(401, plainText, "There is no such webhook, or the secret is wrong.\n");
    }
    refusals.forgive(request.remoteAddress);
    const waitMs = deliveries.begin(id, monotonicMs());
    const { left, resetMs } = deliveries.room(id, monotonicMs());
    response.addHeaders(rateLimitHeaders([{ ...deliveryQuota, left, resetSeconds: Math.ceil(resetMs / 1000) }]));
    if (waitMs > 0) return tooMany(response, deliveryQuota.name, waitMs);
    let addresses: readonly string[];
    try {
      addresses = readDelivery(request);
    } catch (error) {
      if (!(error instanceof TrawlError)) throw error;
      count("invalid");
      return response.replyError(error.httpStatus, error.code, error.message);
    }
    return answer(addresses, response);
  };
}

function isGenuine(request: HttpRequest, secret: string): boolean {
  const { headers, body } = request;
  const signature =
    headers.get("x-hub-signature-256")?.replace(/^sha256=/, "") ??
    headers.get("x-forgejo-signature") ??
    headers.get("x-gitea-signature");
  if (signature !== undefined)
    return isSameSecret(signature.toLowerCase(), createHmac("sha256", secret).update(body).digest("hex"));
  const token = headers.get("x-gitlab-token") ?? bearerToken(request);
  return token !== undefined && isSameSecret(token, secret);
}

/** The addresses of what has changed; none for an event that changes no branch. Throws `bad-request`. */
function readDelivery(request: HttpRequest): readonly string[] {
  const { headers } = request;
  const event =
    headers.get("x-github-event") ??
    headers.get("x-forgejo-event") ??
    headers.get("x-gitea-event") ??
    headers.get("x-gitlab-event") ??
    headers.get("x-event-key");
  const payload = readPayload(request);
  const named = event === "System Hook" ? (toText(payload["event_name"]) ?? "") : event;
  return named === undefined || pushEvents.has(named) ? addressesIn(payload) : [];
}

type Fields = Readonly<Record<string, unknown>>;

/**
 * JSON, or a form with JSON in its field `payload`. JSON with the content type of a form is treated as JSON, because
 * `curl -d` sends it like that.
 */
function readPayload({ headers, body }: HttpRequest): Fields {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    const isForm =
      headers.get("content-type")?.toLowerCase().startsWith("application/x-www-form-urlencoded") === true &&
      !text.trimStart().startsWith("{");
    const payload: unknown = JSON.parse(isForm ? (new URLSearchParams(text).get("payload") ?? "") : text);
    if (isObject(payload)) return payload;
  } catch (error) {
    throw new TrawlError("bad-request", `the delivery is not JSON in UTF-8: ${errorMessage(error)}`);
  }
  throw new TrawlError("bad-request", 'the delivery must be a JSON object with a "repository"');
}

/** All addresses and names that the delivery gives for its repository. */
function addressesIn(payload: Fields): string[] {
  const repository = toFields(payload["repository"]);
  const project = toFields(payload["project"]);
  const page = toFields(toFields(repository["links"])["html"]);
  const several = Array.isArray(payload["repositories"]) ? payload["repositories"].slice(0, namedMax) : [];
  return [
    payload["repository"],
    ...several,
    page["href"],
    ...["clone_url", "ssh_url", "git_url", "html_url", "url", "git_http_url", "git_ssh_url", "homepage"].map(
      (name) => repository[name],
    ),
    ...["git_http_url", "git_ssh_url", "web_url"].map((name) => project[name]),
  ].flatMap((value) => toText(value) ?? []);
}

function toFields(value: unknown): Fields {
  return isObject(value) ? value : {};
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}
