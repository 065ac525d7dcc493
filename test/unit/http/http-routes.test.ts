import t from "tap";
import { silentLog } from "../../../src/base/log.js";
import { addRoutes } from "../../../src/http/routes/routes.js";
import type { Refusal, SearchHandler } from "../../../src/http/routes/stream-route.js";
import { HttpServer } from "../../../src/http/server/uws.js";
import type { SearchRequest } from "../../../src/model/search-request.js";
import { hollowServices } from "../../support/http-front.js";

function startDaemonFront(search: Partial<SearchHandler>, ready: boolean) {
  const server = new HttpServer(silentLog(), () => {});
  const requests: SearchRequest[] = [];
  const services = hollowServices(search, ready);
  const run: SearchHandler["run"] = (request, sink) => {
    requests.push(request);
    services.search.run(request, sink);
  };
  addRoutes(server, { ...services, search: { ...services.search, run } });
  const port = server.listen("127.0.0.1", 0, () => {});
  t.teardown(() => server.stop(0));
  return { url: `http://127.0.0.1:${port}`, requests };
}

t.test("stream", async (t) => {
  const { url, requests } = startDaemonFront({}, true);
  for (const path of ["/.api/search/stream", "/search/stream"]) {
    const good = await fetch(`${url}${path}?q=hello+world&display=5`);
    t.equal(await good.text(), "event: done\ndata: {}\n\n", path);
    t.equal(good.headers.get("x-frame-options"), "DENY");
    t.equal(good.headers.get("access-control-allow-origin"), null);

    const bad = await fetch(`${url}${path}?q=a&display=many`);
    t.equal(bad.status, 200, "bad parameters are events, not a status");
    t.equal(
      await bad.text(),
      'event: error\ndata: {"message":"display must be an integer, got \\"many\\""}\n\nevent: done\ndata: {}\n\n',
    );
  }
  t.match(requests, [{ query: "hello world", display: 5 }, { query: "hello world" }]);
  for (const agent of ["src-cli/7.6.0", "Go-http-client/2.0", "curl/8", "my src-cli/1"]) {
    await (await fetch(`${url}/search/stream?q=a`, { headers: { "user-agent": agent } })).text();
    const isStrict = /^(src|Go)/.test(agent);
    t.match(requests.pop(), { diffType: isStrict ? "commit" : "diff", refusesOwners: isStrict }, agent);
  }
  t.equal(requests.length, 2, "a bad request does not reach the search");

  for (const method of ["HEAD", "PUT"]) {
    const other = await fetch(`${url}/search/stream?q=a`, { method });
    t.equal(other.status, 405, method);
    await other.text();
  }
  const posted = await fetch(`${url}/search/stream?q=a`, { method: "POST", body: '{"patterns":["b"]}' });
  t.equal(posted.status, 200);
  await posted.text();
  t.match(requests[2], { query: "a", patterns: ["b"] });
});

t.test("browser clients on other origins", async (t) => {
  const { url } = startDaemonFront({}, true);
  for (const origin of ["https://editor.example", "null"]) {
    const response = await fetch(`${url}/.api/search/stream?q=a`, { headers: { origin, authorization: "token abc" } });
    t.equal(response.headers.get("access-control-allow-origin"), origin);
    t.equal(response.headers.get("access-control-allow-credentials"), "true");
    await response.text();
    const anonymous = await fetch(`${url}/.api/search/stream?q=a`, { headers: { origin } });
    t.equal(
      anonymous.headers.get("access-control-allow-origin"),
      null,
      "without a token a page elsewhere reads nothing",
    );
    await anonymous.text();
    // A browser sends a name and password that it knows also for pages elsewhere.
    const known = { origin, authorization: `Basic ${Buffer.from("abc:").toString("base64")}` };
    const basic = await fetch(`${url}/.api/search/stream?q=a`, { headers: known });
    t.equal(basic.headers.get("access-control-allow-origin"), null);
    t.equal(basic.headers.get("access-control-allow-credentials"), null);
    await basic.text();
  }
  const preflight = await fetch(`${url}/.api/search/stream`, {
    method: "OPTIONS",
    headers: { origin: "https://x.example", "access-control-request-headers": "authorization" },
  });
  t.equal(preflight.status, 200);
  t.equal(await preflight.text(), "");
  t.equal(preflight.headers.get("access-control-allow-methods"), "GET, POST, OPTIONS");
  t.match(preflight.headers.get("access-control-allow-headers"), /Authorization/);
});

