/** Errors as problems and as plain text, and the headers of rate limits, without anything behind the routes. */
import t from "tap";
import { codeForStatus, errorTable } from "../../../src/base/errors.js";
import { silentLog } from "../../../src/base/log.js";
import { operations, undescribedRoutes } from "../../../src/http/api/operations.js";
import { openApiDocument } from "../../../src/http/api/openapi.js";
import { addRoutes } from "../../../src/http/routes/routes.js";
import type { SearchHandler } from "../../../src/http/routes/stream-route.js";
import { statusText, rateLimitHeaders, waitHeaders } from "../../../src/http/server/headers.js";
import { acceptsProblem } from "../../../src/http/server/problem.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import { hollowServices } from "../../support/http-front.js";

function startFront(search: Partial<SearchHandler> = {}) {
  const server = new HttpServer(silentLog(), () => {});
  addRoutes(server, {
    ...hollowServices(search, true),
    mcp: async () => ({ answer: async () => ({ status: 202, json: undefined }) }),
  });
  const port = server.listen("127.0.0.1", 0, () => {});
  t.teardown(() => server.stop(0));
  return { server, url: `http://127.0.0.1:${port}` };
}

t.test("each route is described, and each description has a route", async (t) => {
  const { server } = startFront();
  const described = operations.flatMap(({ method, pattern }) =>
    pattern === undefined ? [] : [`${method} ${pattern}`],
  );
  const routes = server.routes().map(({ method, pattern }) => `${method} ${pattern}`);
  t.same([...new Set([...described, ...undescribedRoutes.keys()])].sort(), routes.sort());
  const ids = operations.map(({ id }) => id);
  t.equal(new Set(ids).size, ids.length, "ids are unique");
  const all = Object.values(openApiDocument("/").paths).flatMap((path) => Object.keys(path));
  t.equal(all.length, operations.length, "no two operations have the same path and method");
  const paths = Object.keys(openApiDocument("/", (_, pattern) => !pattern.startsWith("/-/oauth/")).paths);
  t.notOk(paths.includes("/-/oauth/token"), "what is switched off is left out");
  t.ok(paths.includes("/healthz"));
});

t.test("a client that accepts problems gets them, others a line of text", async (t) => {
  const refusal = { status: 429, message: "Wait.", retryAfterSeconds: 7 } as const;
  const { url } = startFront({
    admit: () => refusal,
    quotas: () => [{ name: "searches", unit: "requests", countMax: 2, left: 0 }],
  });
  const path = "/.api/search/stream?q=a";
  for (const accept of [
    "*/*",
    "text/event-stream",
    "application/json",
    "application/problem+json;q=0",
    "application/*",
  ]) {
    const response = await fetch(url + path, { headers: { accept } });
    t.same(
      [response.status, response.headers.get("content-type"), await response.text()],
      [429, "text/plain; charset=utf-8", "Wait.\n"],
      accept,
    );
  }
  for (const accept of [
    "application/problem+json",
    "text/event-stream, Application/Problem+JSON",
    "*/*, application/problem+json",
  ]) {
    const response = await fetch(url + path, { headers: { accept, "x-request-id": "abc" } });
    t.equal(response.headers.get("content-type"), "application/problem+json", accept);
    t.equal(response.headers.get("retry-after"), "7");
    t.equal(response.headers.get("ratelimit"), '"searches";r=0');
    t.match(response.headers.get("vary"), /^Accept, .*Authorization/);
    t.same(await response.json(), {
      type: "about:blank",
      title: "Too Many Requests",
      status: 429,
      code: "too-many-requests",
      detail: "Wait.",
      requestId: "abc",
    });
  }
  const headers = { accept: "application/problem+json" };
  const code = async (path: string, init: RequestInit = {}) =>
    ((await (await fetch(url + path, { headers, ...init })).json()) as { code: string }).code;
  t.equal(await code("/.api/nothing"), "not-found");
  t.equal(await code("/.api/graphql"), "method-not-allowed");
  t.equal(await code(`/${"x".repeat(20_000)}`), "uri-too-long");
  t.equal(await code("/.api/search/receipt/x?from=y"), "bad-request");
  const head = await fetch(`${url}/.api/nothing`, { method: "HEAD", headers });
  t.same([head.status, await head.text()], [404, ""]);
});

t.test("each status of an error has a code", async (t) => {
  for (const status of Object.keys(statusText)
    .map(Number)
    .filter((status) => status >= 400))
    t.equal(errorTable[codeForStatus(status)].httpStatus, status, `${status}`);
  t.equal(codeForStatus(418), "bad-request");
  t.equal(codeForStatus(599), "internal");
  t.notOk(acceptsProblem(undefined));
});

t.test("limits as structured fields", async (t) => {
  t.same(rateLimitHeaders([]), {});
  t.same(
    rateLimitHeaders([
      { name: "a b", unit: "requests", countMax: 600, left: 599, windowSeconds: 60, resetSeconds: 12 },
      { name: "c", unit: "content-bytes", countMax: 1e18, left: -1 },
    ]),
    {
      "RateLimit-Policy": '"a b";q=600;w=60, "c";q=999999999999999;qu="content-bytes"',
      RateLimit: '"a b";r=599;t=12, "c";r=0',
    },
  );
  t.same(waitHeaders("sign-in", 5), { "Retry-After": "5", RateLimit: '"sign-in";r=0;t=5' });
});
