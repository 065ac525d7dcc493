/** Accounts on a running daemon, from the command line to HTTP responses. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { authorizeDevice } from "../../../src/cli/connection/device-login.js";
import { dataDirectory, runCommand, testDaemon, type DaemonProcess } from "../../support/daemon.js";
import { GitFixture } from "../../support/git-fixture.js";
import { sharedDaemon } from "../../support/shared-daemon.js";
import { until } from "../../support/waiting.js";

function source(t: Test): string {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "a.txt": "needle\n" } });
  return fixture.path;
}

/** The single line that a command prints. */
async function lineOf(...args: string[]): Promise<string> {
  const { exitCode, out, err } = await runCommand(...args);
  t.equal(exitCode, 0, err);
  return out.trim();
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function request(daemon: DaemonProcess, path: string, authorization?: string, method = "GET"): Promise<Answer> {
  const headers = { origin: "https://editor.example", ...(authorization === undefined ? {} : { authorization }) };
  const body = method === "POST" ? JSON.stringify({ query: "{ site { productVersion } }" }) : null;
  const response = await fetch(daemon.url + path, { method, headers, body });
  return { status: response.status, text: await response.text(), headers: response.headers };
}

/** For the daemons that nobody uses without an account. */
const privateMode = ["--set", "auth.public=false"];

const stream = "/.api/search/stream?q=needle";

t.test("private mode: a token gives access", async (t) => {
  const daemon = await sharedDaemon(t, {}, privateMode);
  const { data } = daemon;
  await daemon.add("example.org/a", source(t));
  const closed: readonly (readonly [path: string, method: string])[] = [
    [stream, "GET"],
    ["/search/stream?q=needle", "GET"],
    ["/.api/graphql", "POST"],
    ["/.api/search/trace/1", "GET"],
    ["/metrics", "GET"],
  ];
  for (const [path, method] of closed) {
    const { status, text, headers } = await request(daemon, path, undefined, method);
    t.equal(`${status} ${text}`, "401 Private mode requires authentication.\n", path);
    t.equal(headers.get("content-type"), "text/plain; charset=utf-8");
    t.equal(headers.get("access-control-allow-origin"), null, "no page elsewhere learns more than that");
    const wrong = await request(daemon, path, "token wrong", method);
    t.equal(
      wrong.headers.get("access-control-allow-origin"),
      path.startsWith("/.api/") ? "https://editor.example" : null,
      "one that sends a token may read why",
    );
  }
  t.equal((await request(daemon, "/healthz")).status, 200);
  t.same(JSON.parse((await request(daemon, "/readyz")).text), { ready: true, repositories: [] }, "nothing is named");
  t.equal((await request(daemon, stream, undefined, "OPTIONS")).status, 200);

  t.match(await lineOf("user", "list", "--data", data), /^admin {2}site admin {2}created /);
  t.match(await lineOf("user", "create", "bob", "--data", data), /^bob {2}created /);
  const token = await lineOf("token", "create", "bob", "--note", "for a test", "--data", data);
  t.match(token, /^sgp_local_[0-9a-f]{40}$/, "the token alone");
  for (const [path, method] of closed.slice(0, 3))
    t.equal((await request(daemon, path, `token ${token}`, method)).status, 200, path);
  t.match((await request(daemon, stream, `token ${token}`)).text, /"path":"a\.txt"/);
  t.match((await request(daemon, `${stream}&token=${token}`)).text, /"path":"a\.txt"/);
  t.match(JSON.parse((await request(daemon, "/readyz", `token ${token}`)).text), {
    repositories: [{ name: "example.org/a" }],
  });
  t.equal(
    (await runCommand("search", "--endpoint", daemon.url, "--token", token, "needle")).out,
    "example.org/a:a.txt:1:needle\n",
  );
  t.match(
    (await runCommand("search", "--endpoint", daemon.url, "needle")).err,
    /answered 401: Private mode requires authentication\. Run `trawl login`, or set an access token/,
  );

  const [, id] =
    /^(\d+) {2}bob {2}user:all {2}expires \S+ {2}last used \S+ {2}for a test$/.exec(
      await lineOf("token", "list", "bob", "--data", data),
    ) ?? [];
  t.equal(await lineOf("token", "delete", id!, "--data", data), `deleted token ${id} of bob`);
  t.equal((await request(daemon, stream, `token ${token}`)).text, "Invalid access token.\n");
});

t.test("public mode: anyone can search, but an invalid token is rejected", async (t) => {
  const daemon = await sharedDaemon(t);
  const { data } = daemon;
  const audited = () => readFileSync(join(data, "audit.log"), "utf8").trim().split("\n");
  const before = audited().length;
  await daemon.add("example.org/a", source(t));
  t.equal((await request(daemon, stream)).status, 200);
  const { status, text } = await request(daemon, stream, "token nonsense");
  t.equal(`${status} ${text}`, "401 Invalid access token.\n");

  const sudo = await lineOf("token", "create", "admin", "--scope", "user:all,site-admin:sudo", "--data", data);
  await daemon.control("POST", "/.api/users", { name: "bob" });
  t.equal((await request(daemon, stream, `token-sudo user="bob",token="${sudo}"`)).status, 200);
  t.equal(
    (await request(daemon, stream, `token-sudo user="eve",token="${sudo}"`)).text,
    "Unable to sudo to nonexistent user.\n",
  );

  const trace = async (authorization?: string): Promise<string> =>
    /"trace":"http:\/\/[^/"]+([^"]+)"/.exec((await request(daemon, stream, authorization)).text)?.[1] ?? "";
  const [ofBob, ofNobody] = [await trace(`token-sudo user="bob",token="${sudo}"`), await trace()];
  t.equal((await request(daemon, ofBob)).status, 404, "what another one searched for is not shown");
  t.match((await request(daemon, ofBob, `token ${sudo}`)).text, /^query: needle/);
  t.match((await request(daemon, ofNobody)).text, /^query: needle/);

  const events = () =>
    new Set(
      audited()
        .slice(before)
        .map((line) => (JSON.parse(line) as { event: string }).event)
        // Which has no line of its own once other tests have sent many that are wrong.
        .filter((event) => event !== "credential-refused"),
    );
  await until("all is recorded", () => events().size >= 3);
  t.same([...events()].sort(), ["sudo", "token-created", "user-created"]);
});

t.test("rejected commands, and the list of organizations", async (t) => {
  const data = dataDirectory(t);
  const daemon = await testDaemon(t, ["--set", "auth.accessTokens=none"], data);
  const token = { user: "admin", scopes: ["user:all"], note: "", expires: "90d" };
  const refusals: readonly (readonly [method: "POST" | "DELETE", path: string, body: unknown, message: RegExp])[] = [
    ["POST", "users", { name: "a b" }, /"a b" is not a valid name/],
    ["POST", "users", { name: 7 }, /"name" must be a string/],
    ["POST", "users", undefined, /"name" must be a string/],
    ["POST", "users", { name: "x", isSiteAdmin: "yes" }, /"isSiteAdmin" must be true or false/],
    ["POST", "users", { name: "Admin" }, /username "Admin" is already taken/],
    ["DELETE", "users/admin", undefined, /is the only site admin/],
    ["DELETE", "users/eve", undefined, /there is no user named "eve"/],
    ["POST", "organizations", { name: "admin" }, /organization name "admin" is already taken/],
    ["POST", "organizations/core", { user: "admin" }, /there is no organization named "core"/],
    ["POST", "tokens", token, /access tokens are disabled/],
    ["DELETE", "tokens/77", undefined, /there is no access token 77/],
    ["DELETE", "tokens/x", undefined, /"x" is not the id of an access token/],
  ];
  for (const [method, path, body, message] of refusals)
    await t.rejects(daemon.control(method, `/.api/${path}`, body), { message }, path);
  t.match(await lineOf("org", "create", "core", "--data", data), /^core {2}no members$/);
  t.match(await lineOf("org", "add", "core", "admin", "--data", data), /^core {2}admin$/);
  const { exitCode, out, err } = await runCommand("token", "create", "admin", "--data", data);
  t.equal(exitCode, 2);
  t.equal(out, "");
  t.match(err, /^trawl: access tokens are disabled/);
  t.equal((await request(daemon, "/.well-known/openid-configuration")).status, 404, "no program can get one either");
  t.equal(await authorizeDevice(daemon.url, () => t.fail("there is no code")), undefined);
  for (const header of ["token nonsense", `token sgp_local_${"0".repeat(40)}`]) {
    const { status, text } = await request(daemon, stream, header);
    t.equal(`${status} ${text}`, "401 Access token authorization is disabled.\n");
  }
  await until("refusals are recorded", () =>
    readFileSync(join(data, "audit.log"), "utf8").includes('"event":"credential-refused"'),
  );
});

t.test("each rejection is a status and a line of plain text", async (t) => {
  const daemon = await sharedDaemon(t, {}, privateMode);
  const tokenOf = (user: string, ...scopes: string[]): Promise<string> => daemon.addToken(user, scopes);
  await daemon.control("POST", "/.api/users", { name: "eve", isSiteAdmin: true });
  const [plain, sudo, former] = [
    await tokenOf("admin"),
    await tokenOf("admin", "site-admin:sudo"),
    await tokenOf("eve", "site-admin:sudo"),
  ];
  await daemon.control("POST", "/.api/users/eve", { isSiteAdmin: false });
  const [malformed, invalid, closed] = [
    "401 Unauthorized: Invalid Authorization header.\n",
    "401 Unauthorized: Invalid access token.\n",
    "401 Unauthorized: Private mode requires authentication.\n",
  ];
  const rows: readonly (readonly [header: string | undefined, answer: string])[] = [
    [undefined, closed],
    ["token", malformed],
    ["token-sudo abc", malformed],
    ['token-sudo token="",user="eve"', malformed],
    ['token-sudo user="a\\",token="b"', malformed],
    ["token nonsense", invalid],
    [`token sgp_local_${"0".repeat(40)}`, invalid],
    [`token-sudo token="${plain}",user="eve"`, invalid],
    [
      `token-sudo token="${former}",user="admin"`,
      "403 Forbidden: The subject user of a sudo access token must be a site admin.\n",
    ],
    [`token-sudo token="${sudo}",user="nobody"`, "403 Forbidden: Unable to sudo to nonexistent user.\n"],
    ["Digest abc", closed],
    ["Basic OnNlY3JldA==", closed],
  ];
  for (const path of [stream, "/.api/graphql"]) {
    for (const [header, answer] of rows) {
      const headers: Record<string, string> = header === undefined ? {} : { authorization: header };
      const response = await fetch(
        daemon.url + path,
        path === stream ? { headers } : { headers, method: "POST", body: '{"query":"{ __typename }"}' },
      );
      t.equal(`${response.status} ${response.statusText}: ${await response.text()}`, answer, `${path} ${header}`);
      t.equal(response.headers.get("content-type"), "text/plain; charset=utf-8");
    }
  }
});