t.test("a rejected search is a 503 before the stream starts", async (t) => {
  const refusal: Refusal = { status: 503, message: "too many searches", retryAfterSeconds: 1.5 };
  const { url } = startDaemonFront({ admit: () => refusal }, true);
  const response = await fetch(`${url}/.api/search/stream?q=a`);
  t.equal(response.status, 503);
  t.equal(response.headers.get("retry-after"), "2");
  t.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
  t.equal(await response.text(), "too many searches\n");
  const bad = await fetch(`${url}/.api/search/stream?q=`);
  t.equal(bad.status, 200, "a request that needs no place is answered");
  await bad.text();
});

t.test("a search that throws still ends its stream", async (t) => {
  const { url } = startDaemonFront(
    {
      run: () => {
        throw new TypeError("deliberate");
      },
    },
    true,
  );
  const response = await fetch(`${url}/.api/search/stream?q=a`, { headers: { "X-Request-Id": "abc" } });
  t.equal(response.headers.get("x-request-id"), "abc");
  t.equal(
    await response.text(),
    'event: error\ndata: {"message":"internal error in request abc"}\n\nevent: done\ndata: {}\n\n',
  );
});

t.test("gzip if the client accepts it", async (t) => {
  const { url } = startDaemonFront({}, true);
  const response = await fetch(`${url}/.api/search/stream?q=a`, { headers: { "accept-encoding": "gzip" } });
  t.equal(response.headers.get("content-encoding"), "gzip");
  t.equal(await response.text(), "event: done\ndata: {}\n\n");
  const identity = await fetch(`${url}/.api/search/stream?q=a`, { headers: { "accept-encoding": "identity" } });
  t.equal(identity.headers.get("content-encoding"), null);
  await identity.text();
});

t.test("pages for operators", async (t) => {
  const { url } = startDaemonFront({}, true);
  const text = async (path: string) => (await fetch(url + path)).text();
  t.equal(await text("/healthz"), "ok\n");
  t.match(JSON.parse(await text("/readyz")), { repositories: [{ state: "searchable" }] });
  t.match(await text("/metrics"), /^# TYPE trawl_searches_total counter$/m);
  t.equal(await text("/.api/search/trace/abc"), "the trace");
  t.equal((await fetch(`${url}/.api/search/trace/other`)).status, 404);
  t.match(await text("/"), /curl -N 'http:\/\/127\.0\.0\.1:\d+\/\.api\/search\/stream/);
  t.equal(await text("/.api/whatever"), "no route\n");

  const starting = startDaemonFront({}, false);
  const notReady = await fetch(`${starting.url}/readyz`);
  t.equal(notReady.status, 503);
  t.match(await notReady.json(), { repositories: [{ state: "pending" }] });
});

t.test("standard files for clients, browsers and crawlers", async (t) => {
  const { url } = startDaemonFront({}, true);
  const at = async (path: string, method = "GET") => {
    const response = await fetch(`${url}${path}`, { method, redirect: "manual" });
    return [response.status, response.headers.get("location") ?? (await response.text())];
  };
  t.match(JSON.parse(String((await at("/.api/src-cli/version"))[1])), { version: /^\d+\.\d+\.\d+$/ });
  t.match(await at("/.api/src-cli/src_linux_amd64"), [302, /^https:\/\/github\.com\/.*\/src_linux_amd64$/]);
  t.match(await at("/.api/src-cli/src_plan9_amd64"), [404, /no build/]);
  t.match(await at("/__version"), [200, /^\d+_\d{4}-\d\d-\d\d_/]);
  t.same(await at("/.api/repos/known/name/-/refresh", "POST"), [401, "not authenticated\n"]);
  t.same(await at("/.api/repos/known/name/-/shield"), [200, '{"value":" 0 projects"}']);
  t.same(await at("/.api/scip/upload", "HEAD"), [200, ""]);
  for (const path of ["/.api/scip/upload", "/.api/lsif/upload"])
    t.match(await at(path, "POST"), [401, /needs an access token/]);
  t.match(await at("/robots.txt"), [200, /^User-agent: \*/]);
  t.match(await at("/favicon.ico"), [200, /^<svg/]);
  t.match(await at("/opensearch.xml"), [
    200,
    /template="http:\/\/trawl\.example\/search\?q=\{searchTerms\}&amp;patternType=keyword"/,
  ]);
  for (const path of ["/.api/nothing", "/.api/repos/x", "/.api/"])
    for (const method of ["GET", "POST", "PUT"])
      t.same(await at(path, method), [404, "no route\n"], `${method} ${path}`);
  t.same(await at("/search", "POST"), [405, "method not allowed\n"]);
});
