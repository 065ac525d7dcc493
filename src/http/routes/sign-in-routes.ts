import { toSender } from "../../account/records/audit-log.js";
import { readSession, sessionCookie } from "../../account/sign-in/credential.js";
import type { Authenticator } from "../../account/sign-in/authenticator.js";
import type { Origins } from "../../account/sign-in/origins.js";
import type { SignIn, SignInOutcome } from "../../account/sign-in/sign-in.js";
import { TrawlError } from "../../base/errors.js";
import { isObject } from "../../base/is-object.js";
import { admit, refuse } from "../access/guard.js";
import { formPageHeaders, signOutPageText } from "./form-pages.js";
import type { Handler } from "../server/handler.js";
import { plainText, type Headers, waitHeaders } from "../server/headers.js";
import { parseJsonBody } from "../server/json-body.js";
import type { HttpRequest } from "../server/request.js";
import type { HttpResponse } from "../server/response.js";
import type { HttpServer } from "../server/uws.js";

/** Services for signing in. */
export interface SignInServices {
  readonly authenticator: Pick<Authenticator, "authenticate">;
  readonly origins: Pick<Origins, "trusts">;
  readonly signIn: Pick<
    SignIn,
    "allowSignup" | "nameCheckWaitMs" | "signIn" | "signUp" | "initialise" | "signOut" | "useReset"
  >;
  readonly cookies: CookieSettings;
  readonly isNameTaken: (name: string) => boolean;
}

export interface CookieSettings {
  /** Whether browsers may send the cookie over TLS only. */
  readonly areSecure: boolean;
  readonly lifetimeMs: number;
}

const bodyBytesMax = 16 << 10;

type FormHandler = (form: Form, request: HttpRequest, response: HttpResponse) => Promise<void>;

/**
 * Starting and ending a session, with the existing interface: JSON in, a cookie or a line of text out.
 *
 * A page of another site must not sign anyone in or out, so requests from a browser with an untrusted origin are
 * refused.
 */
export function addSignInRoutes(server: HttpServer, services: SignInServices): void {
  const { signIn, cookies } = services;
  const post = (path: string, handler: FormHandler): void =>
    server.routeWithBody("POST", path, bodyBytesMax, formHandler(services.origins, handler));
  post("/-/sign-in", async (form, request, response) =>
    answer(response, cookies, await signIn.signIn(form.text("email"), form.text("password"), toSender(request))),
  );
  post("/-/sign-up", async (form, request, response) =>
    answer(response, cookies, await signIn.signUp(parseSignUp(form), toSender(request))),
  );
  post("/-/site-init", async (form, request, response) =>
    answer(response, cookies, await signIn.initialise(parseSignUp(form), toSender(request))),
  );
  // Trawl cannot send mail: a site admin creates the link.
  post("/-/reset-password-init", async (_, __, response) =>
    response.reply(404, plainText, "Trawl sends no e-mail. Ask a site admin for a link to set a password.\n"),
  );
  post("/-/reset-password-code", async (form, request, response) => {
    await signIn.useReset(form.integer("userID"), form.text("code"), form.text("password"), toSender(request));
    response.reply(200, plainText, "");
  });
  const signOut = async (request: HttpRequest): Promise<Headers> => {
    const session = readSession(request.headers.get("cookie"));
    if (session !== undefined) await signIn.signOut(session, toSender(request));
    // What its pages kept, such as searches, is not for the next person at the browser.
    const clear = { "Clear-Site-Data": '"storage"' };
    return { ...plainText, ...clear, "Set-Cookie": cookieText("", { ...cookies, lifetimeMs: 0 }) };
  };
  server.route("GET", "/-/sign-out", async (request, response) => {
    const isSignedIn = readSession(request.headers.get("cookie")) !== undefined;
    if (isSignedIn && !isOwnLink(services.origins, request))
      return response.reply(200, formPageHeaders, signOutPageText);
    return response.reply(302, { ...(await signOut(request)), Location: "/" }, "");
  });
  server.route("POST", "/-/sign-out", async (request, response) => {
    if (isForeign(services.origins, request)) return refuseForeign(response);
    const headers = await signOut(request);
    const isForm = request.headers.get("accept")?.includes("text/html") === true;
    return isForm ? response.reply(303, { ...headers, Location: "/" }, "") : response.reply(200, headers, "");
  });
  // Anyone who may create an account learns by that which names are available; other anonymous users may not. Names
  // include those of organizations and readers that users may not list either, so only site admins ask without limit.
  server.route("GET", "/-/check-username-taken/NAME", (request, response) => {
    const entry = services.authenticator.authenticate(request);
    const tell = (isSiteAdmin: boolean): void => {
      const waitMs = isSiteAdmin ? 0 : signIn.nameCheckWaitMs(toSender(request));
      if (waitMs > 0) return replyTooManyNames(response, waitMs);
      let isTaken: boolean;
      try {
        isTaken = services.isNameTaken(request.params["NAME"] ?? "");
      } catch (error) {
        return replyExpected(response, error);
      }
      response.reply(isTaken ? 200 : 404, plainText, "");
    };
    if (entry.kind === "refused") {
      return entry.wantsSignIn && signIn.allowSignup ? tell(false) : refuse(response, entry);
    }
    const { userId, isSiteAdmin } = entry.viewer;
    if (userId === undefined && !signIn.allowSignup) return response.reply(401, plainText, "not authenticated\n");
    return admit(entry, response, () => tell(isSiteAdmin));
  });
}

