/** What a person sees when something is hidden, slow, gone, or no longer allowed. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { promisify } from "node:util";
import t from "tap";
import { findViolations, withoutBrowser } from "../support/browser.js";
import { GitFixture } from "../support/git-fixture.js";
import { ask } from "../support/graphql.js";
import { becomes } from "../support/waiting.js";
import { WebSite } from "../support/web-site.js";

t.test("failures", { skip: withoutBrowser }, async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "a.ts": "export const needle = 1;\n" } });
  const site = await WebSite.start(t);
  await site.daemon.add("example.org/code", fixture.path);
  const hidden = { name: "example.org/secret", url: fixture.path, private: true, readers: ["root"] };
  await site.daemon.control("POST", "/.api/repos", hidden);

  await t.test("a private repository exists for its readers only", async (t) => {
    for (const user of ["", "ann", "root"])
      await site.page(t, user, "/search?q=needle", { allowed: [/status of 404/] }, async (page) => {
        const sees = user === "root" ? 1 : 0;
        await page.getByText("example.org/code").first().waitFor();
        await page.getByRole("status").filter({ hasText: "match" }).filter({ hasText: "repositor" }).waitFor();
        t.equal(Math.min(1, await page.getByText("example.org/secret").count()), sees, `results of ${user}`);
        await page.getByLabel("Search query").fill("repo:secre");
        if (sees === 1)
          await page
            .getByRole("option", { name: /secret/ })
            .first()
            .waitFor();
        await page.goto(`${site.daemon.url}/example.org/secret`);
        const heading = sees === 1 ? "example.org/secret" : /no such repository|not found|does not exist/i;
        await page.getByRole("heading", { name: heading }).first().waitFor();
      });
  });

  await t.test("on a slow network the search says what it does, and everything comes in the end", async (t) => {
    await site.page(t, "ann", "/search", {}, async (page) => {
      const session = await page.context().newCDPSession(page);
      await session.send("Network.enable");
      await session.send("Network.emulateNetworkConditions", {
        offline: false,
        latency: 500,
        downloadThroughput: 40_000,
        uploadThroughput: 40_000,
      });
      await page.getByLabel("Search query").fill("needle");
      await page.keyboard.press("Enter");
      await page.getByText("Searching…").waitFor();
      t.same(await findViolations(page), []);
      await page.getByText("a.ts").first().waitFor();
      await page.goto(`${site.daemon.url}/contexts`);
      await page.getByText("global").first().waitFor();
    });
  });

  await t.test(
    "from a sign-in to a token to curl",
    { skip: !existsSync("/usr/bin/curl") && "curl is missing" },
    async (t) => {
      await site.page(t, "ann", "/users/ann/settings", {}, async (page) => {
        await page.getByLabel("What it is for").fill("curl");
        await page.getByRole("button", { name: "Create the token" }).click();
        const token = await page.locator("code.token").innerText();
        const { stdout } = await promisify(execFile)("curl", [
          ...["-sS", "-H", `Authorization: token ${token}`],
          ...["-d", '{"query": "{ currentUser { username } }"}', `${site.daemon.url}/.api/graphql`],
        ]);
        t.same(JSON.parse(stdout), { data: { currentUser: { username: "ann" } } });
      });
    },
  );

  await t.test("a session that ends while a page is open", async (t) => {
    const root = `token ${await site.token("root")}`;
    await site.addUser("zoe", false);
    await site.page(t, "zoe", "/users/zoe/settings", { allowed: [/status of 401/] }, async (page) => {
      await page.getByRole("heading", { name: "Settings of zoe" }).waitFor();
      const found = (await ask(site.daemon.url, '{ user(username: "zoe") { id } }', null, root)) as {
        readonly data: { readonly user: { readonly id: string } };
      };
      const end = "mutation($id: ID!) { invalidateSessionsByID(userID: $id) { alwaysNil } }";
      await ask(site.daemon.url, end, { id: found.data.user.id }, root);
      await page.getByLabel("What it is for").fill("late");
      await page.getByRole("button", { name: "Create the token" }).click();
      const alert = page.getByRole("alert").first();
      await alert.waitFor();
      t.match(await alert.getByRole("link", { name: "Sign in" }).getAttribute("href"), /returnTo=%2Fusers%2Fzoe/);
      t.equal(await page.locator("code.token").count(), 0);
      t.same(await findViolations(page), []);
      await page.reload();
      await page.getByRole("link", { name: "Sign in" }).first().waitFor();
    });
  });

  await t.test("a proxy that answers with a page of its own", async (t) => {
    await site.page(t, "ann", "/search?q=needle", { allowed: [/status of 502/] }, async (page) => {
      await page.getByText("a.ts").first().waitFor();
      const [markup, alert] = ["<html><body>upstream</body></html>", page.getByRole("alert")];
      for (const status of [502, 200]) {
        await page.route("**/search/stream?*", (route) =>
          route.fulfill({ status, contentType: "text/html", body: markup }),
        );
        await page.getByLabel("Search query").press("Enter");
        await alert
          .getByText(`A proxy between this page and the server answered instead of it, with status ${status}.`)
          .waitFor();
        t.equal(await page.getByText("upstream").count(), 0);
      }
    });
  });

  await t.test("a server that was upgraded while a page was open", async (t) => {
    await site.page(t, "ann", "/search?q=needle", { allowed: [/status of 404/] }, async (page) => {
      await page.getByText("a.ts").first().waitFor();
      // The scripts have other names then: those that are not loaded yet are gone, and documents name others.
      const later = /\.assets\/(?!index|common|search-page)/;
      await page.route(later, (route) => route.fulfill({ status: 404 }));
      await page.route("**/sign-in", async (route) => {
        const response = await route.fetch();
        const body = (await response.text()).replaceAll(/index-[\w-]+\.js/g, "index-other.js");
        await route.fulfill({ response, body });
      });
      await page.getByLabel("Search query").fill("typed, not run");
      await page.getByRole("button", { name: "Keys" }).click();
      await page.getByRole("alert").getByText("The server was upgraded").waitFor();
      t.same(await findViolations(page), []);
      await page.unroute(later);
      await page.getByRole("button", { name: "Load the page again" }).click();
      await page.getByText("The server was upgraded").waitFor({ state: "detached" });
      await becomes(t, () => page.getByLabel("Search query").inputValue(), "typed, not run", "what was typed is kept");
      await page.getByText("a.ts").first().waitFor();

      await page.route(later, (route) => route.fulfill({ status: 404 }));
      await page.route("**/users/ann/settings", async (route) => {
        await page.unroute(later);
        await route.continue();
      });
      await page.getByRole("link", { name: "ann" }).click();
      await page.getByRole("heading", { name: "Settings of ann" }).waitFor();
    });
  });

  await t.test("a server that is gone and comes back", async (t) => {
    // A server that stops or starts answers 503.
    const allowed = [
      /ERR_CONNECTION_REFUSED|ERR_CONNECTION_RESET|ERR_EMPTY_RESPONSE|ERR_INCOMPLETE_CHUNKED|status of 503/,
    ];
    await site.page(t, "root", "/search?q=needle", { allowed }, async (page) => {
      await page.getByText("a.ts").first().waitFor();
      const console = await page.context().newPage();
      await console.goto(`${site.daemon.url}/api/console`);
      await console.getByRole("button", { name: "Who am I" }).click();
      const admin = await page.context().newPage();
      await admin.goto(`${site.daemon.url}/site-admin`);
      await admin.getByText("What needs attention").waitFor();
      await site.stop();
      await page.getByLabel("Search query").fill("needle count:all");
      await page.keyboard.press("Enter");
      await page.getByText("The server cannot be reached").first().waitFor();
      t.same(await findViolations(page), []);
      await console.getByRole("button", { name: "Run" }).click();
      await console.getByRole("alert").getByText("The server cannot be reached").waitFor();
      await admin.getByRole("button", { name: "Read again" }).click();
      await admin.getByText("The server cannot be reached").first().waitFor();
      t.same(await findViolations(admin), []);
      await site.startAgain();
      await page.keyboard.press("Enter");
      await page.getByText("a.ts").first().waitFor();
      await console.getByRole("button", { name: "Run" }).click();
      await console.getByRole("textbox", { name: "Result" }).getByText('"root"').waitFor();
      await admin.getByRole("button", { name: "Try again" }).click();
      await admin.getByText("What needs attention").waitFor();
    });
  });
});
