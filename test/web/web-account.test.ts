/** From a sign-up in the browser to a token that a program uses, and back. */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import type { StoredToken } from "../../src/cli/connection/client-config.js";
import { authorizeDevice } from "../../src/cli/connection/device-login.js";
import { findViolations, testBrowser, withoutBrowser, withPage } from "../support/browser.js";
import { testDaemon } from "../support/daemon.js";
import { clientId, TestProvider } from "../support/identity-provider.js";
import { until } from "../support/waiting.js";
import { WebSite } from "../support/web-site.js";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));

/** The texts of the files below a folder of the checkout, by their paths in it. */
function textsBelow(folder: string, ending: string): ReadonlyMap<string, string> {
  const paths = readdirSync(join(checkout, folder), { recursive: true }) as string[];
  const texts = paths
    .filter((path) => path.endsWith(ending))
    .map((path) => [path, readFileSync(join(checkout, folder, path), "utf8")] as const);
  return new Map(texts);
}

/** The addresses to which the pages post: of forms in HTML, of forms sent as JSON, and of those sent through GraphQL. */
function formAddresses(): ReadonlySet<string> {
  const found = (folder: string, ending: string, pattern: RegExp): string[] =>
    [...textsBelow(folder, ending).values()].flatMap((text) =>
      [...text.matchAll(pattern)].map(([, path = ""]) => path),
    );
  return new Set([
    ...found("src", ".ts", /<form[^>]* action="([^"]*)"/g),
    ...found("src/web", ".tsx", /sendForm\(\s*"([^"]*)"/g),
    "/.api/graphql",
  ]);
}

t.test("every form is sent by a test", (t) => {
  const pages = textsBelow("src/web", ".tsx");
  const withForm = [...pages].filter(([path, text]) => path !== "ui/form.tsx" && text.includes("<form"));
  t.same(
    withForm.map(([path]) => path).sort(),
    // All but the last send nothing: they filter a list, and go to the pages of a comparison, a line and results.
    [
      "admin/repositories-part.tsx",
      "code/commits/compare-page.tsx",
      "code/files/file-tools.tsx",
      "query/query-field.tsx",
      "search/save-and-share.tsx",
    ],
    "a page has its forms from ui/form.tsx, whose headers the next test checks",
  );
  const written = [...textsBelow("src", ".ts").values()].join("\n").match(/<form\b[^>]*>/g) ?? [];
  t.ok(
    written.every((form) => /^<form method="post" action="\/-\/[^"]*">$/.test(form)),
    "a form in HTML names its address",
  );
  const tests = [...textsBelow("test/web", ".test.ts").values()].join("\n");
  const labels = [...pages.values()]
    .flatMap((text) => text.match(/submitLabel=("[^"]*"|\{[^}]*"[^}]*\})/g) ?? [])
    .map((label) => [...label.matchAll(/"([^"]*)"/g)].map(([, name = ""]) => name));
  t.ok(labels.length >= 15, "the pages have forms");
  t.same(
    labels.filter((names) => !names.some((name) => tests.includes(`{ name: "${name}"`))),
    [],
    "the buttons of forms that no test in test/web presses",
  );
  t.end();
});

