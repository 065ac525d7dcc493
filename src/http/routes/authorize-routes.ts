import { createHash } from "node:crypto";
import type { Program } from "../../account/identity/access-tokens.js";
import { attemptsIn, networkPrefix, RateLimiter } from "../../account/records/rate-limiter.js";
import { toSender } from "../../account/records/audit-log.js";
import type { AuthorizationCodes, CodeTerms } from "../../account/sign-in/authorization-codes.js";
import type { Refusal } from "../../account/sign-in/authenticator.js";
import { isDocumentUrl, type ClientDocuments } from "../../account/sign-in/client-documents.js";
import type { Approver } from "../../account/sign-in/device-grants.js";
import {
  ClientProblem,
  isLoopback,
  mayRedirectTo,
  readClientMetadata,
  registeredClient,
  registeredId,
  type OAuthClient,
} from "../../account/sign-in/oauth-clients.js";
import { monotonicMs } from "../../base/deadline.js";
import { TrawlError } from "../../base/errors.js";
import type { Viewer } from "../../model/viewer.js";
import type { Handler } from "../server/handler.js";
import { plainText, type Headers } from "../server/headers.js";
import { parseJsonBody } from "../server/json-body.js";
import type { HttpRequest, RequestHead } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";
import { consentPageText, formPageHeaders, problemPageText, withFormTarget } from "./form-pages.js";
import { OAuthError, oauthHandler, type PageHandler, type RefusalLog } from "./oauth-answers.js";

/** What assistants need that connect to the tools by their address alone. */
export interface AuthorizeServices extends RefusalLog {
  /** The URL of this server as the sender of the request knows it, without a trailing slash. */
  readonly baseUrl: (request: Pick<RequestHead, "headers">) => string;
  readonly codes: AuthorizationCodes;
  /** Undefined if there are no tools for assistants. */
  readonly assistants: { readonly documents: ClientDocuments; readonly mayRegister: boolean } | undefined;
}

/** The addresses of the tools for assistants. */
export const mcpPaths = { main: "/.api/mcp", version1: "/.api/mcp/v1", all: "/.api/mcp/all" } as const;

const paths = {
  authorize: "/-/oauth/authorize",
  token: "/-/oauth/token",
  revoke: "/-/oauth/revoke",
  register: "/-/oauth/register",
  server: "/.well-known/oauth-authorization-server",
  resource: "/.well-known/oauth-protected-resource",
} as const;

const registrationBytesMax = 16 << 10;
const formBytesMax = 16 << 10;

/** Registrations from one network. */
const limitOfRegistrations = attemptsIn(3_600_000, 120);

/**
 * Scopes that programs ask for by habit, and that change nothing: there are no ID tokens, and a token can be refreshed anyway. What is
 * granted is `mcp`.
 */
const withoutEffect: ReadonlySet<string> = new Set(["email", "offline_access", "openid", "profile"]);

const stateCharsMax = 2_000;

/** Pages of other origins may read it: it is the same for everybody. */
const metadataHeaders: Headers = {
  "Content-Type": "application/json",
  "Cache-Control": "max-age=300",
  "Access-Control-Allow-Origin": "*",
};

/**
 * OAuth 2.1 for assistants, which know nothing but the address of the tools: metadata of the resource (RFC 9728) and of the
 * authorization server (RFC 8414), authorization codes with PKCE on a page on which the user decides, dynamic registration (RFC 7591),
 * and programs that are described by a document of their own.
 */
export function addAuthorizeRoutes(
  server: HttpServer,
  services: AuthorizeServices,
  pageHandler: (handler: PageHandler) => Handler,
): void {
  const { assistants, baseUrl } = services;
  if (assistants === undefined) return;
  const metadata = (path: string, make: (base: string) => object): void =>
    server.route("GET", path, (request, response) =>
      response.reply(200, metadataHeaders, JSON.stringify(make(baseUrl(request)))),
    );
  metadata(paths.server, (base) => serverMetadata(base, assistants.mayRegister));
  metadata(paths.resource, (base) => resourceMetadata(base, mcpPaths.main));
  for (const path of Object.values(mcpPaths)) metadata(paths.resource + path, (base) => resourceMetadata(base, path));
  if (assistants.mayRegister) {
    const registrations = new RateLimiter(limitOfRegistrations);
    server.routeWithBody(
      "POST",
      paths.register,
      registrationBytesMax,
      oauthHandler(services, 201, (request) => register(request, registrations)),
    );
  }
  server.route(
    "GET",
    paths.authorize,
    pageHandler((request, response, viewer) =>
      onPage(services, request, response, async () => {
        const asked = await readAuthorization(new URLSearchParams(request.query), request, viewer, services);
        const { client, terms } = asked;
        const headers = withFormTarget(formPageHeaders, terms.redirectUri);
        response.reply(
          200,
          headers,
          consentPageText({ user: viewer.name, ...describeClient(client, terms), fields: asked.fields }),
        );
      }),
    ),
  );
  server.routeWithBody(
    "POST",
    paths.authorize,
    formBytesMax,
    pageHandler((request, response, viewer) =>
      onPage(services, request, response, () => decide(services, request, response, viewer)),
    ),
  );
}

