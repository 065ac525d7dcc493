/** Sign-in, sessions and the use of cookies by browsers, on a running daemon. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { dataDirectory, runCommand, runCommandWith, testDaemon, type DaemonProcess } from "../../support/daemon.js";
import { isFull } from "../../support/full-run.js";
import { restartSharedDaemon, sharedDaemon } from "../../support/shared-daemon.js";
import { until } from "../../support/waiting.js";

const password = "correct horse";
const elsewhere = "https://elsewhere.example";
const trusted = "https://console.example";

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  /** `sgs=…`, if one is set. */
  readonly cookie: string | undefined;
}

async function request(daemon: DaemonProcess, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(daemon.url + path, { redirect: "manual", ...init });
  const cookie = response.headers.get("set-cookie")?.split(";")[0];
  return { status: response.status, text: await response.text(), headers: response.headers, cookie };
}

function post(
  daemon: DaemonProcess,
  path: string,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return request(daemon, path, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

async function signIn(daemon: DaemonProcess, email: string, pass = password): Promise<string> {
  const answer = await post(daemon, "/-/sign-in", { email, password: pass });
  t.equal(answer.status, 200, `${email} signs in`);
  return answer.cookie ?? "";
}

/** The name of the user that a request is attributed to; "" if anonymous. */
async function whoIs(daemon: DaemonProcess, headers: Record<string, string>): Promise<string> {
  const { status, text } = await post(daemon, "/.api/graphql", { query: "{ currentUser { username } }" }, headers);
  if (status !== 200) return `${status} ${text.trim()}`;
  return (JSON.parse(text) as { data: { currentUser: { username: string } | null } }).data.currentUser?.username ?? "";
}

async function withBob(t: Test, options: readonly string[]): Promise<DaemonProcess> {
  const daemon = await sharedDaemon(t, {}, options);
  await daemon.control("POST", "/.api/users", { name: "bob", email: "bob@example.org", password });
  return daemon;
}

/** A public site that tests share, because a start is slow; each test has its own users. */
const shared = await withBob(t, ["--set", `trustedOrigins=["${trusted}"]`]);

async function checkPrivate(t: Test, daemon: DaemonProcess, cookie: string): Promise<void> {
  const to = async (path: string, headers: Record<string, string> = {}): Promise<string> => {
    const { status, headers: answered } = await request(daemon, path, { headers });
    return `${status} ${answered.get("location") ?? ""}`.trim();
  };
  t.equal(await to("/"), "302 /sign-in?returnTo=%2F");
  t.equal(await to("/search?q=a%20b"), `302 /sign-in?returnTo=${encodeURIComponent("/search?q=a%20b")}`);
  t.equal(
    await to("/example.org/a/-/blob/x"),
    `302 /sign-in?returnTo=${encodeURIComponent("/example.org/a/-/blob/x")}`,
  );
  t.equal(await to("/a/b?x=1"), "302 /sign-in?returnTo=%2Fa%2Fb%3Fx%3D1");
  t.equal(await to("/example.org/a/-/raw/x"), "401");
  for (const path of ["/", "/a/b"])
    t.equal(await to(path, { authorization: "token nonsense" }), "401", "a wrong token is told so");
  for (const path of ["/search/stream?q=a", "/.api/search/stream?q=a", "/metrics"])
    t.equal(await to(path), "401", path);
  for (const path of [
    "/sign-in",
    "/password-reset?code=x&userID=1",
    "/healthz",
    "/readyz",
    "/__version",
    "/robots.txt",
    "/favicon.ico",
  ])
    t.equal(await to(path), "200", path);
  t.equal(await to("/", { cookie }), "200");
  t.equal(await to("/example.org/a/-/raw/x", { cookie }), "404");
}

const asBrowser = { "x-requested-with": "Sourcegraph" };

t.test("a session from sign-in to sign-out", async (t) => {
  const daemon = await withBob(t, ["--set", "auth.public=false"]);
  const { status, text, headers, cookie } = await post(daemon, "/-/sign-in", { email: "bob", password });
  t.equal(`${status} ${text}`, "200 ");
  t.match(headers.get("set-cookie"), /^sgs=[0-9a-f]{64}; Path=\/; Max-Age=7776000; HttpOnly; SameSite=Lax$/);
  t.equal(await whoIs(daemon, { ...asBrowser, cookie: cookie! }), "bob");
  t.equal(await whoIs(daemon, { ...asBrowser, cookie: `other=1; ${cookie}; last=2` }), "bob");
  const seen = async (headers: Record<string, string>): Promise<unknown> =>
    JSON.parse(
      (
        await post(
          daemon,
          "/.api/graphql",
          { query: "{ currentUser { session { canSignOut } usageStatistics { lastActiveTime } } }" },
          headers,
        )
      ).text,
    );
  t.match(await seen({ ...asBrowser, cookie: cookie! }), {
    data: { currentUser: { session: { canSignOut: true }, usageStatistics: { lastActiveTime: /^20/ } } },
  });
  const { text: token } = (await daemon.control("POST", "/.api/tokens", {
    user: "bob",
    scopes: ["user:all"],
    note: "",
    expires: "1d",
  })) as { text: string };
  t.match(
    await seen({ authorization: `token ${token}` }),
    { data: { currentUser: { session: { canSignOut: false } } } },
    "a token has no session",
  );
  t.equal(await whoIs(daemon, asBrowser), "401 Private mode requires authentication.");
  t.equal(
    await whoIs(daemon, { ...asBrowser, cookie: `sgs=${"0".repeat(64)}` }),
    "401 Private mode requires authentication.",
  );
  t.equal(
    (await request(daemon, "/search/stream?q=a", { headers: { cookie: cookie! } })).status,
    200,
    "pages of our own send no other header",
  );
  const byAddress = await signIn(daemon, "BOB@example.org");
  await t.test("pages lead to sign in, and programs are told no", (t) => checkPrivate(t, daemon, cookie!));

  const again = await restartSharedDaemon(daemon, "stop");
  t.equal(await whoIs(again, { ...asBrowser, cookie: cookie! }), "bob", "it outlives the process");
  t.equal(await whoIs(again, { authorization: `token ${token}` }), "bob", "as does a token");
  const signOut = (headers: Record<string, string>) =>
    request(again, "/-/sign-out", { headers: { cookie: cookie!, ...headers } });
  for (const headers of [
    {},
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site", referer: `${again.url}/` },
    { referer: "https://elsewhere.example/" },
    { referer: "none" },
  ] as readonly Record<string, string>[]) {
    const asked = await signOut(headers);
    t.match([asked.status, asked.text], [200, /<form method="post" action="\/-\/sign-out">/], JSON.stringify(headers));
    t.match([asked.headers.get("set-cookie"), asked.headers.get("clear-site-data")], [null, null]);
  }
  t.equal(await whoIs(again, { ...asBrowser, cookie: cookie! }), "bob", "a link of another site signs nobody out");
  const out = await signOut({ "sec-fetch-site": "same-origin" });
  t.equal(out.status, 302);
  t.equal(out.headers.get("location"), "/");
  t.equal(out.headers.get("clear-site-data"), '"storage"', "what the pages kept is forgotten");
  t.match(out.headers.get("set-cookie"), /^sgs=; Path=\/; Max-Age=0; HttpOnly; SameSite=Lax$/);
  t.equal(await whoIs(again, { ...asBrowser, cookie: cookie! }), "401 Private mode requires authentication.");
  t.equal(await whoIs(again, { ...asBrowser, cookie: byAddress }), "bob", "the other session goes on");
  t.equal((await post(again, "/-/sign-out", "", { cookie: byAddress, origin: "null" })).status, 403);
  const last = await post(again, "/-/sign-out", "", {
    cookie: byAddress,
    accept: "text/html",
    origin: again.url,
    "x-request-id": "of-the-proxy-7",
  });
  t.match([last.status, last.headers.get("location")], [303, "/"]);
  t.equal(last.headers.get("clear-site-data"), '"storage"');
  t.equal(await whoIs(again, { ...asBrowser, cookie: byAddress }), "401 Private mode requires authentication.");

  const audit = readFileSync(join(again.data, "audit.log"), "utf8");
  const events = audit
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; who?: string; from?: string });
  t.match(
    events.filter(({ event }) => event.startsWith("sign-")),
    [
      { event: "sign-in", who: "bob", from: "127.0.0.1" },
      { event: "sign-in", who: "bob" },
      { event: "sign-out", who: "bob" },
      { event: "sign-out", who: "bob", requestId: "of-the-proxy-7" },
    ],
  );
  for (const secret of [password, cookie!.slice(4)]) t.notOk(audit.includes(secret));
});