t.test("sign-up, access token, revocation, sign-out, sign-in", { skip: withoutBrowser }, async (t) => {
  const { daemon, browser } = await WebSite.start(t);
  const whoAmI = async (token: string): Promise<unknown> => {
    const response = await fetch(`${daemon.url}/.api/graphql`, {
      method: "POST",
      headers: { Authorization: `token ${token}`, "Content-Type": "application/json" },
      body: JSON.stringify({ query: "{ currentUser { username } }" }),
    });
    return response.ok ? response.json() : response.status;
  };
  const allowed = [/status of 40[13]/, /request to data:/];
  await withPage(t, browser, `${daemon.url}/sign-up`, { allowed }, async (page) => {
    // What each form sends of itself, which decides whether it is accepted.
    const posts: Promise<{ readonly path: string; readonly origin: string; readonly site: string }>[] = [];
    page.on("response", (response) => {
      const request = response.request();
      if (request.method() !== "POST") return;
      const { pathname: path } = new URL(request.url());
      const sent = request.allHeaders();
      posts.push(sent.then((all) => ({ path, origin: all["origin"] ?? "", site: all["sec-fetch-site"] ?? "" })));
    });
    await page.getByRole("heading", { name: "Create an account" }).waitFor();
    t.same(await findViolations(page), []);
    await page.getByLabel("Name").fill("amy");
    await page.getByLabel("E-mail address").fill("amy@example.org");
    await page.getByLabel("Password").fill("correct horse");
    await page.getByRole("button", { name: "Create the account" }).click();
    await page.getByRole("link", { name: "amy" }).click();
    await page.getByRole("heading", { name: "Settings of amy" }).waitFor();
    t.same(await findViolations(page), []);

    await page.getByLabel("What it is for").fill("a <b>script</b>");
    await page.getByLabel("What it may do").selectOption("search mcp");
    await page.getByLabel("Only these repositories").fill("host/one host/two");
    await page.getByRole("button", { name: "Create the token" }).click();
    await page.getByRole("cell", { name: "search, mcp, repository:host/one, repository:host/two" }).waitFor();
    const token = await page.locator("code.token").innerText();
    await page.getByRole("cell", { name: "a <b>script</b>", exact: true }).waitFor();
    t.same(await whoAmI(token), { data: { currentUser: { username: "amy" } } });
    await page.getByRole("button", { name: "Revoke a <b>script</b>" }).click();
    await page.getByText("There are no tokens yet.").waitFor();
    t.equal(await whoAmI(token), 401);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("Name or e-mail address").fill("amy");
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Authentication failed").waitFor();
    t.same(await findViolations(page), []);
    await page.getByLabel("Password").fill("correct horse");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "amy" }).waitFor();

    // A link on a page of another site signs nobody out.
    await page.goto(`data:text/html,<a href="${daemon.url}/-/sign-out">Look</a>`);
    await page.getByRole("link", { name: "Look" }).click();
    t.equal((await page.context().cookies(daemon.url)).length, 1);
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in" }).waitFor();
    t.same(await page.context().cookies(daemon.url), []);

    // What `trawl login` and `src login` do, for somebody who has to sign in first.
    const authorize = (answer: (address: string) => Promise<void>): Promise<StoredToken | undefined> => {
      let address = "";
      return authorizeDevice(
        daemon.url,
        (prompt) => ({ address } = prompt),
        () => answer(address),
      );
    };
    const granted = await authorize(async (address) => {
      await page.goto(address);
      await page.getByLabel("Name or e-mail address").fill("amy");
      await page.getByLabel("Password").fill("correct horse");
      await page.getByRole("button", { name: "Sign in" }).click();
      t.equal(await page.getByLabel("Code").inputValue(), new URL(address).searchParams.get("user_code"));
      t.same(await findViolations(page), []);
      await page.getByRole("button", { name: "Authorize" }).click();
      await page.getByRole("heading", { name: "The program is authorized" }).waitFor();
    });
    t.same(await whoAmI(granted?.token ?? ""), { data: { currentUser: { username: "amy" } } });
    const refused = authorize(async (address) => {
      await page.goto(address);
      await page.getByRole("button", { name: "Refuse" }).click();
      await page.getByRole("heading", { name: "The program was refused" }).waitFor();
    });
    await t.rejects(refused, { message: /was refused/ });

    // What an assistant asks for; the browser follows the answer of the form.
    const description = JSON.stringify({ redirect_uris: [`${daemon.url}/healthz`] });
    const registered = await fetch(`${daemon.url}/-/oauth/register`, { method: "POST", body: description });
    const asked = new URLSearchParams({
      response_type: "code",
      client_id: ((await registered.json()) as { client_id: string }).client_id,
      redirect_uri: `${daemon.url}/healthz`,
      code_challenge: "x".repeat(43),
      code_challenge_method: "S256",
    });
    await page.goto(`${daemon.url}/-/oauth/authorize?${asked}`);
    t.same(await findViolations(page), []);
    await page.getByRole("button", { name: "Authorize" }).click();
    await page.waitForURL(/\/healthz\?code=/);

    const signIn = async (password: string): Promise<void> => {
      await page.getByLabel("Name or e-mail address").fill("amy");
      await page.getByLabel("Password").fill(password);
      await page.getByRole("button", { name: "Sign in" }).click();
    };
    await page.goto(`${daemon.url}/users/amy/settings`);
    await page.getByLabel("Old password").fill("correct horse");
    await page.getByLabel("New password").fill("battery staple");
    await page.getByRole("button", { name: "Change the password" }).click();
    await signIn("battery staple");
    await page.getByRole("heading", { name: "Settings of amy" }).waitFor();

    const link = JSON.stringify(await daemon.control("POST", "/.api/users/amy/password-link", {}));
    await page.goto(`${daemon.url}${/\/password-reset[^"]*/.exec(link)?.[0] ?? ""}`);
    await page.getByLabel("New password").fill("correct horse");
    await page.getByRole("button", { name: "Set the password" }).click();
    await page
      .getByRole("link", { name: /sign in/i })
      .first()
      .click();
    await signIn("correct horse");
    await page.waitForURL(`${daemon.url}/`);
    await page.getByRole("link", { name: "amy" }).waitFor();

    const sent = await Promise.all(posts);
    t.same(
      sent.filter(({ origin, site }) => origin !== daemon.url || site !== "same-origin"),
      [],
      "a form of ours names our origin",
    );
    t.same(new Set(sent.map(({ path }) => path)), formAddresses(), "all of them have been sent");

    // A page of another site cannot approve: a browser names it, or sends `null`.
    await page.goto(
      `data:text/html,<form method="post" action="${daemon.url}/-/oauth/device"><button name="decision">Go</button></form>`,
    );
    await page.getByRole("button", { name: "Go" }).click();
    await page.getByText("The request comes from a page of another site.").waitFor();
    t.match(await posts.at(-1), { path: "/-/oauth/device", origin: "null", site: "cross-site" });
  });
});

