/** From a sign-up in the browser to a token that a program uses, and back. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
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
  const wrong = /status of 401/;
  await withPage(t, browser, `${daemon.url}/sign-up`, { allowed: [wrong] }, async (page) => {
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
