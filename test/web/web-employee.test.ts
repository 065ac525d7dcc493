/**
 * A new employee, from the first sign-in on: the provider decides who it is, the code host what is to be seen, a chat gets the alert, and the
 * assistant knows nothing but an address.
 */
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  Client,
  type OAuthClientInformationMixed,
  type OAuthClientProvider,
  type OAuthTokens,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from "@modelcontextprotocol/client";
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { testBrowser, withoutBrowser, withPage } from "../support/browser.js";
import { asSlack } from "../support/chats.js";
import { dataDirectory, testDaemon, textsOnly } from "../support/daemon.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";
import { serveHttp } from "../support/http-remote.js";
import { clientId, TestProvider } from "../support/identity-provider.js";
import { Receiver } from "../support/receiver.js";
import { until } from "../support/waiting.js";

const subject = "17";

/** A code host, in the shapes of Gitea, with two private repositories: the employee reads `plans`. */
async function startHost(t: Test) {
  const sources = { plans: fixture(t), salaries: fixture(t) };
  const folder = t.testdir({ token: "ada:s3cret", staff: {} });
  for (const [name, source] of Object.entries(sources)) {
    source.commit({ branch: "main", files: { "a.txt": `needle of ${name}\n` } });
    symlinkSync(source.path, join(folder, `staff/${name}.git`));
  }
  let port = 0;
  const answer = ({ pathname, searchParams }: URL): unknown => {
    if (searchParams.get("page") !== "1" || pathname.endsWith("/teams")) return [];
    if (pathname.endsWith("/collaborators"))
      return pathname.includes("/plans/") ? [{ id: Number(subject), login: "eve.example" }] : [];
    return Object.keys(sources).map((name) => ({
      full_name: `staff/${name}`,
      clone_url: `http://127.0.0.1:${port}/staff/${name}.git`,
      private: true,
    }));
  };
  port = await serveHttp(t, { path: folder } as GitFixture, undefined, ({ url = "" }) =>
    url.startsWith("/api/v1/")
      ? (_, response) => response.end(JSON.stringify(answer(new URL(url, "http://host"))))
      : undefined,
  );
  const connection = {
    name: "forge",
    kind: "gitea",
    url: `http://127.0.0.1:${port}`,
    owners: ["staff"],
    credential: `file:${folder}/token`,
    prefix: "",
    permissions: "host",
    permissionsProvider: "acme",
  };
  return { folder, sources, connection };
}

/** The part of an assistant that asks its user to agree, in the user's browser. */
class Assistant implements OAuthClientProvider {
  readonly redirectUrl = "http://127.0.0.1:4321/callback";
  asked: URL | undefined;
  #tokens: OAuthTokens | undefined;
  #client: OAuthClientInformationMixed | undefined;
  #verifier = "";

  get clientMetadata() {
    return { client_name: "Helper", redirect_uris: [this.redirectUrl] };
  }