t.test(
  "a private instance shows its sign-in page to everyone, and goes on to the page that was asked for",
  {
    skip: withoutBrowser,
  },
  async (t) => {
    const [daemon, browser] = await Promise.all([testDaemon(t, ["--set", "auth.public=false"]), testBrowser()]);
    await withPage(t, browser, `${daemon.url}/search?q=a`, {}, async (page) => {
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      t.match(page.url(), /\/sign-in\?returnTo=/);
    });
  },
);

t.test(
  "an identity provider: its button, a link to an account, a refusal, and the end of a session",
  { skip: withoutBrowser },
  async (t) => {
    const site = await WebSite.start(t);
    const { url } = site.daemon;
    const secret = "the secret of a client";
    const provider = await TestProvider.start(t, url, secret);
    const file = join(t.testdir(), "secret");
    writeFileSync(file, secret);
    const acme = {
      name: "acme",
      displayName: "Acme <Inc>",
      issuer: provider.issuer,
      clientId,
      clientSecret: `file:${file}`,
    };
    await site.configure({ identityProviders: [{ ...acme, signUp: "listed", signUpGroups: ["staff"] }] });
    provider.claims.set("eve", { groups: ["staff"] });
    const allowed = [/request to http:\/\/127\.0\.0\.1/, /status of 403/];
    await site.page(t, "", "/search-jobs", { allowed }, async (page) => {
      provider.account = "mallory";
      await page.goto(`${url}/sign-in?returnTo=%2Fsearch-jobs`);
      const button = page.getByRole("link", { name: "Sign in with Acme <Inc>" });
      await button.waitFor();
      t.same(await findViolations(page), []);
      await button.click();
      await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
      await page.getByText("neither your address nor your groups", { exact: false }).waitFor();
      t.same(await findViolations(page), []);
      await page.getByRole("link", { name: "Back to the sign-in" }).click();
      await page.context().clearCookies();
      provider.account = "eve";
      await page.goto(`${url}/sign-in?returnTo=%2Fsearch-jobs`);
      await button.click();
      await page.getByRole("link", { name: "eve" }).waitFor();
      t.equal(page.url(), `${url}/search-jobs`);

      // The provider itself sends the message that ends the session.
      await page.goto(`${provider.issuer}/session/end`);
      await page.getByRole("button", { name: "Sign out" }).click();
      await until("the provider has ended the session", async () => {
        await page.goto(`${url}/search-jobs`);
        return (await page.getByRole("link", { name: "Sign in" }).count()) > 0;
      });
    });
    await site.page(t, "ann", "/settings", { allowed }, async (page) => {
      provider.account = "ann at acme";
      await page.getByRole("button", { name: "Link an account of Acme <Inc>" }).click();
      await until("the account is linked", () => provider.asked.filter((path) => path === "/token").length === 3);
      await page.getByRole("heading", { name: "Settings of ann" }).waitFor();
      await page.context().clearCookies({ name: "sgs" });
      await page.goto(`${url}/sign-in`);
      await page.getByRole("link", { name: "Sign in with Acme <Inc>" }).click();
      await page.getByRole("link", { name: "ann", exact: true }).waitFor();

      await page.goto(`${url}/user/settings`);
      const accounts = page.getByRole("list", { name: "Linked accounts" });
      await accounts.getByTitle(provider.issuer).waitFor();
      t.same(await findViolations(page), []);
      await accounts.getByRole("button", { name: "Unlink ann at acme" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Unlink" }).click();
      // The session began with it.
      await page.getByText("Sign in to see your settings").waitFor();
    });
  },
);
