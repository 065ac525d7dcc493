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
import { plainText } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";
import { addAuthorizeRoutes, asksForMore, mcpProgram, type AuthorizeServices } from "./authorize-routes.js";
import { devicePageText, formPageHeaders, type DevicePage } from "./form-pages.js";
import { OAuthError, oauthHandler, oauthJson, type PageHandler } from "./oauth-answers.js";

/** Services for programs that act for a user who approves them in a browser. */
export interface OAuthServices {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly origins: Pick<Origins, "trusts">;
  readonly oauth: AuthorizeServices & {
    readonly policy: AccessTokenPolicy;
    readonly devices: DeviceGrants;
    readonly tokens: Pick<AccessTokens, "createRefreshable" | "refresh" | "revoke" | "endGranted">;
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
const commands: ReadonlyMap<string, Program> = new Map(
  (
    [
      ["sgo_cid_sourcegraph-cli", "src"],
      ["trawl", "trawl"],
    ] as const
  ).map(([client, name]) => [client, { client, note: `${name}, authorized in a browser`, scopes: ["user:all"] }]),
);

/** All are granted together to those commands: a token may do what its user may do. */
const commandScopes: ReadonlySet<string> = new Set(["email", "offline_access", "openid", "profile", "user:all"]);

const tokenLifetimeMs = 3_600_000;

const paths = {
  device: "/-/oauth/device/code",
  page: "/-/oauth/device",
  authorize: "/-/oauth/authorize",
  token: "/-/oauth/token",
  revoke: "/-/oauth/revoke",
  keys: "/-/oauth/keys",
} as const;

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";

/**
 * OAuth 2.0: device authorization (RFC 8628) as `src login` and `trawl login` use it, authorization codes for assistants
 * (authorize-routes.ts), with refresh (RFC 6749) and revocation (RFC 7009). A token is an access token of the user, which the user's
 * settings show and delete like any other.
 */
export function addOAuthRoutes(server: HttpServer, services: OAuthServices): void {
  const { oauth } = services;
  // With no access tokens there is nothing to grant: clients then ask for none.
  if (oauth.policy === "none") return;
  const isForAssistants = oauth.assistants !== undefined;
  server.route("GET", "/.well-known/openid-configuration", (request, response) =>
    response.reply(
      200,
      { ...oauthJson, "Cache-Control": "max-age=300" },
      JSON.stringify(openIdConfiguration(oauth.baseUrl(request), isForAssistants)),
    ),
  );
  server.route("GET", paths.keys, (_, response) => response.reply(200, oauthJson, JSON.stringify({ keys: [] })));
  const post = (path: string, handler: (form: URLSearchParams, request: HttpRequest) => unknown): void =>
    server.routeWithBody(
      "POST",
      path,
      bodyBytesMax,
      oauthHandler(oauth, 200, (request) =>
        handler(new URLSearchParams(Buffer.from(request.body).toString()), request),
      ),
    );
  post(paths.device, (form, request) => beginGrant(form, request, services));
  post(paths.token, (form, request) => issueToken(form, request, services));
  post(paths.revoke, async (form, request) => {
    requireProgram(form, services);
    await oauth.tokens.revoke(form.get("token") ?? "", toSender(request));
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
  addAuthorizeRoutes(server, oauth, (handler) => pageHandler(services, handler));
}

/**
 * Where `src login` finds the addresses. It has each member that OpenID Connect requires of such a document, because other clients
 * that read it refuse one without; but there are no keys, because nobody gets an ID token.
 */
function openIdConfiguration(base: string, isForAssistants: boolean) {
  const grants = [deviceGrant, "refresh_token"];
  return {
    issuer: base,
    authorization_endpoint: base + (isForAssistants ? paths.authorize : paths.page),
    token_endpoint: base + paths.token,
    device_authorization_endpoint: base + paths.device,
    revocation_endpoint: base + paths.revoke,
    jwks_uri: base + paths.keys,
    grant_types_supported: isForAssistants ? ["authorization_code", ...grants] : grants,
    response_types_supported: isForAssistants ? ["code"] : [],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    scopes_supported: [...commandScopes, ...(isForAssistants ? ["mcp"] : [])],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
  };
}

function beginGrant(form: URLSearchParams, request: HttpRequest, services: OAuthServices) {
  const { oauth } = services;
  const { client } = requireProgram(form, services);
  if (!commands.has(client))
    throw new OAuthError("unauthorized_client", "only src and trawl are authorized with a code that their users type");
  requireCommandScopes(form);
  const codes = oauth.devices.begin(request.remoteAddress, client, monotonicMs());
  const page = oauth.baseUrl(request) + paths.page;
  return {
    device_code: codes.deviceCode,
    user_code: codes.userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${codes.userCode}`,
    expires_in: codes.lifetimeSeconds,
    interval: codes.intervalSeconds,
  };
}

function requireCommandScopes(form: URLSearchParams): void {
  const unknown = (form.get("scope") ?? "").split(" ").filter((scope) => scope !== "" && !commandScopes.has(scope));
  if (unknown.length > 0) throw new OAuthError("invalid_scope", `the scopes are ${[...commandScopes].join(", ")}`);
}

async function issueToken(form: URLSearchParams, request: HttpRequest, services: OAuthServices) {
  const program = requireProgram(form, services);
  const { tokens, refreshMs, familyMs } = services.oauth;
  const lifetimes: RefreshLifetimes = { lifetimeMs: tokenLifetimeMs, refreshMs, familyMs };
  switch (form.get("grant_type")) {
    case deviceGrant:
      return answerPoll(form.get("device_code") ?? "", program, lifetimes, request, services);
    case "authorization_code":
      return redeemCode(form, program, lifetimes, request, services);
    case "refresh_token": {
      if (commands.has(program.client)) requireCommandScopes(form);
      else if (asksForMore(form))
        throw new OAuthError("invalid_scope", "the program was granted the scope mcp, and no other");
      const given = form.get("refresh_token") ?? "";
      const texts = await tokens.refresh(given, program.client, lifetimes, toSender(request));
      if (texts === undefined)
        throw new OAuthError("invalid_grant", "the refresh token is unknown, used, expired or revoked: sign in again");
      return shownTexts(texts);
    }
    default:
      throw new OAuthError(
        "unsupported_grant_type",
        `grant_type must be authorization_code, ${deviceGrant} or refresh_token`,
      );
  }
}

async function redeemCode(
  form: URLSearchParams,
  program: Program,
  lifetimes: RefreshLifetimes,
  request: HttpRequest,
  services: OAuthServices,
) {
  const { codes, tokens } = services.oauth;
  const given = {
    client: form.get("client_id") ?? "",
    redirectUri: form.get("redirect_uri") ?? "",
    verifier: form.get("code_verifier") ?? "",
    resource: form.get("resource") ?? undefined,
  };
  const outcome = codes.redeem(form.get("code") ?? "", given, monotonicMs());
  switch (outcome.kind) {
    case "refused":
      throw new OAuthError("invalid_grant", outcome.reason);
    case "replayed": {
      const tokenId = await outcome.tokenId;
      if (tokenId !== undefined) await tokens.endGranted(tokenId, toSender(request));
      throw new OAuthError(
        "invalid_grant",
        "the code was used before, so the token that it gave has ended: begin again",
      );
    }
    case "redeemed": {
      let tokenId: number | undefined;
      try {
        const texts = await createToken(outcome.by, { ...program, note: outcome.note }, lifetimes, request, services);
        tokenId = texts.token.id;
        return shownTexts(texts);
      } finally {
        outcome.settle(tokenId);
      }
    }
  }
}

async function answerPoll(
  deviceCode: string,
  program: Program,
  lifetimes: RefreshLifetimes,
  request: HttpRequest,
  services: OAuthServices,
) {
  const outcome = services.oauth.devices.poll(deviceCode, program.client, monotonicMs());
  switch (outcome.kind) {
    case "pending":
      throw new OAuthError("authorization_pending", "the user has not answered yet");
    case "slow-down":
      throw new OAuthError("slow_down", "ask less often");
    case "expired":
      throw new OAuthError("expired_token", "the code is unknown, used or expired: begin again");
    case "denied":
      throw new OAuthError("access_denied", "the user refused");
    case "approved":
      return shownTexts(await createToken(outcome.by, program, lifetimes, request, services));
  }
}

/** Throws if what the user has approved does not hold any more. */
async function createToken(
  { userId, sessionId }: Approver,
  program: Program,
  lifetimes: RefreshLifetimes,
  request: HttpRequest,
  { oauth }: OAuthServices,
): Promise<RefreshableTexts> {
  const approval = {
    userId,
    isStillApproved: ({ isSiteAdmin }: { readonly isSiteAdmin: boolean }) =>
      oauth.hasSession(sessionId) && (oauth.policy !== "site-admin-create" || isSiteAdmin),
  };
  const texts = await oauth.tokens.createRefreshable(approval, program, lifetimes, toSender(request));
  if (texts === undefined)
    throw new OAuthError("access_denied", "the session of the user who agreed has ended: begin again");
  return texts;
}

function shownTexts({ token, text, refreshText }: RefreshableTexts) {
  return {
    access_token: text,
    refresh_token: refreshText,
    expires_in: tokenLifetimeMs / 1000,
    token_type: "Bearer",
    scope: [...token.scopes, "offline_access"].join(" "),
  };
}

function requireProgram(form: URLSearchParams, { oauth }: OAuthServices): Program {
  const id = form.get("client_id") ?? "";
  const program = commands.get(id) ?? mcpProgram(id, oauth);
  if (program === undefined) throw new OAuthError("invalid_client", "this client is not known", 401);
  return program;
}

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