t.test("a cookie is accepted only from our own or trusted pages", async (t) => {
  const daemon = shared;
  const cookie = await signIn(daemon, "bob");
  const own = daemon.url;
  const rows: readonly (readonly [name: string, headers: Record<string, string>, who: string])[] = [
    ["nothing but the cookie", {}, ""],
    ["the header that other pages cannot send", asBrowser, "bob"],
    ["any value of it", { "x-requested-with": "x" }, "bob"],
    ["our own origin", { origin: own }, "bob"],
    ["a trusted origin", { origin: trusted }, "bob"],
    ["both", { origin: trusted, ...asBrowser }, "bob"],
    ["another origin", { origin: elsewhere }, ""],
    ["another origin with the header", { origin: elsewhere, ...asBrowser }, ""],
    ["no origin to speak of", { origin: "null", ...asBrowser }, ""],
    ["one that begins alike", { origin: `${own}.elsewhere.example` }, ""],
  ];
  for (const [name, headers, who] of rows) t.equal(await whoIs(daemon, { ...headers, cookie }), who, name);
  t.equal(
    await whoIs(daemon, { ...asBrowser, cookie, authorization: "token nonsense" }),
    "401 Invalid access token.",
    "a token that is wrong is not made good by it",
  );
  for (const path of ["/-/sign-in", "/-/sign-up", "/-/site-init", "/-/reset-password-code", "/-/sign-out"]) {
    t.equal((await post(daemon, path, { email: "bob", password }, { origin: elsewhere, cookie })).status, 403, path);
  }
  t.equal(await whoIs(daemon, { ...asBrowser, cookie }), "bob", "and nobody else signs out");
});

