/** Programs that act for a user who approves them in a browser: OAuth 2.0 device authorization, as `src login` speaks it. */
import {
  Client,
  StreamableHTTPClientTransport,
  UnauthorizedError,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
} from "@modelcontextprotocol/client";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { AuthorizationCodes } from "../../../src/account/sign-in/authorization-codes.js";
import { DeviceGrants } from "../../../src/account/sign-in/device-grants.js";
import {
  clientConfigPath,
  readClientConfig,
  storeToken,
  type StoredToken,
} from "../../../src/cli/connection/client-config.js";
import { authorizeDevice } from "../../../src/cli/connection/device-login.js";
import { AccountSite } from "../../support/account-site.js";
import { makeCertificate } from "../../support/certificate.js";
import { dataDirectory, runCommandWith, testDaemon, type DaemonProcess } from "../../support/daemon.js";
import { ask } from "../../support/graphql.js";
import { sharedDaemon } from "../../support/shared-daemon.js";
import { until } from "../../support/waiting.js";
import { wallClock } from "../../support/wall-clock.js";

const client = "sgo_cid_sourcegraph-cli";
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code";
const password = "correct horse";

interface Codes {
  readonly device_code: string;
  readonly user_code: string;
  readonly verification_uri_complete: string;
  readonly interval: number;
  readonly error?: string;
}

interface Answer {
  readonly data?: unknown;
  readonly errors?: unknown;
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
  readonly error?: string;
}

/** What a program and a browser do. */
class Site {
  readonly daemon: DaemonProcess;

  constructor(daemon: DaemonProcess) {
    this.daemon = daemon;
  }

  static async start(t: Test, options: readonly string[] = [], variables: Record<string, string> = {}): Promise<Site> {
    const daemon =
      options.length === 0 ? await sharedDaemon(t) : await testDaemon(t, options, dataDirectory(t), variables);
    await daemon.control("POST", "/.api/users", { name: "bob", email: "bob@example.org", password });
    return new Site(daemon);
  }

  async form<T>(path: string, fields: Record<string, string>): Promise<{ status: number; body: T; headers: Headers }> {
    const response = await fetch(this.daemon.url + path, {
      method: "POST",
      body: new URLSearchParams({ client_id: client, ...fields }),
    });
    return { status: response.status, body: (await response.json()) as T, headers: response.headers };
  }

  async begin(): Promise<Codes> {
    const { status, body } = await this.form<Codes>("/-/oauth/device/code", {
      scope: "email offline_access openid profile user:all",
    });
    t.equal(status, 200);
    return body;
  }

  async poll({ device_code }: Codes, client_id = client): Promise<Tokens> {
    return (await this.form<Tokens>("/-/oauth/token", { client_id, grant_type: deviceGrant, device_code })).body;
  }

  async refresh(refresh_token: string, client_id = client): Promise<Tokens> {
    return (await this.form<Tokens>("/-/oauth/token", { client_id, grant_type: "refresh_token", refresh_token })).body;
  }

  /** The tokens of a program that the user of the session has approved. */
  async authorize(cookie: string): Promise<Tokens> {
    const codes = await this.approved(cookie);
    return await this.poll(codes);
  }

  /** A program that was approved and does not know yet. */
  async approved(cookie: string): Promise<Codes> {
    const codes = await this.begin();
    t.match((await this.decide(cookie, codes.user_code, "approve")).text, /is authorized/);
    return codes;
  }

  async session(email = "bob"): Promise<string> {
    const body = JSON.stringify({ email, password });
    const response = await fetch(`${this.daemon.url}/-/sign-in`, { method: "POST", body });
    return response.headers.get("set-cookie")?.split(";")[0] ?? "";
  }

  async page(init: RequestInit, query = ""): Promise<{ status: number; text: string; headers: Headers }> {
    const response = await fetch(`${this.daemon.url}/-/oauth/device${query}`, { redirect: "manual", ...init });
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  decide(cookie: string, user_code: string, decision: string, headers: Record<string, string> = {}) {
    const origin = new URL(this.daemon.url).origin;
    const body = new URLSearchParams({ user_code, decision });
    return this.page({ method: "POST", body, headers: { Cookie: cookie, Origin: origin, ...headers } });
  }

  /** Asks for the page on which the user decides about an assistant. */
  async consent(cookie: string, query: Readonly<Record<string, string>>) {
    const response = await fetch(`${this.daemon.url}/-/oauth/authorize?${new URLSearchParams(query)}`, {
      redirect: "manual",
      headers: { Cookie: cookie },
    });
    return { status: response.status, text: await response.text(), headers: response.headers };
  }

  /** Sends the form of that page, as it is; resolves with the parameters that the program gets. */
  async decideOn(cookie: string, page: string, decision: string, headers: Record<string, string> = {}) {
    const fields = [...page.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
      ([, name = "", value = ""]) => [name, value.replaceAll("&amp;", "&")] as [string, string],
    );
    const response = await fetch(`${this.daemon.url}/-/oauth/authorize`, {
      method: "POST",
      redirect: "manual",
      headers: { Cookie: cookie, Origin: new URL(this.daemon.url).origin, ...headers },
      body: new URLSearchParams([...fields, ["decision", decision]]),
    });
    const location = response.headers.get("location") ?? "";
    const given = URL.canParse(location) ? new URL(location).searchParams : new URLSearchParams();
    return { status: response.status, location, given };
  }

  /** A code that the user of the session has agreed to. */
  async code(cookie: string, query: Readonly<Record<string, string>>): Promise<string> {
    const { text } = await this.consent(cookie, query);
    return (await this.decideOn(cookie, text, "approve")).given.get("code") ?? "";
  }

  async register(metadata: unknown, body = JSON.stringify(metadata)) {
    const response = await fetch(`${this.daemon.url}/-/oauth/register`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body,
    });
    return { status: response.status, body: (await response.json()) as { client_id: string; error?: string } };
  }