  clientInformation = () => this.#client;
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.#client = client);
  tokens = () => this.#tokens;
  saveTokens = (tokens: OAuthTokens) => void (this.#tokens = tokens);
  redirectToAuthorization = (url: URL) => void (this.asked = url);
  saveCodeVerifier = (text: string) => void (this.#verifier = text);
  codeVerifier = () => this.#verifier;

  async connect(address: string, page: Page): Promise<Client> {
    const begin = () => {
      const client = new Client({ name: "Helper", version: "1" });
      const transport = new StreamableHTTPClientTransport(new URL(address), { authProvider: this });
      return { transport, connected: client.connect(transport).then(() => client) };
    };
    const first = begin();
    await t.rejects(first.connected, UnauthorizedError, "the address alone admits nobody");
    await page.goto(this.asked?.href ?? "");
    await page.getByText("Helper").first().waitFor();
    // Nobody listens there.
    const answered = page.waitForRequest((request) => request.url().startsWith(this.redirectUrl));
    await page.getByRole("button", { name: "Authorize" }).click();
    await first.transport.finishAuth(new URL((await answered).url()).searchParams);
    return await begin().connected;
  }
}

t.test("a new employee", { skip: withoutBrowser }, async (t) => {
  const { folder, sources, connection } = await startHost(t);
  const receiver = await Receiver.start(t);
  receiver.respond = (response) => {
    const { status, text } = asSlack(receiver.received.at(-1)?.text ?? "");
    response.writeHead(status).end(text);
  };
  const config = join(folder, "trawl.json");
  const options = {
    auth: { public: false },
    notifications: { origins: [receiver.origin], intervalSeconds: 1 },
  };
  writeFileSync(config, JSON.stringify(options));
  const [daemon, browser] = await Promise.all([
    testDaemon(t, [...textsOnly, "--config", config], dataDirectory(t)),
    testBrowser(),
  ]);
  const provider = await TestProvider.start(t, daemon.url, "the secret of a client");
  writeFileSync(join(folder, "secret"), "the secret of a client");
  const acme = {
    name: "acme",
    displayName: "Acme",
    issuer: provider.issuer,
    clientId,
    clientSecret: `file:${join(folder, "secret")}`,
    signUp: "listed",
    signUpDomains: ["acme.example"],
  };
  writeFileSync(config, JSON.stringify({ ...options, identityProviders: [acme], connections: [connection] }));
  await daemon.control("POST", "/.api/reload", {});
  await until("both are indexed", async () => {
    const all = await daemon.list();
    return all.length === 2 && all.every(({ state }) => state === "searchable");
  });

  provider.account = subject;
  provider.claims.set(subject, { preferred_username: "eve", email: "eve@acme.example", email_verified: true });
  await withPage(t, browser, `${daemon.url}/search?q=needle`, { allowed: [/./] }, async (page) => {
    await page.getByRole("link", { name: "Sign in with Acme" }).click();
    await page.getByRole("link", { name: "eve", exact: true }).waitFor();
    const graphql = async <T>(query: string, variables: object = {}): Promise<T> => {
      const body = JSON.stringify({ query, variables });
      const { data, errors } = await page.evaluate(async (sent) => {
        const headers = { "X-Requested-With": "Sourcegraph" };
        return (await (await fetch("/.api/graphql", { method: "POST", headers, body: sent })).json()) as {
          data: unknown;
          errors?: unknown;
        };
      }, body);
      t.equal(errors, undefined);
      return data as T;
    };
    await until("the host's answer counts", async () => {
      const { repositories } = await graphql<{ repositories: { nodes: readonly { name: string }[] } }>(
        "{ repositories(first: 9) { nodes { name } } }",
      );
      t.notOk(repositories.nodes.some(({ name }) => name === "staff/salaries"));
      return repositories.nodes.length === 1;
    });
    await page.goto(`${daemon.url}/search?q=needle`);
    await page.getByText("of plans").first().waitFor();
    t.equal(await page.getByText("salaries").count(), 0, "and nothing else is there");

    const { currentUser } = await graphql<{ currentUser: { id: string } }>("{ currentUser { id } }");
    const { createSavedSearch } = await graphql<{ createSavedSearch: { id: string } }>(
      'mutation ($owner: ID!) { createSavedSearch(input: { owner: $owner, description: "needles", query: "type:commit needle" }) { id } }',
      { owner: currentUser.id },
    );
    await graphql(
      "mutation ($id: ID!, $url: String!) { enableSavedSearchNotification(id: $id, url: $url, format: SLACK) { secret } }",
      { id: createSavedSearch.id, url: `${receiver.origin}/services/T/B/X` },
    );
    for (const [name, source] of Object.entries(sources).reverse()) {
      source.commit({ branch: "main", files: { "b.txt": "more\n" }, message: `A needle for ${name}` });
      await daemon.sync(`staff/${name}`);
    }
    await until("the chat has the commit", () =>
      receiver.received.some(({ text }) => text.includes("A needle for plans")),
    );
    for (const { text } of receiver.received) {
      t.equal(asSlack(text).status, 200, "in the format of the chat");
      t.notMatch(text, "salaries");
    }

    const client = await new Assistant().connect(`${daemon.url}/.api/mcp`, page);
    const { tools } = await client.listTools();
    t.ok(tools.some(({ name }) => name === "keyword_search"));
    const told = JSON.stringify(await client.callTool({ name: "keyword_search", arguments: { query: "needle" } }));
    t.match(told, "needle of plans");
    t.notMatch(told, "salaries", "the assistant sees what its user sees");
    await client.close();
  });
});