function answer(response: HttpResponse, cookies: CookieSettings, outcome: SignInOutcome): void {
  switch (outcome.kind) {
    case "signed-in":
      return response.reply(200, { ...plainText, "Set-Cookie": cookieText(outcome.session, cookies) }, "");
    case "wrong":
      return response.reply(401, plainText, "Authentication failed\n");
    case "locked": {
      const seconds = Math.ceil(outcome.waitMs / 1000);
      return response.reply(
        422,
        { ...plainText, ...waitHeaders("sign-in", seconds) },
        `Too many attempts. Try again in ${seconds} seconds, or ask a site admin for a link to set a password.\n`,
      );
    }
  }
}

function replyTooManyNames(response: HttpResponse, waitMs: number): void {
  const seconds = Math.ceil(waitMs / 1000);
  response.reply(
    429,
    { ...plainText, ...waitHeaders("name-checks", seconds) },
    `Too many questions whether a name is taken. Try again in ${seconds} seconds.\n`,
  );
}

export function cookieText(session: string, { areSecure, lifetimeMs }: CookieSettings): string {
  return `${sessionCookie}=${session}; Path=/; Max-Age=${Math.floor(lifetimeMs / 1000)}; HttpOnly; SameSite=Lax${areSecure ? "; Secure" : ""}`;
}

/** Parses the body, and responds to expected errors thrown by the handler. */
function formHandler(origins: Pick<Origins, "trusts">, handler: FormHandler): Handler {
  return async (request, response) => {
    if (isForeign(origins, request)) return refuseForeign(response);
    try {
      await handler(new Form(request.body), request, response);
    } catch (error) {
      replyExpected(response, error);
    }
  };
}

/** Throws what is a fault of ours. */
function replyExpected(response: HttpResponse, error: unknown): void {
  if (!(error instanceof TrawlError) || error.httpStatus === 500) throw error;
  response.replyError(error.httpStatus, error.code, error.message);
}

export function isForeign(origins: Pick<Origins, "trusts">, { headers }: HttpRequest): boolean {
  const origin = headers.get("origin");
  return origin !== undefined && !origins.trusts(origin, headers.get("host"));
}

/**
 * Whether a link was followed on a page of ours, or typed. Browsers say so in `Sec-Fetch-Site`, over TLS and on the local
 * host; a page can hide that it is the referrer, but cannot name another one.
 */
function isOwnLink(origins: Pick<Origins, "trusts">, { headers }: HttpRequest): boolean {
  const site = headers.get("sec-fetch-site");
  if (site !== undefined) return site === "same-origin" || site === "none";
  const referrer = headers.get("referer") ?? "";
  return URL.canParse(referrer) && origins.trusts(new URL(referrer).origin, headers.get("host"));
}

export function refuseForeign(response: HttpResponse): void {
  response.reply(
    403,
    plainText,
    "The request comes from a page of another site. If you trust that site, list its origin in trustedOrigins.\n",
  );
}

function parseSignUp(form: Form): { readonly name: string; readonly email: string; readonly password: string } {
  return { name: form.text("username"), email: form.text("email"), password: form.text("password") };
}

/** The fields of a JSON object. Each accessor throws `bad-request` for a value of another type. */
class Form {
  readonly #fields: Readonly<Record<string, unknown>>;

  constructor(body: Uint8Array) {
    this.#fields = readObject(body);
  }

  text(name: string): string {
    const value = this.#fields[name];
    if (typeof value === "string") return value;
    throw new TrawlError("bad-request", `"${name}" must be a string`);
  }

  integer(name: string): number {
    const value = this.#fields[name];
    if (typeof value === "number" && Number.isSafeInteger(value)) return value;
    throw new TrawlError("bad-request", `"${name}" must be a whole number`);
  }
}

function readObject(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const value = parseJsonBody(body);
    if (isObject(value)) return value;
  } catch {
    // Reported below, without the received data, which contains a password.
  }
  throw new TrawlError("bad-request", "the body must be a JSON object in UTF-8");
}