  /** The status of a call of a tool. */
  async callTool(authorization: string | undefined, path = "/.api/mcp") {
    const response = await fetch(this.daemon.url + path, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        ...(authorization === undefined ? {} : { Authorization: authorization }),
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "list_repos" } }),
    });
    await response.text();
    return { status: response.status, challenge: response.headers.get("www-authenticate") };
  }

  async whoIs(token: string): Promise<string> {
    const response = await fetch(`${this.daemon.url}/.api/graphql`, {
      method: "POST",
      headers: { Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query: "{ currentUser { username } }" }),
    });
    if (response.status !== 200) return String(response.status);
    return ((await response.json()) as { data: { currentUser: { username: string } } }).data.currentUser.username;
  }
}

/** What `trawl login` does on a terminal, and what the commands after it do when its token has expired. */
async function checkTrawlLogin(t: Test, site: Site, cookie: string): Promise<void> {
  const { url } = site.daemon;
  const login = (decision: string): Promise<StoredToken | undefined> => {
    let code = "";
    return authorizeDevice(
      url,
      (prompt) => {
        t.ok(prompt.address.startsWith(`${url}/-/oauth/device?user_code=${prompt.code}`));
        ({ code } = prompt);
      },
      async (ms) => {
        t.equal(ms, 5_000);
        await site.decide(cookie, code, decision);
      },
    );
  };
  await t.rejects(login("deny"), { message: /was refused/ });
  const stored = await login("approve");
  t.equal(await site.whoIs(stored?.token ?? ""), "bob");

  const environment = { XDG_CONFIG_HOME: t.testdir() };
  const file = clientConfigPath(environment);
  storeToken(file, url, { token: "sgp_expired", refreshToken: stored?.refreshToken }, { endpoint: url });
  const api = () => runCommandWith("", ["api", "{ currentUser { username } }"], environment);
  t.match(await api(), { exitCode: 0, out: /"bob"/ });
  const renewed = readClientConfig(file);
  t.equal(await site.whoIs(renewed.tokens[url] ?? ""), "bob", "it is stored");
  const both = await Promise.all([api(), api()]);
  t.match(both, [
    { exitCode: 0, out: /"bob"/ },
    { exitCode: 0, out: /"bob"/ },
  ]);
  await site.form("/-/oauth/revoke", { token: renewed.tokens[url] ?? "" });
  t.match(await api(), { exitCode: 2, err: /answered 401.* Run `trawl login`/ });

  const last = await login("approve");
  storeToken(file, url, last);
  const logout = await runCommandWith("", ["logout"], environment);
  t.match([logout.exitCode, logout.out], [0, /was deleted from .*\nit was revoked/]);
  t.equal(await site.whoIs(last?.token ?? ""), "401");
  storeToken(file, "http://127.0.0.1:1", { token: "sgp_x", refreshToken: "y" });
  const unconfirmed = await runCommandWith("", ["logout", "http://127.0.0.1:1"], environment);
  t.match([unconfirmed.exitCode, unconfirmed.err], [0, /did not confirm that the token is revoked; delete it at/]);
}

const site = await Site.start(t);

t.test("a program is authorized, refreshes its token, and is revoked", async (t) => {
  const found = (await (await fetch(`${site.daemon.url}/.well-known/openid-configuration`)).json()) as object;
  t.match(found, {
    issuer: site.daemon.url,
    token_endpoint: `${site.daemon.url}/-/oauth/token`,
    device_authorization_endpoint: `${site.daemon.url}/-/oauth/device/code`,
  });
  const codes = await site.begin();
  t.match(codes, { user_code: /^[B-Z]{4}-[B-Z]{4}$/, expires_in: 600, interval: 5 });
  t.equal((await site.poll(codes)).error, "authorization_pending");
  t.equal((await site.poll(codes)).error, "slow_down");

  const cookie = await site.session();
  const { pathname, search } = new URL(codes.verification_uri_complete);
  t.equal(pathname, "/-/oauth/device");
  const page = await site.page({ headers: { Cookie: cookie } }, search);
  t.match(page.text, `value="${codes.user_code}"`);
  t.match(page.text, /act as <strong>bob<\/strong>/);
  t.match(page.headers.get("content-security-policy"), /default-src 'none'.*frame-ancestors 'none'/);
  t.match(
    (await site.decide(cookie, codes.user_code.toLowerCase().replace("-", " "), "approve")).text,
    /is authorized/,
  );
  t.equal((await site.decide(cookie, codes.user_code, "approve")).status, 404, "once");

  const tokens = await site.poll(codes);
  t.match(tokens, { access_token: /^sgp_local_/, refresh_token: /./, expires_in: 3600, token_type: "Bearer" });
  t.equal((await site.poll(codes)).error, "expired_token", "told once");
  t.equal(await site.whoIs(tokens.access_token), "bob");
  t.equal(await site.whoIs(tokens.refresh_token), "401", "it only refreshes");

  const second = await site.refresh(tokens.refresh_token);
  t.equal(await site.whoIs(second.access_token), "bob");
  t.equal(await site.whoIs(tokens.access_token), "401");
  t.equal((await site.refresh(tokens.refresh_token)).error, "invalid_grant");
  t.equal(await site.whoIs(second.access_token), "bob", "two processes may refresh at the same time");

  t.equal((await site.form("/-/oauth/revoke", { token: second.refresh_token })).status, 200);
  t.equal(await site.whoIs(second.access_token), "401");
  t.equal((await site.refresh(second.refresh_token)).error, "invalid_grant");
  t.equal((await site.form("/-/oauth/revoke", { token: "unknown" })).status, 200);
  await checkTrawlLogin(t, site, cookie);
});

const verifier = "a-verifier-of-more-than-forty-three-characters-0";
const challengeOf = (text: string): string => createHash("sha256").update(text).digest("base64url");
const redirect_uri = "http://127.0.0.1:7/callback";