/**
 * A page of any site runs in the network of whoever looks at it. So it may read nothing without a token, although the
 * same would be answered to anybody: before, each origin was reflected, and any page could read a daemon on loopback.
 */
t.test("what pages of other origins can read and send", async (t) => {
  const daemon = shared;
  const untrustedHeaders = "Content-Type, Authorization, X-Sourcegraph-Should-Trace, X-Request-Id, traceparent";
  const allowedTo = async (path: string, method: string, headers: Record<string, string>) => {
    const answer = await request(daemon, path, { method, headers });
    t.match(answer.headers.get("vary"), /\bOrigin\b/);
    if (method === "OPTIONS") t.equal(`${answer.status} ${answer.text}`, "200 ", path);
    const of = (name: string): string | null => answer.headers.get(`access-control-allow-${name}`);
    return [of("origin"), of("credentials"), of("methods"), of("headers")];
  };
  const nothing = [null, null, null, null];
  const token = (await daemon.control("POST", "/.api/tokens", {
    user: "bob",
    note: "",
    scopes: ["user:all"],
    expires: "1d",
  })) as { text: string };
  const cookie = await signIn(daemon, "bob");
  for (const path of ["/.api/graphql", "/.api/search/stream?q=a", "/.api/nothing"]) {
    t.same(await allowedTo(path, "GET", {}), nothing, "a client that is no page");
    for (const origin of [elsewhere, "null"]) {
      t.same(await allowedTo(path, "OPTIONS", { origin }), nothing, "no preflight for a request without a token");
      t.same(
        await allowedTo(path, "OPTIONS", {
          origin,
          "access-control-request-headers": "content-type, x-requested-with",
        }),
        nothing,
      );
      t.same(
        await allowedTo(path, "OPTIONS", { origin, "access-control-request-headers": "authorization,content-type" }),
        [origin, "true", "GET, POST, OPTIONS", untrustedHeaders],
        "one with a token may be sent",
      );
      t.same(
        await allowedTo(path, "GET", { origin, authorization: `token ${token.text}` }),
        [origin, "true", null, null],
        "and read",
      );
      t.same(
        await allowedTo(path, "GET", { origin, authorization: "token-sudo user=bob" }),
        nothing,
        "a credential that holds no token is none",
      );
      t.same(await allowedTo(path, "GET", { origin }), nothing, "one without a token is not read");
      t.same(await allowedTo(path, "GET", { origin, cookie, ...asBrowser }), nothing, "nor one with a cookie");
    }
    t.same(await allowedTo(path, "OPTIONS", { origin: trusted }), [
      trusted,
      "true",
      "GET, POST, OPTIONS",
      `${untrustedHeaders}, X-Requested-With, X-Sourcegraph-Client`,
    ]);
    t.same(
      await allowedTo(path, "GET", { origin: trusted }),
      [trusted, "true", null, null],
      "a trusted page needs no token",
    );
  }
  for (const path of ["/", "/search/stream?q=a", "/sign-in", "/-/sign-out", "/metrics"]) {
    const { headers } = await request(daemon, path, {
      headers: { origin: elsewhere, authorization: `token ${token.text}` },
    });
    t.equal(headers.get("access-control-allow-origin"), null, path);
  }
});

