import type { Origins } from "../account/origins.js";
import type { Headers, RequestHead } from "./uws.js";

/** Nothing here may be framed or taken for another type. */
const securityHeaders: Headers = {
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "X-XSS-Protection": "1; mode=block",
};

const vary: Headers = { Vary: "Accept-Encoding, Authorization, Cookie, Origin, X-Requested-With" };
const interfaceHeaders: Headers = { ...securityHeaders, ...vary };

const anyHeaders = "Content-Type, Authorization, X-Sourcegraph-Should-Trace";
const trustedHeaders = `${anyHeaders}, X-Requested-With, X-Sourcegraph-Client`;

/**
 * The headers of every answer. Under `/.api/` pages of any origin may read it, `null` included, as the interface has it: they
 * bring a token, for the cookie of whoever looks at them does not count there. Only trusted origins may send the header that
 * makes it count.
 */
export function headersOfEvery(origins: Pick<Origins, "trusts">): (request: RequestHead) => Headers {
  return (request) => (request.path.startsWith("/.api/") ? corsHeaders(origins, request) : securityHeaders);
}

function corsHeaders(origins: Pick<Origins, "trusts">, { method, headers }: RequestHead): Headers {
  const origin = headers.get("origin");
  if (origin === undefined) return interfaceHeaders;
  const answer = { ...interfaceHeaders, "Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Origin": origin };
  if (method !== "OPTIONS") return answer;
  return {
    ...answer,
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": origins.trusts(origin, headers.get("host")) ? trustedHeaders : anyHeaders,
  };
}