/** What an assistant that has registered asks for. */
async function registered(): Promise<Record<string, string>> {
  const { body } = await site.register({ client_name: "An <assistant>", redirect_uris: [redirect_uri] });
  return {
    response_type: "code",
    client_id: body.client_id,
    redirect_uri,
    state: "a state & more",
    code_challenge: challengeOf(verifier),
    code_challenge_method: "S256",
    resource: `${site.daemon.url}/.api/mcp`,
  };
}

const redeem = (client_id: string, code: string, more: Record<string, string> = {}) =>
  site.form<Tokens & { scope?: string; error_description?: string }>("/-/oauth/token", {
    client_id,
    grant_type: "authorization_code",
    code,
    redirect_uri,
    code_verifier: verifier,
    ...more,
  });

t.test("an assistant is authorized by a code", async (t) => {
  const { url } = site.daemon;
  const read = async (path: string) => (await (await fetch(url + path)).json()) as Record<string, unknown>;
  t.match(await read("/.well-known/oauth-authorization-server"), {
    issuer: url,
    authorization_endpoint: `${url}/-/oauth/authorize`,
    registration_endpoint: `${url}/-/oauth/register`,
    code_challenge_methods_supported: ["S256"],
    client_id_metadata_document_supported: true,
  });
  for (const path of ["/.api/mcp", "/.api/mcp/v1", "/.api/mcp/all"])
    t.match(await read(`/.well-known/oauth-protected-resource${path}`), {
      resource: url + path,
      authorization_servers: [url],
      scopes_supported: ["mcp"],
    });
  const byName = await fetch(`${url.replace("127.0.0.1", "localhost")}/.well-known/oauth-protected-resource`);
  t.match(await byName.json(), { resource: `${url.replace("127.0.0.1", "localhost")}/.api/mcp` });
  t.equal((await site.callTool(undefined)).status, 200, "nobody has to sign in here");

  const cookie = await site.session();
  const query = await registered();
  t.match((await site.consent("", query)).headers.get("location"), /^\/sign-in\?returnTo=%2F-%2Foauth%2Fauthorize%3F/);
  const page = await site.consent(cookie, { ...query, scope: "openid mcp" });
  t.equal(page.status, 200);
  t.match(page.text, "<strong>An &lt;assistant&gt;</strong> asks to search and read, as <strong>bob</strong>");
  t.match(page.headers.get("content-security-policy"), "form-action 'self' http://127.0.0.1:7;");
  t.match(await site.decideOn(cookie, page.text, "deny"), {
    status: 303,
    location: /^http:\/\/127\.0\.0\.1:7\/callback\?error=access_denied&state=a\+state\+%26\+more&iss=/,
  });
  const { status, given } = await site.decideOn(cookie, page.text, "approve");
  t.equal(status, 303);
  t.match(Object.fromEntries(given), { code: /^[0-9a-f]{64}$/, state: "a state & more", iss: url });
  const { body: tokens } = await redeem(query["client_id"]!, given.get("code")!);
  t.match(tokens, { access_token: /^sgp_local_/, refresh_token: /./, scope: "mcp offline_access" });
  const bearer = `Bearer ${tokens.access_token}`;
  for (const path of ["/.api/mcp", "/.api/mcp/all"]) t.equal((await site.callTool(bearer, path)).status, 200);
  t.equal(await site.whoIs(tokens.access_token), "403", "it is for the tools only");

  const second = await site.refresh(tokens.refresh_token, query["client_id"]);
  t.equal((await site.callTool(`Bearer ${second.access_token}`)).status, 200);
  t.match(await site.callTool(bearer), {
    status: 401,
    challenge: `Bearer error="invalid_token", resource_metadata="${url}/.well-known/oauth-protected-resource/.api/mcp", scope="mcp"`,
  });
  const refresh = { client_id: query["client_id"]!, grant_type: "refresh_token", refresh_token: second.refresh_token };
  t.equal((await site.form<Tokens>("/-/oauth/token", { ...refresh, scope: "user:all" })).body.error, "invalid_scope");
  t.equal((await site.callTool(`Bearer ${second.access_token}`)).status, 200, "which ends nothing");
  await until("that is in the audit log", () =>
    /"credential-refused".*invalid_scope: the program was granted the scope mcp, and no other/.test(
      readFileSync(join(site.daemon.data, "audit.log"), "utf8"),
    ),
  );
  t.equal((await site.refresh(second.refresh_token)).error, "invalid_grant", "by another program");
  await site.form("/-/oauth/revoke", { client_id: query["client_id"]!, token: second.access_token });
  t.equal((await site.callTool(`Bearer ${second.access_token}`)).status, 401);

  // A program takes any free port.
  const other = await site.consent(cookie, { ...query, redirect_uri: "http://127.0.0.1:65535/callback" });
  t.equal(other.status, 200);
  const code = await site.code(cookie, query);
  const { body: first } = await redeem(query["client_id"]!, code);
  t.equal((await site.callTool(`Bearer ${first.access_token}`)).status, 200);
  const replays = await Promise.all(Array.from({ length: 4 }, () => redeem(query["client_id"]!, code)));
  for (const replay of replays) t.match(replay, { status: 400, body: { error: "invalid_grant" } });
  t.equal((await site.callTool(`Bearer ${first.access_token}`)).status, 401, "a copied code ends its token");
  const raced = await site.code(cookie, query);
  const race = await Promise.all(Array.from({ length: 4 }, () => redeem(query["client_id"]!, raced)));
  const won = race.filter((one) => one.status === 200);
  t.equal(won.length, 1);
  t.equal((await site.callTool(`Bearer ${won[0]?.body.access_token}`)).status, 401, "also while it is being made");
});

