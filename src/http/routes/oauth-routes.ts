import { toSender } from "../../account/records/audit-log.js";
import type {
  AccessTokens,
  Program,
  RefreshableTexts,
  RefreshLifetimes,
} from "../../account/identity/access-tokens.js";
import type { AccessTokenPolicy, Authenticator } from "../../account/sign-in/authenticator.js";
import type { Approver, DeviceGrants } from "../../account/sign-in/device-grants.js";
import type { Origins } from "../../account/sign-in/origins.js";
import { monotonicMs } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import type { Viewer } from "../../model/viewer.js";
import { admit, refusePage } from "../access/guard.js";
import type { Handler } from "../server/handler.js";
import { plainText, type Headers } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";
import { devicePageText, formPageHeaders, type DevicePage } from "./form-pages.js";

/** Services for programs that act for a user who approves them in a browser. */
export interface OAuthServices {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly origins: Pick<Origins, "trusts">;
  readonly externalUrl: () => string;
  readonly oauth: {
    readonly policy: AccessTokenPolicy;
    readonly devices: DeviceGrants;
    readonly tokens: Pick<AccessTokens, "createRefreshable" | "refresh" | "revoke">;
    /** Whether a session has not been ended. */
    readonly hasSession: (id: string) => boolean;
    /** How long after its last use such a token can be refreshed, and after it was authorized. */
    readonly refreshMs: number;
    readonly familyMs: number;
  };
}

const bodyBytesMax = 8 << 10;

/**
 * The commands `src` and `trawl`, with the note of their tokens. They keep no secret, so a name proves nothing: only the
 * user's approval counts.
 */
const notes: ReadonlyMap<string, string> = new Map([
  ["sgo_cid_sourcegraph-cli", "src, authorized in a browser"],
  ["trawl", "trawl, authorized in a browser"],
]);

/** All are granted together: a token may do what its user may do. */
const scopes: ReadonlySet<string> = new Set(["email", "offline_access", "openid", "profile", "user:all"]);

const tokenLifetimeMs = 3_600_000;

const paths = {
  device: "/-/oauth/device/code",
  page: "/-/oauth/device",
  token: "/-/oauth/token",
  revoke: "/-/oauth/revoke",
} as const;

const json: Headers = { "Content-Type": "application/json", "Cache-Control": "no-store", Pragma: "no-cache" };

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/** An answer to a program, in the form of OAuth 2.0. */
class OAuthError extends TrawlError {
  readonly error: string;
  readonly status: number;

  constructor(error: string, description: string, status = 400) {
    super("bad-request", description);
    this.error = error;
    this.status = status;
  }
}

/**
 * OAuth 2.0 device authorization (RFC 8628) as `src login` and `trawl login` use it, with refresh (RFC 6749) and
 * revocation (RFC 7009). A token is an access token of the user, which the user's settings show and delete like any other.
 */
export function addOAuthRoutes(server: HttpServer, services: OAuthServices): void {
  // With no access tokens there is nothing to grant: clients then ask for none.
  if (services.oauth.policy === "none") return;
  server.route("GET", "/.well-known/openid-configuration", (_, response) =>
    response.reply(200, { ...json, "Cache-Control": "max-age=300" }, JSON.stringify(discovery(services.externalUrl()))),
  );
  const post = (path: string, handler: (form: URLSearchParams, request: HttpRequest) => unknown): void =>
    server.routeWithBody("POST", path, bodyBytesMax, jsonHandler(handler));
  post(paths.device, (form, request) => beginGrant(form, request, services));
  post(paths.token, (form, request) => issueToken(form, request, services));
  post(paths.revoke, async (form, request) => {
    checkClient(form);
    await services.oauth.tokens.revoke(form.get("token") ?? "", toSender(request));
    return {};
  });
  server.route(
    "GET",
    paths.page,
    pageHandler(services, (request, response, viewer) =>
      showPage(response, viewer, new URLSearchParams(request.query).get("user_code") ?? "", ""),
    ),
  );
  server.routeWithBody(
    "POST",
    paths.page,
    bodyBytesMax,
    pageHandler(services, (request, response, viewer) => decide(request, response, viewer, services)),
  );
}

