import { toSender } from "../../account/records/audit-log.js";
import { type Authenticator, proxySignInPath } from "../../account/sign-in/authenticator.js";
import { readCookie, readSession } from "../../account/sign-in/credential.js";
import type { Origins } from "../../account/sign-in/origins.js";
import { providerPath, ProviderProblem } from "../../account/sign-in/provider-config.js";
import type { ProviderEntry, ProviderSignIn } from "../../account/sign-in/provider-sign-in.js";
import type { ProxyHeader } from "../../account/sign-in/proxy-header.js";
import type { ProxySignIn } from "../../account/sign-in/proxy-sign-in.js";
import { isOwnPath, ticketCookie, ticketMs } from "../../account/sign-in/provider-tickets.js";
import { TrawlError } from "../../base/errors.js";
import { admit, refuse } from "../access/guard.js";
import type { Handler } from "../server/handler.js";
import { plainText } from "../server/headers.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";
import { formPageHeaders, signInProblemText } from "./form-pages.js";
import { oauthHandler, OAuthError } from "./oauth-answers.js";
import { type CookieSettings, cookieText, isForeign, refuseForeign } from "./sign-in-routes.js";

export interface ProviderServices {
  readonly providers: Pick<ProviderSignIn, "begin" | "finish" | "logOut">;
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly origins: Pick<Origins, "trusts">;
  readonly cookies: CookieSettings;
  /** Users whom a proxy names. */
  readonly proxies: {
    readonly header: Pick<ProxyHeader, "read">;
    readonly signIn: Pick<ProxySignIn, "enter" | "refuse">;
  };
  /** The user of a session; undefined if it has ended. */
  readonly sessionUserId: (session: string) => number | undefined;
  /** The URL by which the client has reached this server. */
  readonly baseUrl: (request: HttpRequest) => string;
}

const json = { "Content-Type": "application/json", "Cache-Control": "no-store" };

const logoutBytesMax = 16 << 10;

/** What a client sends with it is not read. */
const linkBytesMax = 1 << 10;

/** Sign-in with identity providers, by OpenID Connect. */
export function addProviderRoutes(server: HttpServer, services: ProviderServices): void {
  const { providers } = services;
  server.route(
    "GET",
    "/-/oidc/NAME/sign-in",
    explained(async (request, response) => {
      const returnTo = new URLSearchParams(request.query).get("returnTo") ?? "/";
      const { location, cookie } = await begin(services, request, returnTo, undefined);
      response.reply(302, { ...plainText, "Cache-Control": "no-store", "Set-Cookie": cookie, Location: location }, "");
    }),
  );
  // Only with a page of ours: whoever could start it elsewhere might link an account of their own to that of the user.
  server.routeWithBody("POST", "/-/oidc/NAME/link", linkBytesMax, (request, response) => {
    const entry = services.authenticator.authenticate(request);
    if (entry.kind === "refused") return refuse(response, entry);
    const { userId, isSignedIn } = entry.viewer;
    if (userId === undefined || !isSignedIn) return response.reply(401, plainText, "Sign in first.\n");
    if (request.headers.get("origin") === undefined || isForeign(services.origins, request))
      return refuseForeign(response);
    return admit(entry, response, () =>
      plainly(async () => {
        const { location, cookie } = await begin(services, request, "/settings", userId);
        // The page goes there itself: a form that leads to another site is none of the page's own.
        response.reply(200, { ...json, "Set-Cookie": cookie }, JSON.stringify({ location }));
      }, response),
    );
  });
  server.route(
    "GET",
    "/-/oidc/NAME/callback",
    explained(async (request, response) => {
      const state = new URLSearchParams(request.query).get("state") ?? "";
      const cookieName = ticketCookie(state);
      const cookie = cookieName === undefined ? undefined : readCookie(request.headers.get("cookie"), cookieName);
      const session = readSession(request.headers.get("cookie"));
      const entry = await providers.finish(
        providerIn(request),
        callbackUrl(services, request),
        { query: request.query, state, cookie },
        session === undefined ? undefined : services.sessionUserId(session),
        toSender(request),
      );
      enterWith(services, response, entry);
    }),
  );
  server.route(
    "GET",
    proxySignInPath,
    explained(async (request, response) => {
      const { header, signIn } = services.proxies;
      const sender = toSender(request);
      const named = header.read(request);
      if (named.kind === "none") throw new TrawlError("not-found", "no proxy has signed you in");
      if (named.kind === "untrusted") {
        signIn.refuse(sender, named.message);
        throw new ProviderProblem("refused", named.message.replace(/\.$/, ""));
      }
      const returnTo = new URLSearchParams(request.query).get("returnTo") ?? "/";
      enterWith(services, response, {
        session: await signIn.enter(named.name, sender),
        lifetimeMs: services.cookies.lifetimeMs,
        returnTo: isOwnPath(returnTo) ? returnTo : "/",
      });
    }),
  );
  server.routeWithBody(
    "POST",
    "/-/oidc/NAME/backchannel-logout",
    logoutBytesMax,
    oauthHandler({ recordRefusal: () => undefined }, 200, async (request) => {
      const token = new URLSearchParams(Buffer.from(request.body).toString()).get("logout_token");
      if (token === null) throw new OAuthError("invalid_request", "there is no logout_token");
      try {
        await providers.logOut(providerIn(request), token, toSender(request));
      } catch (error) {
        if (!(error instanceof ProviderProblem) && !(error instanceof TrawlError && error.code === "not-found"))
          throw error;
        throw new OAuthError("invalid_request", error.message, error.code === "not-found" ? 404 : 400);
      }
      return {};
    }),
  );
}

