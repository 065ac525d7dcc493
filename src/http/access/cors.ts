import { isAddedByBrowser, readCredential } from "../../account/sign-in/credential.js";
import type { Origins } from "../../account/sign-in/origins.js";
import type { Headers } from "../server/headers.js";
import type { RequestHead } from "../server/request.js";

/**
 * No response may be framed, interpreted as another type, or loaded by a page of another site as an image or a script.
 */
const securityHeaders: Headers = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "X-XSS-Protection": "1; mode=block",
  "Cross-Origin-Resource-Policy": "same-origin",
};

/** For content that a browser displays: it may not load or run anything, so repository content remains text. */
const pageHeaders: Headers = {
  ...securityHeaders,
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "Referrer-Policy": "same-origin",
};

const vary: Headers = { Vary: "Accept-Encoding, Authorization, Cookie, Origin, X-Requested-With" };
const interfaceHeaders: Headers = { ...securityHeaders, ...vary };

const anyHeaders = "Content-Type, Authorization, X-Sourcegraph-Should-Trace, X-Request-Id, traceparent";
const trustedHeaders = `${anyHeaders}, X-Requested-With, X-Sourcegraph-Client`;

type TrustedOrigins = Pick<Origins, "trusts">;

/** The headers of every response. A handler's own headers take precedence. */
export function headersOfEvery(origins: TrustedOrigins): (request: RequestHead) => Headers {
  return (request) => (request.path.startsWith("/.api/") ? corsHeaders(origins, request) : pageHeaders);
}

/**
 * Which web pages may read what is under `/.api/`: those of trusted origins, and pages of any origin, including `null`,
 * that send a token, as the web views of editors do, but not as a name and password, which a browser adds by itself. Without a token, a page could read everything that its viewer's
 * network can reach. Only trusted origins may send the header that makes a cookie valid.
 */
function corsHeaders(origins: TrustedOrigins, request: RequestHead): Headers {
  const origin = request.headers.get("origin");
  if (origin === undefined) return interfaceHeaders;
  const isTrusted = origins.trusts(origin, request.headers.get("host"));
  if (!isTrusted && !bringsToken(request)) return interfaceHeaders;
  const answer = {
    ...interfaceHeaders,
    "Access-Control-Allow-Credentials": "true",
    "Access-Control-Allow-Origin": origin,
    "Access-Control-Expose-Headers": "X-Request-Id",
  };
  if (request.method !== "OPTIONS") return answer;
  return {
    ...answer,
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": isTrusted ? trustedHeaders : anyHeaders,
  };
}

/**
 * A preflight contains no token: it only announces an `Authorization` header. If the request then lacks a token, its
 * response is not readable.
 */
function bringsToken({ method, query, headers }: RequestHead): boolean {
  if (method === "OPTIONS" && namesAuthorization(headers.get("access-control-request-headers"))) return true;
  const authorization = headers.get("authorization");
  const { kind } = readCredential(query, isAddedByBrowser(authorization) ? undefined : authorization);
  return kind === "token" || kind === "sudo";
}

function namesAuthorization(header: string | undefined): boolean {
  return (
    header
      ?.toLowerCase()
      .split(",")
      .some((name) => name.trim() === "authorization") === true
  );
}