/** What a refusal of the tools tells an assistant: where it learns how to be admitted. */
export function mcpChallenge(
  { baseUrl }: Pick<AuthorizeServices, "baseUrl">,
  request: HttpRequest,
  refusal: Refusal,
): Headers {
  const where = `resource_metadata="${baseUrl(request)}${paths.resource}${request.path}", scope="mcp"`;
  if (refusal.lacksScope === true) return { "WWW-Authenticate": `Bearer error="insufficient_scope", ${where}` };
  if (refusal.status !== 401) return {};
  return { "WWW-Authenticate": `Bearer ${refusal.wantsSignIn ? "" : 'error="invalid_token", '}${where}` };
}

function serverMetadata(base: string, mayRegister: boolean) {
  return {
    issuer: base,
    authorization_endpoint: base + paths.authorize,
    token_endpoint: base + paths.token,
    revocation_endpoint: base + paths.revoke,
    ...(mayRegister
      ? { registration_endpoint: base + paths.register, client_id_metadata_document_supported: true }
      : {}),
    scopes_supported: ["mcp", "offline_access"],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    authorization_response_iss_parameter_supported: true,
  };
}

function resourceMetadata(base: string, path: string) {
  return {
    resource: base + path,
    resource_name: "Trawl: search and read code",
    authorization_servers: [base],
    scopes_supported: ["mcp"],
    bearer_methods_supported: ["header"],
  };
}

function register(request: HttpRequest, registrations: RateLimiter) {
  if (registrations.begin(networkPrefix(request.remoteAddress), monotonicMs()) > 0)
    throw new TrawlError("too-many-requests", "too many programs were registered from this network; try again later");
  const client = readClientMetadata(parseRegistration(request.body));
  return {
    client_id: registeredId(client),
    client_id_issued_at: Math.floor(new Date().getTime() / 1000),
    ...(client.name === "" ? {} : { client_name: client.name }),
    redirect_uris: client.redirectUris,
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
    scope: "mcp",
  };
}

function parseRegistration(body: Uint8Array): unknown {
  try {
    return parseJsonBody(body);
  } catch {
    throw new ClientProblem("invalid_client_metadata", "the body is not JSON");
  }
}

/** The program with this `client_id`, for the answers of which no user is needed; undefined if it cannot be one. */
export function mcpProgram(id: string, { assistants }: AuthorizeServices): Program | undefined {
  if (assistants?.mayRegister !== true) return undefined;
  if (!isDocumentUrl(id) && registeredClient(id) === undefined) return undefined;
  // An id of a registered program has thousands of characters, and each of its tokens names it.
  return { client: createHash("sha256").update(id).digest("base64url"), note: "", scopes: ["mcp"] };
}

/** Whether a program asks for other scopes than it can be granted. */
export function asksForMore(given: URLSearchParams): boolean {
  return (given.get("scope") ?? "")
    .split(" ")
    .some((scope) => scope !== "" && scope !== "mcp" && !withoutEffect.has(scope));
}

/** What a program asks of a user, checked. */
interface Authorization {
  readonly client: OAuthClient;
  readonly terms: CodeTerms;
  /** "" if there is none. */
  readonly state: string;
  /** What the form of the page sends back. */
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** What is wrong with such a request although the program is known: it is told, by way of the browser. */
class AuthorizationProblem extends OAuthError {
  readonly redirectUri: string;
  readonly state: string;