/** Lets the browser in, and sends it to where it wanted to go. */
function enterWith({ cookies }: ProviderServices, response: HttpResponse, entry: ProviderEntry): void {
  const { session, lifetimeMs, returnTo } = entry;
  const cookie = cookieText(session, { ...cookies, lifetimeMs });
  const headers = { ...plainText, "Cache-Control": "no-store", "Set-Cookie": cookie, Location: returnTo };
  response.reply(302, headers, "");
}

async function begin(
  services: ProviderServices,
  request: HttpRequest,
  returnTo: string,
  linksUserId: number | undefined,
): Promise<{ readonly location: string; readonly cookie: string }> {
  const redirectUri = callbackUrl(services, request);
  const begun = await services.providers.begin(
    providerIn(request),
    redirectUri,
    returnTo,
    linksUserId,
    toSender(request),
  );
  const { location, ticket, sealed } = begun;
  const name = ticketCookie(ticket.state) ?? "";
  const secure = services.cookies.areSecure ? "; Secure" : "";
  const cookie = `${name}=${sealed}; Path=/-/oidc/; Max-Age=${ticketMs / 1000}; HttpOnly; SameSite=Lax${secure}`;
  return { location, cookie };
}

function providerIn(request: HttpRequest): string {
  return request.params["NAME"] ?? "";
}

function callbackUrl({ baseUrl }: ProviderServices, request: HttpRequest): string {
  return baseUrl(request) + providerPath(providerIn(request), "callback");
}

/** A page that says why the sign-in is not possible. */
function explained(handler: Handler): Handler {
  return async (request, response) => {
    try {
      await handler(request, response);
    } catch (error) {
      const status = problemStatus(error);
      response.reply(status, formPageHeaders, signInProblemText((error as Error).message));
    }
  };
}

/** Runs it; a problem is a line of text. */
async function plainly(act: () => Promise<void>, response: HttpResponse): Promise<void> {
  try {
    await act();
  } catch (error) {
    response.reply(problemStatus(error), plainText, `${(error as Error).message}\n`);
  }
}

/** Throws what is none. */
function problemStatus(error: unknown): number {
  if (!(error instanceof TrawlError) || error.httpStatus === 500) throw error;
  return error instanceof ProviderProblem && error.kind === "unreachable" ? 503 : error.httpStatus;
}
