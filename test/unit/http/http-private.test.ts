/** In private mode everything except health and sign-in needs a credential: tests each route without one. */
import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { operations } from "../../../src/http/api/operations.js";
import { addRoutes } from "../../../src/http/routes/routes.js";
import type { Method } from "../../../src/http/server/handler.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import { AccountSite } from "../../support/account-site.js";
import { hollowServices } from "../../support/http-front.js";

/** Routes open to everybody: health, and what sign-in needs. A webhook has its own secret. */
const open: readonly string[] = [
  "GET /healthz",
  "GET /readyz",
  "GET /__version",
  "POST /-/sign-in",
  "POST /-/sign-up",
  "POST /-/site-init",
  "POST /-/reset-password-init",
  "POST /-/reset-password-code",
  "GET /-/sign-out",
  "POST /-/sign-out",
  "GET /robots.txt",
  "GET /favicon.ico",
  "GET /.assets/NAME",
  "POST /.api/webhooks/ID",
  // A program that is to be authorized has no credential yet; its user signs in to authorize it.
  "GET /.well-known/openid-configuration",
  "GET /-/oauth/keys",
  "GET /.well-known/oauth-authorization-server",
  "GET /.well-known/oauth-protected-resource",
  ...["", "/v1", "/all"].map((path) => `GET /.well-known/oauth-protected-resource/.api/mcp${path}`),
  "POST /-/oauth/register",
  "POST /-/oauth/device/code",
  "POST /-/oauth/token",
  "POST /-/oauth/revoke",
  // So has whoever comes back from a provider; the provider signs its message, and a proxy is known by its address.
  "GET /-/oidc/NAME/sign-in",
  "GET /-/oidc/NAME/callback",
  "POST /-/oidc/NAME/backchannel-logout",
  "GET /-/proxy/sign-in",
];

/** Paths without a route. */
const others: readonly (readonly [method: Method, path: string])[] = [
  ["GET", "/.api/"],
  ["GET", "/.api/nothing"],
  ["POST", "/.api/nothing"],
  ["PUT", "/.api/repos/x"],
  ["GET", "/a/b"],
  ["GET", "/a/b/-/raw/c"],
  ["GET", "/a/b/-/blob/c"],
  ["GET", "/search?q=a"],
  ["GET", "/site-admin"],
  ["GET", "/api/console"],
  ["GET", "/-/editor?search=a"],
  ["GET", "/-/nothing"],
  ["GET", "/%ff"],
  ["POST", "/a/b"],
];

const site = new AccountSite(t);
await site.user("bob");
const token = await site.token("bob");
const server = new HttpServer(silentLog(), () => {});
addRoutes(server, { ...hollowServices({}, true), authenticator: site.authenticator(false) });
const url = `http://127.0.0.1:${server.listen("127.0.0.1", 0, () => {})}`;
t.teardown(() => server.stop(0));

async function ask(
  method: Method,
  path: string,
  authorization?: string,
): Promise<{ readonly status: number; readonly text: string; readonly location: string | null }> {
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  const response = await fetch(url + path, {
    method,
    headers,
    redirect: "manual",
    body: method === "GET" ? null : "{}",
  });
  return { status: response.status, text: await response.text(), location: response.headers.get("location") };
}

const routes = server.routes().map(({ method, pattern }) => [method as Method, pattern] as const);

t.test("no other route reveals anything to anonymous clients", async (t) => {
  t.ok(routes.length > 25, "all routes are here");
  t.same(
    open.filter((route) => !routes.some(([method, pattern]) => route === `${method} ${pattern}`)),
    [],
    "each open route is one",
  );
  t.same(
    operations
      .filter(({ access, pattern }) => pattern !== undefined && (access === "anyone" || access === "webhook"))
      .map(({ method, pattern }) => `${method} ${pattern}`)
      .sort(),
    [...open].sort(),
    "the description says the same",
  );
  const isScim = (path: string): boolean => path.startsWith("/.api/scim/");
  const closed = routes.filter(([method, pattern]) => !open.includes(`${method} ${pattern}`) && !isScim(pattern));
  for (const [method, path] of routes.filter(([, pattern]) => isScim(pattern)))
    for (const authorization of [undefined, `Bearer ${token}`])
      t.match(
        await ask(method, path, authorization),
        { status: 401, text: /this needs the token of scimToken/ },
        `${method} ${path}: only with a token of its own`,
      );
  for (const [method, path] of [...closed, ...others]) {
    const name = `${method} ${path}`;
    const { status, text, location } = await ask(method, path);
    if (status === 302) t.equal(location, `/sign-in?returnTo=${encodeURIComponent(path)}`, name);
    else if (path.startsWith("/api/searchjobs.v1"))
      t.match(
        [status, JSON.parse(text)],
        [401, { code: "unauthenticated", message: "Private mode requires authentication." }],
      );
    else t.match([status, text], [401, /^(Private mode requires authentication\.|not authenticated)\n$/], name);
    t.equal((await ask(method, path, "token nonsense")).status, 401, `${name}: a wrong token is told so`);
    if (path.startsWith("/.api/"))
      t.not((await ask(method, path, `token ${token}`)).status, 401, `${name}: a good one opens it`);
  }
});

t.test("pages redirect to sign-in, programs are rejected", async (t) => {
  for (const path of ["/", "/a/b", "/search?q=a"]) t.equal((await ask("GET", path)).status, 302, path);
  for (const path of ["/.api/nothing", "/.api/src-cli/version", "/opensearch.xml", "/a/b/-/raw/c"])
    t.equal((await ask("GET", path)).status, 401, path);
  t.equal((await ask("GET", "/.well-known/openid-configuration")).status, 200, "how programs are authorized");
  t.equal((await ask("GET", "/.well-known/oauth-authorization-server")).status, 200);
  t.equal((await ask("GET", "/-/oauth/device?user_code=ABCD-EFGH")).status, 302);
});

t.test("health and sign-in respond to anonymous clients", async (t) => {
  for (const path of [
    "/healthz",
    "/readyz",
    "/__version",
    "/robots.txt",
    "/favicon.ico",
    "/sign-in",
    "/sign-up",
    "/password-reset?code=a&userID=1",
  ]) {
    t.equal((await ask("GET", path)).status, 200, path);
  }
});