  constructor(error: string, description: string, redirectUri: string, state: string) {
    super(error, description);
    this.redirectUri = redirectUri;
    this.state = state;
  }
}

const parameters = [
  "response_type",
  "client_id",
  "redirect_uri",
  "state",
  "scope",
  "resource",
  "code_challenge",
  "code_challenge_method",
] as const;

/** Throws an `AuthorizationProblem` only if the program may have its users sent to the redirect URI. */
async function readAuthorization(
  given: URLSearchParams,
  request: HttpRequest,
  viewer: Viewer & Approver,
  services: AuthorizeServices,
): Promise<Authorization> {
  const repeated = parameters.find((name) => given.getAll(name).length > 1);
  if (repeated !== undefined) throw new OAuthError("invalid_request", `the parameter ${repeated} is given twice`);
  const get = (name: (typeof parameters)[number]): string => given.get(name) ?? "";
  const client = await findClient(get("client_id"), viewer.userId, services);
  const redirectUri = get("redirect_uri");
  if (!mayRedirectTo(client, redirectUri))
    throw new OAuthError("invalid_request", "redirect_uri is not one of the program's own");
  const state = get("state");
  const fail = (error: string, description: string): never => {
    throw new AuthorizationProblem(error, description, redirectUri, state.slice(0, stateCharsMax));
  };
  if (state.length > stateCharsMax) fail("invalid_request", `state is longer than ${stateCharsMax} characters`);
  if (get("response_type") !== "code") fail("unsupported_response_type", "response_type must be code");
  if (get("code_challenge_method") !== "S256" || !/^[\w-]{43}$/.test(get("code_challenge")))
    fail("invalid_request", "PKCE is required: code_challenge, with code_challenge_method=S256");
  if (asksForMore(given)) fail("invalid_scope", "the only scope that is granted here is mcp");
  const base = services.baseUrl(request);
  const resource = given.has("resource") ? get("resource") : base + mcpPaths.main;
  if (!Object.values(mcpPaths).some((path) => base + path === resource))
    fail("invalid_target", `resource must be ${base}${mcpPaths.main}, or another address of the tools`);
  return {
    client,
    terms: { client: client.id, redirectUri, challenge: get("code_challenge"), resource },
    state,
    fields: parameters.flatMap((name) => (given.has(name) ? [[name, get(name)] as const] : [])),
  };
}

async function findClient(id: string, userId: number, { assistants }: AuthorizeServices): Promise<OAuthClient> {
  const registered = assistants?.mayRegister === true ? registeredClient(id) : undefined;
  if (registered !== undefined) return registered;
  if (assistants?.mayRegister === true && isDocumentUrl(id))
    return assistants.documents.read(id, userId, monotonicMs());
  throw new OAuthError(
    "invalid_client",
    "the program that sent you here is not known: its client_id is not registered",
  );
}

async function decide(
  services: AuthorizeServices,
  request: HttpRequest,
  response: HttpResponse,
  viewer: Viewer & Approver,
): Promise<void> {
  // A browser sends it with each form: only our own page may decide.
  if (!request.headers.has("origin")) return response.reply(403, plainText, "The request has no Origin.\n");
  const form = new URLSearchParams(Buffer.from(request.body).toString());
  const { client, terms, state } = await readAuthorization(form, request, viewer, services);
  if (response.closed) return;
  if (form.get("decision") !== "approve")
    return sendBack(services, request, response, terms.redirectUri, { error: "access_denied", state });
  const { who } = describeClient(client, terms);
  const by = { userId: viewer.userId, sessionId: viewer.sessionId };
  const code = services.codes.issue(terms, by, `${who}, authorized in a browser`, monotonicMs());
  sendBack(services, request, response, terms.redirectUri, { code, state });
}

/** Answers with an error what a page cannot do; each is in the audit log. */
async function onPage(
  services: AuthorizeServices,
  request: HttpRequest,
  response: HttpResponse,
  act: () => Promise<void>,
): Promise<void> {
  try {
    await act();
  } catch (error) {
    if (!(error instanceof TrawlError) || error.httpStatus === 500) throw error;
    if (response.closed) return;
    const name = error instanceof OAuthError || error instanceof ClientProblem ? error.error : error.code;
    services.recordRefusal(toSender(request), `${name}: ${error.message}`);
    const { redirectUri = "", state = "" } = error instanceof AuthorizationProblem ? error : {};
    // Anybody can register a program, so a redirect to another site that nobody has agreed to would lend this site's name to it.
    if (isLoopback(redirectUri))
      return sendBack(services, request, response, redirectUri, {
        error: name,
        error_description: error.message,
        state,
      });
    response.reply(error.httpStatus, formPageHeaders, problemPageText(error.message));
  }
}

/** Sends the browser back to the program. */
function sendBack(
  { baseUrl }: AuthorizeServices,
  request: HttpRequest,
  response: HttpResponse,
  redirectUri: string,
  { state, ...answer }: { readonly state: string } & Readonly<Record<string, string>>,
): void {
  const query = new URLSearchParams({ ...answer, ...(state === "" ? {} : { state }), iss: baseUrl(request) });
  const joint = redirectUri.includes("?") ? "&" : "?";
  const location = `${redirectUri}${joint}${query}`;
  response.reply(
    303,
    { ...plainText, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer", Location: location },
    "",
  );
}

/** What the page says about a program. Only where it is, and where the answer goes, is certain. */
function describeClient({ id, name }: OAuthClient, { redirectUri }: CodeTerms) {
  const home = isDocumentUrl(id) ? new URL(id).host : "";
  const called = name === "" ? "A program" : name;
  const { protocol, host } = new URL(redirectUri);
  const target = isLoopback(redirectUri)
    ? "a program on this computer"
    : protocol === "https:"
      ? host
      : `the program on this computer that opens ${protocol} links`;
  return { who: home === "" ? called : `${called} (${home})`, home, target };
}