t.test("what an assistant is refused", async (t) => {
  const cookie = await site.session();
  const query = await registered();
  const client = query["client_id"]!;
  for (const [what, more] of Object.entries<Record<string, string>>({
    "another redirect": { redirect_uri: "http://127.0.0.1:7/callback/" },
    "no redirect": { redirect_uri: "" },
    "another verifier": { code_verifier: `${verifier}1` },
    "the challenge itself": { code_verifier: challengeOf(verifier) },
    "no verifier": { code_verifier: "" },
    "another resource": { resource: "https://elsewhere.example/mcp" },
    "another program": { client_id: (await site.register({ redirect_uris: [redirect_uri] })).body.client_id },
  })) {
    const code = await site.code(cookie, query);
    t.match(await redeem(client, code, more), { status: 400, body: { error: "invalid_grant" } }, what);
    t.match((await redeem(client, code)).body, { error: "invalid_grant" }, `${what}: the code has ended`);
  }

  // The program is not known, or not known to be there: nobody is sent anywhere.
  for (const [what, more] of Object.entries<Record<string, string>>({
    "an unknown program": { client_id: "somebody" },
    "a program that cannot be": {
      client_id: `reg_${Buffer.from('["x","javascript:alert(1)"]').toString("base64url")}`,
    },
    "an id with more than its text": { client_id: `${client}AA` },
    "a command": { client_id: "trawl" },
    "another host": { redirect_uri: "http://127.0.0.1.elsewhere.example:7/callback" },
    "another path": { redirect_uri: `${redirect_uri}2` },
    "a user": { redirect_uri: "http://127.0.0.1:7@elsewhere.example/callback" },
    "another loopback": { redirect_uri: "http://localhost:7/callback" },
    https: { redirect_uri: "https://127.0.0.1:7/callback" },
  })) {
    const { status, headers, text } = await site.consent(cookie, { ...query, ...more });
    t.equal(status, 400, what);
    t.equal(headers.get("location"), null, what);
    t.match(text, /cannot be authorized/, what);
  }
  const twice = await fetch(
    `${site.daemon.url}/-/oauth/authorize?${new URLSearchParams(query)}&redirect_uri=https://elsewhere.example/`,
    { headers: { Cookie: cookie }, redirect: "manual" },
  );
  t.equal(twice.status, 400);
  for (const [more, error] of [
    [{ response_type: "token" }, "unsupported_response_type"],
    [{ scope: "mcp user:all" }, "invalid_scope"],
    [{ scope: "site-admin:sudo" }, "invalid_scope"],
    [{ code_challenge_method: "plain" }, "invalid_request"],
    [{ code_challenge: "" }, "invalid_request"],
    [{ state: "s".repeat(3000) }, "invalid_request"],
    [{ resource: "https://elsewhere.example/mcp" }, "invalid_target"],
    [{ resource: `${site.daemon.url}/.api/mcp/` }, "invalid_target"],
  ] as const) {
    const { status, headers } = await site.consent(cookie, { ...query, ...more });
    t.equal(status, 303, error);
    t.match(headers.get("location"), `http://127.0.0.1:7/callback?error=${error}&`, "the user's own computer is told");
  }
  const remote = await site.register({ redirect_uris: ["https://elsewhere.example/callback"] });
  const away = { ...query, client_id: remote.body.client_id, redirect_uri: "https://elsewhere.example/callback" };
  t.match(await site.consent(cookie, { ...away, scope: "user:all" }), { status: 400, text: /only scope.*is mcp/ });
  const { text } = await site.consent(cookie, away);
  t.match(text, "The answer goes to <strong>elsewhere.example</strong>");
  for (const headers of [{ Origin: "https://elsewhere.example" }, { Origin: "null" }])
    t.equal((await site.decideOn(cookie, text, "approve", headers)).status, 403);
  const bare = await fetch(`${site.daemon.url}/-/oauth/authorize`, {
    method: "POST",
    headers: { Cookie: cookie },
    body: new URLSearchParams({ ...query, decision: "approve" }),
  });
  t.equal(bare.status, 403, "a form without an origin");
  t.equal((await site.decideOn("", text, "approve")).status, 302, "who is not signed in");

  const uris = (...redirect_uris: unknown[]) => ({ redirect_uris });
  for (const [metadata, error] of [
    [[], "invalid_client_metadata"],
    [{}, "invalid_redirect_uri"],
    [uris(), "invalid_redirect_uri"],
    [uris(1), "invalid_redirect_uri"],
    [uris(...Array<string>(11).fill(redirect_uri)), "invalid_redirect_uri"],
    [uris(`https://h/${"x".repeat(500)}`), "invalid_redirect_uri"],
    [uris(...Array.from({ length: 9 }, (_, i) => `https://h/${i}${"x".repeat(400)}`)), "invalid_redirect_uri"],
    [uris("javascript:alert(1)"), "invalid_redirect_uri"],
    [uris("JavaScript:alert(1)"), "invalid_redirect_uri"],
    [uris("data:text/html,x"), "invalid_redirect_uri"],
    [uris("http://elsewhere.example/"), "invalid_redirect_uri"],
    [uris("http://127.0.0.1.elsewhere.example/"), "invalid_redirect_uri"],
    [uris("https://ann:secret@h/"), "invalid_redirect_uri"],
    [uris("https://h/#part"), "invalid_redirect_uri"],
    [uris("https://h/\r\nSet-Cookie: a=b"), "invalid_redirect_uri"],
    [uris("/callback"), "invalid_redirect_uri"],
    [{ ...uris(redirect_uri), client_name: { deep: 1 } }, "invalid_client_metadata"],
    [{ ...uris(redirect_uri), grant_types: ["password"] }, "invalid_client_metadata"],
    [{ ...uris(redirect_uri), response_types: "code token" }, "invalid_client_metadata"],
  ] as const)
    t.match(await site.register(metadata), { status: 400, body: { error } }, JSON.stringify(metadata).slice(0, 80));
  const deep = `{"redirect_uris":["${redirect_uri}"],"jwks":${"[".repeat(7000)}${"]".repeat(7000)}}`;
  t.match(await site.register(null, deep), { status: 400, body: { error: "invalid_client_metadata" } });
  t.match(await site.register(null, "{"), { status: 400, body: { error: "invalid_client_metadata" } });
  const huge = await fetch(`${site.daemon.url}/-/oauth/register`, { method: "POST", body: "x".repeat(17 << 10) });
  t.equal(huge.status, 413);
  const odd = await site.register({
    client_name: `\u202e\ud800 a\n${"n".repeat(200)}`,
    redirect_uris: ["cursor://app/callback"],
  });
  t.equal(odd.status, 201);
  const oddQuery = { ...query, client_id: odd.body.client_id, redirect_uri: "cursor://app/callback" };
  t.match(await site.consent(cookie, oddQuery), {
    status: 200,
    text: /<strong>a n{77}<\/strong>.*opens cursor: links/,
  });

  // At once, or in the summary of the minute.
  await until("refusals are in the audit log", () =>
    /"credential-refused".*(?:invalid_grant: |other reasons)/.test(
      readFileSync(join(site.daemon.data, "audit.log"), "utf8"),
    ),
  );
});