/** A browser adds a name and a password that it knows to the requests of a page of any site. */
t.test("a page of another origin has no use of Basic, whether the credential is right or wrong", async (t) => {
  const daemon = shared;
  const { text: token } = (await daemon.control("POST", "/.api/tokens", {
    user: "bob",
    note: "",
    scopes: ["user:all"],
    expires: "1d",
  })) as { text: string };
  const cookie = await signIn(daemon, "bob");
  const query = "{ currentUser { username } }";
  const refusal = "403 A page of another site must send a token as Authorization: token …, not as a user name.\n";
  const sent = [token, "wrong", ""].map((name) => `Basic ${Buffer.from(`${name}:x`).toString("base64")}`);
  for (const authorization of [...sent, "Basic %%%", "Basic", `basic ${btoa(`${token}:x`)}`]) {
    const expected = authorization.startsWith("Basic ") ? refusal : "401 Invalid Authorization header.\n";
    // In `make test` each credential from one origin, and each origin with a token.
    const origins = [elsewhere, "null", `${daemon.url}.example`];
    for (const origin of isFull || authorization === sent[0] ? origins : [elsewhere]) {
      for (const more of isFull || origin !== elsewhere ? [{}, { cookie, ...asBrowser }] : [{}]) {
        const headers = { origin, authorization, ...more };
        const shown = JSON.stringify(headers);
        for (const [method, path] of [
          ["POST", "/.api/graphql"],
          ["GET", "/.api/search/stream?q=a"],
          ["GET", "/-/check-username-taken/bob"],
        ] as const) {
          const answer =
            method === "POST" ? await post(daemon, path, { query }, headers) : await request(daemon, path, { headers });
          t.equal(`${answer.status} ${answer.text}`, expected, `${path} ${shown}`);
          t.equal(answer.headers.get("access-control-allow-origin"), null, shown);
          t.equal(answer.headers.get("access-control-allow-credentials"), null, shown);
          t.equal(answer.headers.get("set-cookie"), null, shown);
          t.equal(answer.headers.get("www-authenticate"), null, "the browser does not ask for a password");
        }
        // Signing out needs no right, so its own check of the origin decides.
        const over = await post(daemon, "/-/sign-out", "", headers);
        t.equal(over.status, 403, shown);
        t.equal(over.headers.get("set-cookie"), null);
      }
    }
  }
  t.equal(await whoIs(daemon, { authorization: sent[0]! }), "bob", "a client that is no page has use of it");
  t.equal(await whoIs(daemon, { authorization: sent[0]!, origin: trusted }), "bob", "as has a trusted page");
  t.equal(await whoIs(daemon, { ...asBrowser, cookie }), "bob", "and the session lasts");
});