function discovery(base: string) {
  return {
    issuer: base,
    token_endpoint: base + paths.token,
    device_authorization_endpoint: base + paths.device,
    revocation_endpoint: base + paths.revoke,
    grant_types_supported: [deviceGrant, "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    scopes_supported: [...scopes],
    response_types_supported: [],
  };
}

function beginGrant(form: URLSearchParams, { remoteAddress }: HttpRequest, { oauth, externalUrl }: OAuthServices) {
  const { client } = checkClient(form);
  const unknown = (form.get("scope") ?? "").split(" ").filter((scope) => scope !== "" && !scopes.has(scope));
  if (unknown.length > 0) throw new OAuthError("invalid_scope", `the scopes are ${[...scopes].join(", ")}`);
  const codes = oauth.devices.begin(remoteAddress, client, monotonicMs());
  const page = externalUrl() + paths.page;
  return {
    device_code: codes.deviceCode,
    user_code: codes.userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${codes.userCode}`,
    expires_in: codes.lifetimeSeconds,
    interval: codes.intervalSeconds,
  };
}

async function issueToken(form: URLSearchParams, request: HttpRequest, services: OAuthServices) {
  const program = checkClient(form);
  const { tokens, refreshMs, familyMs } = services.oauth;
  const lifetimes: RefreshLifetimes = { lifetimeMs: tokenLifetimeMs, refreshMs, familyMs };
  switch (form.get("grant_type")) {
    case deviceGrant:
      return answerPoll(form.get("device_code") ?? "", program, lifetimes, request, services);
    case "refresh_token": {
      const given = form.get("refresh_token") ?? "";
      const texts = await tokens.refresh(given, program.client, lifetimes, toSender(request));
      if (texts === undefined)
        throw new OAuthError("invalid_grant", "the refresh token is unknown, used, expired or revoked: sign in again");
      return shownTexts(texts);
    }
    default:
      throw new OAuthError("unsupported_grant_type", `grant_type must be ${deviceGrant} or refresh_token`);
  }
}

async function answerPoll(
  deviceCode: string,
  program: Program,
  lifetimes: RefreshLifetimes,
  request: HttpRequest,
  { oauth }: OAuthServices,
) {
  const outcome = oauth.devices.poll(deviceCode, program.client, monotonicMs());
  switch (outcome.kind) {
    case "pending":
      throw new OAuthError("authorization_pending", "the user has not answered yet");
    case "slow-down":
      throw new OAuthError("slow_down", "ask less often");
    case "expired":
      throw new OAuthError("expired_token", "the code is unknown, used or expired: begin again");
    case "denied":
      throw new OAuthError("access_denied", "the user refused");
    case "approved": {
      const { userId, sessionId } = outcome.by;
      const approval = {
        userId,
        isStillApproved: ({ isSiteAdmin }: { readonly isSiteAdmin: boolean }) =>
          oauth.hasSession(sessionId) && (oauth.policy !== "site-admin-create" || isSiteAdmin),
      };
      const texts = await oauth.tokens.createRefreshable(approval, program, lifetimes, toSender(request));
      if (texts === undefined)
        throw new OAuthError("access_denied", "the session of the user who agreed has ended: begin again");
      return shownTexts(texts);
    }
  }
}

function shownTexts({ text, refreshText }: RefreshableTexts) {
  return {
    access_token: text,
    refresh_token: refreshText,
    expires_in: tokenLifetimeMs / 1000,
    token_type: "Bearer",
    scope: "user:all offline_access",
  };
}

function checkClient(form: URLSearchParams): Program {
  const client = form.get("client_id") ?? "";
  const note = notes.get(client);
  if (note === undefined) throw new OAuthError("invalid_client", "this client is not known", 401);
  return { client, note };
}

function jsonHandler(handler: (form: URLSearchParams, request: HttpRequest) => unknown): Handler {
  return async (request, response) => {
    try {
      const found = await handler(new URLSearchParams(Buffer.from(request.body).toString()), request);
      response.reply(200, json, JSON.stringify(found));
    } catch (error) {
      if (!(error instanceof TrawlError) || (!(error instanceof OAuthError) && error.httpStatus === 500)) throw error;
      const [name, status] =
        error instanceof OAuthError ? [error.error, error.status] : ["temporarily_unavailable", error.httpStatus];
      response.reply(status, json, JSON.stringify({ error: name, error_description: error.message }));
    }
  };
}

type PageHandler = (request: HttpRequest, response: HttpResponse, viewer: Viewer & Approver) => void;

/** Only a browser session approves: a token could otherwise make others that outlive it. */
function pageHandler({ authenticator, origins, oauth }: OAuthServices, handler: PageHandler): Handler {
  return (request, response) => {
    const origin = request.headers.get("origin");
    if (origin !== undefined && !origins.trusts(origin, request.headers.get("host")))
      return response.reply(403, plainText, "The request comes from a page of another site.\n");
    const entry = authenticator.authenticate(request);
    if (entry.kind === "refused") return refusePage(request, response, entry);
    const { viewer } = entry;
    const { userId, credential, isSiteAdmin } = viewer;
    if (userId === undefined || credential?.kind !== "session")
      return refusePage(request, response, {
        kind: "refused",
        status: 401,
        message: "Sign in first.",
        wantsSignIn: true,
      });
    if (oauth.policy === "site-admin-create" && !isSiteAdmin)
      return response.reply(403, plainText, "Only site admins may create access tokens here: auth.accessTokens.\n");
    return admit(entry, response, () => handler(request, response, { ...viewer, userId, sessionId: credential.id }));
  };
}

function decide(
  request: HttpRequest,
  response: HttpResponse,
  viewer: Viewer & Approver,
  { oauth }: OAuthServices,
): void {
  const form = new URLSearchParams(Buffer.from(request.body).toString());
  const code = form.get("user_code") ?? "";
  const isApproved = form.get("decision") === "approve";
  try {
    const who = `user/${viewer.userId}`;
    const isKnown = oauth.devices.decide(code, isApproved ? viewer : undefined, who, monotonicMs());
    if (!isKnown) return showPage(response, viewer, code, "No program waits with this code. It may have expired.", 404);
    const message = isApproved ? "The program is authorized" : "The program was refused";
    replyPage(response, 200, { kind: "done", message });
  } catch (error) {
    if (!(error instanceof TrawlError) || error.httpStatus === 500) throw error;
    showPage(response, viewer, code, error.message, error.httpStatus);
  }
}

function showPage(response: HttpResponse, { name }: Viewer, code: string, problem: string, status = 200): void {
  replyPage(response, status, { kind: "ask", user: name, code: code.slice(0, 32), problem });
}

function replyPage(response: HttpResponse, status: number, page: DevicePage): void {
  response.reply(status, formPageHeaders, devicePageText(page));
}