t.test("codes are few, short, and used once", (t) => {
  const codes = new AuthorizationCodes();
  const terms = { client: "c", redirectUri: "r", challenge: challengeOf(verifier), resource: "x" };
  const given = { client: "c", redirectUri: "r", verifier, resource: undefined };
  const by = (userId: number) => ({ userId, sessionId: "" });
  const issue = (userId: number, nowMs: number) => codes.issue(terms, by(userId), "", nowMs);
  const late = issue(1, 0);
  t.equal(codes.redeem(late, given, 60_000).kind, "refused", "after a minute");
  const first = issue(1, 60_000);
  for (let i = 0; i < 20; i++) issue(1, 60_000);
  t.equal(codes.redeem(first, given, 60_000).kind, "refused", "of one user");
  const kept = issue(2, 60_000);
  for (let i = 3; i < 1_500; i++) issue(i, 60_000);
  t.equal(codes.redeem(kept, given, 60_000).kind, "refused", "of all");
  const last = issue(1, 60_000);
  t.equal(codes.redeem(last, given, 60_001).kind, "redeemed");
  t.equal(codes.redeem(last, given, 60_002).kind, "replayed");
  t.end();
});

t.test("the client of the SDK connects by the address, as a program that describes itself in a document", async (t) => {
  const { key, certificate } = makeCertificate(t.testdir(), "DNS:localhost,IP:127.0.0.1");
  let [asked, described] = [0, {} as Readonly<Record<string, unknown>>];
  const answers: Record<string, (response: ServerResponse) => unknown> = {
    "/redirected": (response) => response.writeHead(302, { Location: "/client.json" }).end(),
    "/text": (response) => response.writeHead(200, { "Content-Type": "text/html" }).end("{}"),
    "/huge": (response) => response.end(`"${"x".repeat(1 << 20)}"`),
    "/deep": (response) => response.end("[".repeat(10_000)),
    "/missing": (response) => response.writeHead(404).end(),
    "/slow": () => undefined,
  };
  const server = createServer({ key: readFileSync(key), cert: readFileSync(certificate) }, (request, response) => {
    asked++;
    response.setHeader("Content-Type", "application/json");
    (answers[request.url ?? ""] ?? (() => response.end(JSON.stringify(described))))(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const home = `https://localhost:${port}`;
  const site = await Site.start(
    t,
    ["auth.public=false", 'mcp.clientNetworks=["127.0.0.1", "::1"]'].flatMap((option) => ["--set", option]),
    { NODE_EXTRA_CA_CERTS: certificate },
  );
  const { url } = site.daemon;
  t.match(await site.callTool(undefined), {
    status: 401,
    challenge: `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/.api/mcp", scope="mcp"`,
  });
  const cookie = await site.session();
  for (const clientMetadataUrl of [undefined, `${home}/client.json`]) {
    described = {
      client_id: clientMetadataUrl,
      client_name: "Documented",
      redirect_uris: ["http://127.0.0.1/callback"],
    };
    const provider = new Browser(clientMetadataUrl);
    const connect = async () => {
      const client = new Client({ name: "a test", version: "1" });
      const transport = new StreamableHTTPClientTransport(new URL(`${url}/.api/mcp/all`), { authProvider: provider });
      return { transport, connected: client.connect(transport).then(() => client) };
    };
    const begun = await connect();
    await t.rejects(begun.connected, UnauthorizedError);
    const asks = provider.asked!;
    t.equal(asks.searchParams.get("scope")?.includes("user:all"), false);
    if (clientMetadataUrl !== undefined) t.equal(asks.searchParams.get("client_id"), clientMetadataUrl);
    const page = await site.consent(cookie, Object.fromEntries(asks.searchParams));
    t.match(page.text, clientMetadataUrl === undefined ? /<strong>a test</ : `Documented (localhost:${port})`);
    const { location } = await site.decideOn(cookie, page.text, "approve");
    await begun.transport.finishAuth(new URL(location).searchParams);
    const client = await (await connect()).connected;
    t.ok((await client.listTools()).tools.length > 8);
    provider.tokens_ = { ...provider.tokens_!, access_token: "sgp_expired" };
    t.ok((await client.listTools()).tools.length > 8, "it refreshes its token");
    await client.close();
  }
  const before = asked;
  const query = { ...(await registered()), resource: `${url}/.api/mcp` };
  const documented = (client_id: string) =>
    site.consent(cookie, { ...query, client_id, redirect_uri: "http://127.0.0.1:9/callback" });
  described = {};
  t.equal((await documented(`${home}/client.json`)).status, 200, "it is not read again");
  t.equal(asked, before);
  for (const [path, lie, message] of [
    ["/redirected", {}, /redirects are not followed/],
    ["/text", {}, /not application\/json/],
    ["/huge", {}, /more than 16384 bytes/],
    ["/deep", {}, /not JSON/],
    ["/missing", {}, /answers 404/],
    ["/other", { client_id: `${home}/client.json` }, /not its own URL/],
    ["/secret", { token_endpoint_auth_method: "client_secret_basic" }, /must be none/],
    ["/script", { redirect_uris: ["javascript:alert(1)"] }, /leads to no program/],
    ["/elsewhere", { redirect_uris: ["http://127.0.0.1/other"] }, /not one of the program&#?\w+;s own|program's own/],
    ["/a/../b", {}, /must begin with https/],
    ["", {}, /must begin with https/],
    ["/part#x", {}, /must begin with https/],
    ["/slow", {}, /no answer within 5 s/],
  ] as const) {
    described = { client_id: home + path, redirect_uris: ["http://127.0.0.1/callback"], ...lie };
    const { status, text } = await documented(home + path);
    t.equal(status, 400, path);
    t.match(text, message, path);
  }
  t.match((await documented("https://10.0.0.1/client.json")).text, /not public/);
  t.match((await documented("https://[fe80::1]/client.json")).text, /not public/);
  t.match((await documented("http://localhost/client.json")).text, /not registered/);
});

/** The part of a program that the SDK asks to sign its user in; the browser is the test. */
class Browser implements OAuthClientProvider {
  readonly clientMetadataUrl?: string;
  readonly redirectUrl = "http://127.0.0.1:4321/callback";
  asked: URL | undefined;
  tokens_: OAuthTokens | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #verifier = "";

  constructor(clientMetadataUrl: string | undefined) {
    if (clientMetadataUrl !== undefined) this.clientMetadataUrl = clientMetadataUrl;
  }

  get clientMetadata() {
    return { client_name: "a test", redirect_uris: [this.redirectUrl] };
  }

  clientInformation = () => this.#client;
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.#client = client);
  tokens = () => this.tokens_;
  saveTokens = (tokens: OAuthTokens) => void (this.tokens_ = tokens);
  redirectToAuthorization = (url: URL) => void (this.asked = url);
  saveCodeVerifier = (text: string) => void (this.#verifier = text);
  codeVerifier = () => this.#verifier;
}

t.test("what is refused", async (t) => {
  const cookie = await site.session();
  const denied = await site.begin();
  t.match((await site.decide(cookie, denied.user_code, "deny")).text, /was refused/);
  t.equal((await site.poll(denied)).error, "access_denied");

  const codes = await site.begin();
  for (const Origin of ["https://elsewhere.example", "null"])
    t.equal((await site.decide(cookie, codes.user_code, "approve", { Origin })).status, 403, Origin);
  t.equal((await site.decide("", codes.user_code, "approve")).status, 302, "who is not signed in");
  const { text: token } = (await site.daemon.control("POST", "/.api/tokens", {
    user: "bob",
    scopes: ["user:all"],
    note: "",
    expires: "1d",
  })) as { text: string };
  const byToken = { Cookie: "", Authorization: `token ${token}` };
  t.equal((await site.decide("", codes.user_code, "approve", byToken)).status, 302, "a token makes no others");
  t.equal((await site.poll(codes)).error, "authorization_pending");
  const hostile = await site.decide(cookie, '"><script>alert(1)</script>', "approve");
  t.equal(hostile.status, 404);
  t.notMatch(hostile.text, /<script/);

  for (const [fields, error, status] of [
    [{ client_id: "other", grant_type: deviceGrant }, "invalid_client", 401],
    [{ grant_type: "password" }, "unsupported_grant_type", 400],
    [{}, "unsupported_grant_type", 400],
    [{ grant_type: deviceGrant, device_code: "x".repeat(4000) }, "expired_token", 400],
    [{ grant_type: "refresh_token", refresh_token: "no" }, "invalid_grant", 400],
  ] as const)
    t.match(await site.form("/-/oauth/token", fields), { status, body: { error } });
  t.match(await site.form("/-/oauth/device/code", { scope: "site-admin:sudo" }), {
    status: 400,
    body: { error: "invalid_scope" },
  });
  t.equal((await fetch(`${site.daemon.url}/-/oauth/token`, { method: "POST", body: "x".repeat(9000) })).status, 413);
});

t.test("who has copied a refresh token", async (t) => {
  const cookie = await site.session();
  const first = await site.authorize(cookie);
  const second = await site.refresh(first.refresh_token);
  const third = await site.refresh(second.refresh_token);
  t.equal(await site.whoIs(third.access_token), "bob");
  const replays = await Promise.all(
    Array.from({ length: 8 }, () =>
      site.form("/-/oauth/token", { grant_type: "refresh_token", refresh_token: first.refresh_token }),
    ),
  );
  for (const replay of replays) t.match(replay, { status: 400, body: { error: "invalid_grant" } });
  t.equal(await site.whoIs(third.access_token), "401", "an old text ends the family");
  t.equal((await site.refresh(third.refresh_token)).error, "invalid_grant");

  const { refresh_token } = await site.authorize(cookie);
  const parallel = await Promise.all(Array.from({ length: 8 }, () => site.refresh(refresh_token)));
  const [winner, ...more] = parallel.filter(({ error }) => error === undefined);
  t.equal(more.length, 0, "of many at once one is served");
  t.equal(await site.whoIs(winner?.access_token ?? ""), "bob");
  t.equal((await site.refresh(winner?.refresh_token ?? "", "trawl")).error, "invalid_grant", "by another program");
  const next = await site.refresh(winner?.refresh_token ?? "");
  t.equal(await site.whoIs(next.access_token), "bob", "which does not end it");
  t.equal((await site.refresh(next.refresh_token.replace(/[0-9a-f]$/, "z"))).error, "invalid_grant");
  t.equal(await site.whoIs(next.access_token), "401", "a made-up text of the family ends it");

  const last = await site.authorize(cookie);
  const revocations = await Promise.all(
    [last.access_token, last.refresh_token, last.access_token, last.refresh_token].map((token) =>
      site.form("/-/oauth/revoke", { token }),
    ),
  );
  t.same(
    revocations.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  t.equal((await site.refresh(last.refresh_token)).error, "invalid_grant");
});

t.test("what ends a program's access ends an approval that it was not told of", async (t) => {
  const { daemon } = site;
  const root = { name: "root", email: "root@example.org", password, isSiteAdmin: true };
  await daemon.control("POST", "/.api/users", root);
  // Credentials are changed in a browser.
  const rootCookie = await site.session("root");
  const answer = async (document: string, variables: Record<string, unknown> = {}, Cookie = rootCookie) => {
    const body = JSON.stringify({ query: document, variables });
    const headers = { Cookie, "X-Requested-With": "test" };
    const { data, errors } = (await (
      await fetch(`${daemon.url}/.api/graphql`, { method: "POST", headers, body })
    ).json()) as Answer;
    t.equal(errors, undefined, document);
    return data;
  };
  const actions: Record<string, (id: string, cookie: string) => Promise<unknown>> = {
    "the password is changed": (_, cookie) =>
      answer(
        "mutation ($old: String!, $new: String!) { updatePassword(oldPassword: $old, newPassword: $new) { alwaysNil } }",
        { old: password, new: `${password} staple` },
        cookie,
      ),
    "the sessions are ended": (id) =>
      answer("mutation ($id: ID!) { invalidateSessionsByID(userID: $id) { alwaysNil } }", { id }),
    "the password is reset": (id) =>
      answer("mutation ($id: ID!) { randomizeUserPassword(user: $id) { resetPasswordURL } }", { id }),
    "the account is deleted": (id) => answer("mutation ($id: ID!) { deleteUser(user: $id) { alwaysNil } }", { id }),
  };
  for (const [what, act] of Object.entries(actions)) {
    await daemon.control("POST", "/.api/users", { name: "eve", email: "eve@example.org", password });
    const cookie = await site.session("eve");
    const tokens = await site.authorize(cookie);
    const [polled, waiting] = [await site.approved(cookie), await site.begin()];
    const found = (await answer('{ user(username: "eve") { id } }')) as { user: { id: string } };
    await act(found.user.id, cookie);
    // The name may be given to somebody else at once.
    if (what.endsWith("deleted"))
      await daemon.control("POST", "/.api/users", { name: "eve", email: "eve@example.org", password });
    t.equal((await site.poll(polled)).error, "access_denied", what);
    t.equal((await site.decide(cookie, waiting.user_code, "approve")).status, 302, `${what}: the session is over`);
    t.equal((await site.poll(waiting)).error, "authorization_pending", what);
    const isOver = what.endsWith("reset") || what.endsWith("deleted");
    t.equal(await site.whoIs(tokens.access_token), isOver ? "401" : "eve", what);
    t.equal((await site.refresh(tokens.refresh_token)).error, isOver ? "invalid_grant" : undefined, what);
    await daemon.control("DELETE", "/.api/users/eve");
  }

  await daemon.control("POST", "/.api/users", { name: "eve", email: "eve@example.org", password });
  const cookie = await site.session("eve");
  const [codes, mine] = [await site.begin(), await site.authorize(cookie)];
  t.match((await site.decide(cookie, codes.user_code, "approve")).text, /is authorized/);
  t.equal((await site.decide(await site.session(), codes.user_code, "deny")).status, 404, "somebody has decided");
  t.equal((await site.poll(codes, "trawl")).error, "expired_token", "another program");
  const tokens = await site.poll(codes);
  t.equal(await site.whoIs(tokens.access_token), "eve", "it acts for who approved it");
  const { user } = (await answer('{ user(username: "eve") { accessTokens { nodes { id } } } }')) as {
    user: { accessTokens: { nodes: readonly { id: string }[] } };
  };
  t.equal(user.accessTokens.nodes.length, 2);
  for (const { id } of user.accessTokens.nodes)
    await answer("mutation ($id: ID!) { deleteAccessToken(byID: $id) { alwaysNil } }", { id });
  for (const { access_token, refresh_token } of [mine, tokens]) {
    t.equal(await site.whoIs(access_token), "401", "an admin took it away");
    t.equal((await site.refresh(refresh_token)).error, "invalid_grant");
  }
});

t.test("only where users may create access tokens", async (t) => {
  const site = await Site.start(t, ["--set", "auth.accessTokens=site-admin-create"]);
  const codes = await site.begin();
  t.equal((await site.decide(await site.session(), codes.user_code, "approve")).status, 403);
  t.equal((await site.poll(codes)).error, "authorization_pending");
  await site.daemon.control("POST", "/.api/users", { name: "root", isSiteAdmin: true });
  const authorization = `token ${await site.daemon.addToken("root")}`;
  const bobId = async (): Promise<string> => {
    const found = (await ask(site.daemon.url, '{ user(username: "bob") { id } }', null, authorization)) as Answer;
    return (found.data as { user: { id: string } }).user.id;
  };
  const setAdmin = async (siteAdmin: boolean) => {
    const id = await bobId();
    const document =
      "mutation ($id: ID!, $siteAdmin: Boolean!) { setUserIsSiteAdmin(userID: $id, siteAdmin: $siteAdmin) { alwaysNil } }";
    const { errors } = (await ask(site.daemon.url, document, { id, siteAdmin }, authorization)) as Answer;
    t.equal(errors, undefined);
  };
  const bob = `token ${await site.daemon.addToken("bob")}`;
  const createToken = async (credential?: string): Promise<Answer> => {
    const document = 'mutation ($u: ID!) { createAccessToken(user: $u, scopes: ["user:all"], note: "") { token } }';
    return (await ask(site.daemon.url, document, { u: await bobId() }, credential)) as Answer;
  };
  t.match(await createToken(bob), { errors: [{ message: /must be site admin/ }] });
  t.match(await createToken(), { errors: [{ message: "not authenticated" }] });
  t.match(await createToken(authorization), { data: { createAccessToken: { token: /^sgp_/ } } });
  await setAdmin(true);
  const approved = await site.approved(await site.session());
  await setAdmin(false);
  t.equal((await site.poll(approved)).error, "access_denied", "who is no site admin any more");
});

t.test("grants are few, slow and short", async (t) => {
  const grants = new DeviceGrants();
  const first = grants.begin("192.0.2.1", client, 0);
  t.equal(grants.poll(first.deviceCode, client, 0).kind, "pending");
  t.equal(grants.poll(first.deviceCode, client, 4_500).kind, "pending", "timers are not exact");
  t.equal(grants.poll(first.deviceCode, client, 6_000).kind, "slow-down");
  t.equal(grants.poll(first.deviceCode, client, 12_000).kind, "slow-down", "then it must wait longer");
  t.equal(grants.poll(first.deviceCode, client, 32_000).kind, "pending");
  t.equal(grants.decide(first.userCode, { userId: 1, sessionId: "" }, "user/1", 600_000), false, "after ten minutes");
  t.equal(grants.poll(first.deviceCode, client, 600_000).kind, "expired");
  const eldest = grants.begin("192.0.2.1", client, 600_000);
  for (let i = 0; i < 99; i++) grants.begin("192.0.2.1", client, 600_000);
  const newest = grants.begin("192.0.2.1", client, 600_000);
  t.equal(
    grants.poll(eldest.deviceCode, client, 600_000).kind,
    "expired",
    "many of one network take the places of its oldest",
  );
  t.equal(grants.poll(newest.deviceCode, client, 600_000).kind, "pending");
  for (let i = 102; i < 600; i++) grants.begin("192.0.2.1", client, 600_000);
  t.throws(() => grants.begin("192.0.2.1", client, 600_000), { code: "overloaded" }, "of one network in an hour");
  for (let i = 0; i < 999; i++) grants.begin(`10.0.${i >> 8}.${i & 255}`, client, 600_000);
  t.equal(
    grants.poll(newest.deviceCode, client, 600_000).kind,
    "expired",
    "networks with few take those of one with many",
  );
  t.throws(() => grants.begin("192.0.2.2", client, 600_000), { code: "overloaded" }, "of all");
  t.ok(grants.begin("192.0.2.2", client, 1_200_000));
  for (let i = 0; i < 60; i++)
    t.equal(grants.decide("BBBB-BBBB", { userId: 1, sessionId: "" }, "user/2", 1_200_000), false);
  t.throws(
    () => grants.decide("BBBB-BBBB", { userId: 1, sessionId: "" }, "user/2", 1_200_000),
    { code: "overloaded" },
    "guesses",
  );
});

t.test("a replaced text that is used later ends the token", async (t) => {
  const site = new AccountSite(t);
  const { accessTokens } = site.accounts;
  const clock = wallClock(t);
  const startMs = Date.parse("2026-01-01T00:00:00Z");
  clock.set(startMs);
  const approval = { userId: (await site.user("ann", false)).id, isStillApproved: () => true };
  const program = { client, note: "src", scopes: ["user:all"] } as const;
  const times = { lifetimeMs: 3_600_000, refreshMs: 86_400_000, familyMs: 3 * 86_400_000 };
  const create = async () => (await accessTokens.createRefreshable(approval, program, times, { from: "test" }))!;
  const refresh = (text: string, from = "test") => accessTokens.refresh(text, client, times, { from });
  const made = await create();
  t.equal(accessTokens.find(made.text, startMs + times.lifetimeMs), undefined, "it expires");
  clock.set(startMs + 2 * times.lifetimeMs);
  const next = await refresh(made.refreshText);
  t.equal(next?.token.id, made.token.id, "it stays the same token, which the user can delete");
  t.ok(accessTokens.find(next?.text ?? "", startMs + 2 * times.lifetimeMs));
  t.equal(await refresh(made.refreshText), undefined);
  t.equal(accessTokens.list().length, 1);
  clock.set(startMs + 2 * times.lifetimeMs + 61_000);
  t.equal(await refresh(made.refreshText, "thief"), undefined);
  t.equal(accessTokens.list().length, 0);

  const last = await create();
  clock.set(startMs + 40 * 86_400_000);
  t.equal(await refresh(last.refreshText), undefined, "not used for a day");
  t.equal(JSON.stringify(accessTokens.list()).includes("refresh"), false, "hashes are not shown");

  for (const back of [2, 3, 5]) {
    const texts = [(await create()).refreshText];
    for (let i = 0; i < 5; i++) texts.push((await refresh(texts.at(-1)!))!.refreshText);
    t.equal(new Set(texts).size, 6);
    const replays = Array.from({ length: 3 }, () => refresh(texts.at(-1 - back)!, "thief"));
    t.same(
      await Promise.all([...replays, accessTokens.revoke(texts[0]!, { from: "thief" })]),
      Array(4).fill(undefined),
    );
    t.equal(await refresh(texts.at(-1)!), undefined, `a text ${back} before ended the family`);
  }
  let { token, refreshText } = await create();
  const atMs = startMs + 40 * 86_400_000;
  for (let hours = 20; hours < 72; hours += 20) {
    clock.set(atMs + hours * 3_600_000);
    ({ token, refreshText } = (await refresh(refreshText))!);
    t.ok(Date.parse(token.expiresAt) <= atMs + times.familyMs);
  }
  clock.set(atMs + times.familyMs);
  t.equal(await refresh(refreshText), undefined, "however often it is refreshed");
});