t.test("rejected sign-ins", async (t) => {
  const daemon = shared;
  await daemon.control("POST", "/.api/users", { name: "dan" });
  const rows: readonly (readonly [body: unknown, status: number, text: string | RegExp])[] = [
    [{ email: "eve", password }, 401, "Authentication failed\n"],
    [{ email: "dan", password }, 401, "Authentication failed\n"],
    [{ email: "dan", password: "" }, 401, "Authentication failed\n"],
    [{ email: "eve@example.org", password }, 401, "Authentication failed\n"],
    [{ email: "", password: "" }, 401, "Authentication failed\n"],
    ["", 400, "the body must be a JSON object in UTF-8\n"],
    ["[]", 400, "the body must be a JSON object in UTF-8\n"],
    ["null", 400, "the body must be a JSON object in UTF-8\n"],
    [`{"email":"bob","password":"${password}"`, 400, "the body must be a JSON object in UTF-8\n"],
    [{ email: "bob" }, 400, '"password" must be a string\n'],
    [{ email: 7, password }, 400, '"email" must be a string\n'],
    [{ email: "bob", password: "x".repeat(20_000) }, 413, "body too large\n"],
  ];
  for (const [body, status, text] of rows) {
    const answer = await post(daemon, "/-/sign-in", body);
    t.equal(`${answer.status} ${answer.text}`, `${status} ${String(text)}`, JSON.stringify(body).slice(0, 60));
    t.equal(answer.cookie, undefined);
  }
  t.equal((await request(daemon, "/-/sign-in")).status, 405);
  t.match((await request(daemon, "/sign-in")).text, /\/-\/sign-in/);
});

t.test("the command line sets passwords, and ends sessions with them", async (t) => {
  const daemon = shared;
  await daemon.control("POST", "/.api/users", { name: "cid", password });
  const cookie = await signIn(daemon, "cid");
  const second = await signIn(daemon, "cid");
  t.match(
    await piped(["user", "password", "cid", "--data", daemon.data], "another one of mine\n"),
    /^0 the password of cid was set/,
  );
  t.equal(await whoIs(daemon, { ...asBrowser, cookie }), "");
  const third = await signIn(daemon, "cid", "another one of mine");
  t.match(
    await piped(
      ["user", "create", "ann", "--email", "ann@example.org", "--password-stdin", "--data", daemon.data],
      password,
    ),
    /^0 ann {2}created/,
  );
  const anns = await signIn(daemon, "ann@example.org");
  t.match(await piped(["user", "password", "cid", "--data", daemon.data], "short"), /^2 .*too short/s);
  await daemon.control("DELETE", "/.api/users/ann");
  for (const over of [second, anns]) t.equal(await whoIs(daemon, { ...asBrowser, cookie: over }), "");
  t.equal(await whoIs(daemon, { ...asBrowser, cookie: third }), "cid");
});

async function piped(args: readonly string[], input: string): Promise<string> {
  const { exitCode, out, err } = await runCommandWith(input, args);
  return `${String(exitCode)} ${out}${err}`;
}

