/** From a sign-up in the browser to a token that a program uses, and back. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import type { StoredToken } from "../../src/cli/connection/client-config.js";
import { authorizeDevice } from "../../src/cli/connection/device-login.js";
import { findViolations, testBrowser, withoutBrowser, withPage } from "../support/browser.js";
import { testDaemon } from "../support/daemon.js";

function writeConfig(t: Test, auth: object): string {
  const file = join(t.testdir(), "trawl.jsonc");
  writeFileSync(file, JSON.stringify({ auth, repositories: [] }));
  return file;
}

t.test("sign-up, access token, revocation, sign-out, sign-in", { skip: withoutBrowser }, async (t) => {
  const config = writeConfig(t, { allowSignup: true });
  const [daemon, browser] = await Promise.all([testDaemon(t, ["--config", config]), testBrowser(t)]);
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
    await page.getByRole("heading", { name: "Create an account" }).waitFor();
    t.same(await findViolations(page), []);
    await page.getByLabel("Name").fill("ann");
    await page.getByLabel("E-mail address").fill("ann@example.org");
    await page.getByLabel("Password").fill("correct horse");
    await page.getByRole("button", { name: "Create the account" }).click();
    await page.getByRole("link", { name: "ann" }).click();
    await page.getByRole("heading", { name: "Settings of ann" }).waitFor();
    t.same(await findViolations(page), []);

    await page.getByLabel("What it is for").fill("a <b>script</b>");
    await page.getByRole("button", { name: "Create the token" }).click();
    const token = await page.locator("code.token").innerText();
    await page.getByRole("cell", { name: "a <b>script</b>", exact: true }).waitFor();
    t.same(await whoAmI(token), { data: { currentUser: { username: "ann" } } });
    await page.getByRole("button", { name: "Revoke a <b>script</b>" }).click();
    await page.getByText("There are no tokens yet.").waitFor();
    t.equal(await whoAmI(token), 401);

    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByRole("link", { name: "Sign in" }).click();
    await page.getByLabel("Name or e-mail address").fill("ann");
    await page.getByLabel("Password").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("Authentication failed").waitFor();
    t.same(await findViolations(page), []);
    await page.getByLabel("Password").fill("correct horse");
    await page.keyboard.press("Enter");
    await page.getByRole("link", { name: "ann" }).waitFor();

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
      await page.getByLabel("Name or e-mail address").fill("ann");
      await page.getByLabel("Password").fill("correct horse");
      await page.getByRole("button", { name: "Sign in" }).click();
      t.equal(await page.getByLabel("Code").inputValue(), new URL(address).searchParams.get("user_code"));
      t.same(await findViolations(page), []);
      await page.getByRole("button", { name: "Authorize" }).click();
      await page.getByRole("heading", { name: "The program is authorized" }).waitFor();
    });
    t.same(await whoAmI(granted?.token ?? ""), { data: { currentUser: { username: "ann" } } });
    const refused = authorize(async (address) => {
      await page.goto(address);
      await page.getByRole("button", { name: "Refuse" }).click();
      await page.getByRole("heading", { name: "The program was refused" }).waitFor();
    });
    await t.rejects(refused, { message: /was refused/ });

    // A page of another site cannot approve: a browser names it, or sends `null`.
    await page.goto(
      `data:text/html,<form method="post" action="${daemon.url}/-/oauth/device"><button name="decision">Go</button></form>`,
    );
    await page.getByRole("button", { name: "Go" }).click();
    await page.getByText("The request comes from a page of another site.").waitFor();
  });
});

t.test(
  "a private instance shows its sign-in page to everyone, and goes on to the page that was asked for",
  {
    skip: withoutBrowser,
  },
  async (t) => {
    const config = writeConfig(t, { public: false });
    const [daemon, browser] = await Promise.all([testDaemon(t, ["--config", config]), testBrowser(t)]);
    await withPage(t, browser, `${daemon.url}/search?q=a`, {}, async (page) => {
      await page.getByRole("heading", { name: "Sign in" }).waitFor();
      t.match(page.url(), /\/sign-in\?returnTo=/);
    });
  },
);