t.test("creating an account", async (t) => {
  const closed = shared;
  const ann = { email: "ann@example.org", username: "ann", password };
  t.equal((await post(closed, "/-/sign-up", ann)).status, 404, "not unless it is allowed");
  t.equal(`${(await post(closed, "/-/site-init", ann)).text}`, "Site is already initialized.\n");
  const token = Buffer.from("wrong:").toString("base64");
  for (const name of ["bob", "BOB", "eve", "%00", "x".repeat(300)]) {
    const path = `/-/check-username-taken/${name}`;
    for (const headers of [{}, { cookie: "sgs=wrong" }, { origin: elsewhere }] as Record<string, string>[]) {
      const { status, text } = await request(closed, path, { headers });
      t.equal(`${status} ${text}`, "401 not authenticated\n", name);
    }
    const wrong = await request(closed, path, { headers: { authorization: `Basic ${token}` } });
    t.equal(`${wrong.status} ${wrong.text}`, "401 Invalid access token.\n");
  }
  const cookie = await signIn(closed, "bob");
  t.equal((await request(closed, "/-/check-username-taken/BOB", { headers: { cookie } })).status, 200);
  t.equal((await request(closed, "/-/check-username-taken/eve", { headers: { cookie } })).status, 404);

  const config = join(t.testdir(), "trawl.jsonc");
  writeFileSync(
    config,
    JSON.stringify({
      auth: { allowSignup: true },
      repositories: [{ name: "host/plans", url: "/nonexistent", private: true, readers: ["Fay"] }],
    }),
  );
  const tls = ["--set", "externalUrl=https://trawl.example", "--set", "auth.sessionDays=1"];
  const open = await testDaemon(t, ["--config", config, ...tls], dataDirectory(t));
  t.same(await open.control("GET", "/.api/users"), [], "nobody is there before the first one");
  const first = await post(open, "/-/site-init", ann);
  t.equal(first.status, 200);
  t.equal(await whoIs(open, { ...asBrowser, cookie: first.cookie! }), "ann");
  for (const headers of [{}, { origin: "https://trawl.example" }] as readonly Record<string, string>[]) {
    const signedIn = await post(open, "/-/sign-in", { email: "ann", password }, headers);
    t.equal(signedIn.status, 200);
    t.match(
      signedIn.headers.get("set-cookie"),
      /; Max-Age=86400; HttpOnly; SameSite=Lax; Secure$/,
      "over TLS the cookie is for TLS only",
    );
  }
  t.match(await open.control("GET", "/.api/users"), [{ name: "ann", isSiteAdmin: true }]);
  t.equal((await post(open, "/-/site-init", { ...ann, username: "eve", email: "" })).status, 403);
  const second = await post(open, "/-/sign-up", { username: "bob", email: "", password });
  t.equal(await whoIs(open, { ...asBrowser, cookie: second.cookie! }), "bob");
  t.match(await open.control("GET", "/.api/users"), [{ name: "ann" }, { name: "bob", isSiteAdmin: false }]);
  const refusals: readonly (readonly [given: object, status: number, text: RegExp])[] = [
    [{ username: "BOB" }, 409, /username "BOB" is already taken/],
    [{ username: "fay" }, 409, /username "fay" is already taken/],
    [{ username: "eve", email: "Ann@example.org" }, 409, /already taken/],
    [{ username: "eve", email: "x" }, 400, /not an e-mail address/],
    [{ username: "e v e" }, 400, /is not a valid name/],
    [{ username: "eve", password: "short" }, 400, /too short/],
    [{ username: 1 }, 400, /"username" must be a string/],
  ];
  for (const [given, status, text] of refusals) {
    const answer = await post(open, "/-/sign-up", { email: "", password, ...given });
    t.equal(answer.status, status, JSON.stringify(given));
    t.match(answer.text, text);
  }
  t.equal((await request(open, "/-/check-username-taken/bob")).status, 200);
  t.equal(
    (await request(open, "/-/check-username-taken/fay")).status,
    200,
    "a name that a repository has among its readers",
  );
  t.equal((await request(open, "/-/check-username-taken/eve")).status, 404);
  const wrong = await request(open, "/-/check-username-taken/bob", { headers: { authorization: "token wrong" } });
  t.equal(`${wrong.status} ${wrong.text}`, "401 Invalid access token.\n", "a wrong credential is refused as elsewhere");

  const asked = await Promise.all(
    Array.from({ length: 80 }, (_, at) => request(open, `/-/check-username-taken/${at % 2 === 0 ? "bob" : "eve"}`)),
  );
  const refused = asked.filter(({ status }) => status === 429);
  t.ok(refused.length > 0, "one address does not ask for all names");
  t.match(refused[0]?.text, /^Too many questions whether a name is taken\. Try again in \d+ seconds\.\n$/);
  t.match(refused[0]?.headers.get("retry-after"), /^\d+$/);
  // On a busy machine some time has passed, after which a few more questions are answered.
  for (const name of ["bob", "fay", "eve"])
    await until(`a user waits too: ${name}`, async () => {
      const headers = { cookie: second.cookie! };
      return (await request(open, `/-/check-username-taken/${name}`, { headers })).status === 429;
    });
  const asAdmin = await request(open, "/-/check-username-taken/fay", { headers: { cookie: first.cookie! } });
  t.equal(asAdmin.status, 200, "site admins know all names");
  await until("the refusals are recorded", () =>
    readFileSync(join(open.data, "audit.log"), "utf8").includes('"reason":"too many questions for names"'),
  );
  const third = await post(open, "/-/sign-up", { username: "eve", email: "", password });
  t.equal(third.status, 200, "and who has asked may still create an account");
});

t.test("too many attempts are delayed, even with the correct password", async (t) => {
  const daemon = shared;
  await daemon.control("POST", "/.api/users", { name: "tom", email: "tom@example.org", password });
  for (const name of ["tom", "nobody"]) {
    const tries = await Promise.all(
      Array.from({ length: 12 }, () => post(daemon, "/-/sign-in", { email: name, password: "wrong" })),
    );
    t.equal(tries.filter(({ status }) => status === 401).length, 5, `five tries for ${name}, also at the same time`);
    t.equal(tries.filter(({ status }) => status === 422).length, 7);
  }
  const tryTom = (pass: string) => post(daemon, "/-/sign-in", { email: "tom@example.org", password: pass });
  // Each wrong one makes the delay longer, until it is longer than a request takes on a busy machine.
  let locked = await tryTom(password);
  for (let round = 0; locked.status === 200 && round < 20; round++, locked = await tryTom(password))
    await Promise.all(Array.from({ length: 12 }, () => tryTom("wrong")));
  t.match(
    `${locked.status} ${locked.text}`,
    /^422 Too many attempts\. Try again in \d+ seconds, or ask a site admin for a link to set a password\.\n$/,
  );
  t.match(locked.headers.get("retry-after"), /^\d+$/);
  await signIn(daemon, "bob", password);

  const link = (await runCommand("user", "password", "tom", "--link", "--data", daemon.data)).out.trim();
  t.ok(link.startsWith(`${daemon.url}/password-reset?code=`), link);
  const parameters = new URL(link).searchParams;
  const reset = { userID: Number(parameters.get("userID")), code: parameters.get("code"), password: "a better one" };
  t.equal((await post(daemon, "/-/reset-password-code", { ...reset, password: "short" })).status, 400);
  t.equal(
    (await post(daemon, "/-/reset-password-code", { ...reset, code: "0".repeat(64) })).text,
    "Password reset code was invalid or expired.\n",
  );
  t.equal((await post(daemon, "/-/reset-password-code", reset)).status, 200);
  t.equal((await post(daemon, "/-/reset-password-code", reset)).status, 403, "once");
  await signIn(daemon, "tom", "a better one");
  t.equal((await post(daemon, "/-/reset-password-init", { email: "tom" })).status, 404);

  const many = await Promise.all(
    Array.from({ length: 60 }, (_, at) => post(daemon, "/-/sign-in", { email: `name${at}`, password })),
  );
  t.ok(
    many.some(({ status }) => status === 422),
    "one address does not try all names",
  );
  const refused = (): readonly string[] =>
    readFileSync(join(daemon.data, "audit.log"), "utf8")
      .split("\n")
      .filter((line) => line.includes("sign-in-refused"));
  await until("the refusal is recorded", () =>
    refused().some((line) => line.includes('"user":"tom"') && line.includes("wrong password")),
  );
  t.ok(refused().length < 20, "and the log is bounded");
});
