/** Pages of site admins, organizations, teams, search contexts and settings. */
import t from "tap";
import { findViolations, shiftedClock, withoutBrowser } from "../support/browser.js";
import { GitFixture } from "../support/git-fixture.js";
import { ask } from "../support/graphql.js";
import { becomes } from "../support/waiting.js";
import { chosen, inLongRuns } from "../support/full-run.js";
import { looks, WebSite } from "../support/web-site.js";

const hostile = '<img src=x onerror="window.broken=1">';
const aYearMs = 31_557_600_000;

t.test("administration", { skip: withoutBrowser }, async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "a.ts": "export const needle = 1;\n" } });
  const site = await WebSite.start(t);
  await site.daemon.add("example.org/code", fixture.path);
  const root = `token ${await site.token("root")}`;

  await t.test("each page, in both colours and widths", async (t) => {
    const pages = [
      ["/site-admin", "What needs attention"],
      ["/site-admin/repositories", "example.org/code"],
      ["/site-admin/users", "site admin"],
      ["/site-admin/organizations", "0 organizations"],
      ["/site-admin/configuration", "The server has checked it"],
      ["/organizations", "You are in no organization."],
      ["/teams", "0 teams"],
      ["/search-jobs", "There are no search jobs yet."],
      ["/contexts", "global"],
      ["/contexts/new", "Or repositories"],
    ] as const;
    for (const look of looks)
      await site.page(t, "root", "/site-admin", look, async (page) => {
        // Lists are of one shape. The second look is the same style sheet: three pages of different shapes show its faults.
        const shapes = ["/site-admin/repositories", "/search-jobs", "/contexts/new"];
        const others = ["/site-admin", "/site-admin/users", "/site-admin/configuration", "/contexts"];
        const shown = chosen(pages, ...shapes, ...(look === looks[0] ? others : []));
        for (const [path, text] of shown) {
          await page.goto(`${site.daemon.url}${path}`);
          await page.getByRole("main").getByText(text).first().waitFor();
          t.same(await findViolations(page), [], path);
          t.equal(await page.evaluate("document.documentElement.scrollWidth"), look.viewport?.width, path);
        }
      });
  });

  await t.test("only site admins see them", async (t) => {
    for (const user of ["", "ann"])
      await site.page(t, user, "/site-admin/users", {}, async (page) => {
        await page.getByRole("heading", { name: "This page is for site admins" }).waitFor();
        t.equal(await page.getByText("root").count(), 0);
      });
    const add = 'mutation { addRepository(name: "x", cloneURL: "https://example.org/x") { id } }';
    const refused = await ask(site.daemon.url, add, null, `token ${await site.token("ann")}`);
    t.match(refused, { errors: [{ message: /site admin/ }] });
  });

  await t.test("a repository is added, ordered to sync, and removed", async (t) => {
    await site.page(t, "root", "/site-admin/repositories", {}, async (page) => {
      await page.getByText("Add a repository").click();
      await page.getByLabel("Name", { exact: true }).fill("example.org/other");
      await page.getByLabel("Clone URL").fill(fixture.path);
      await page.getByRole("button", { name: "Add the repository" }).click();
      await page.getByRole("alert").getByText("is added by its operator").waitFor();
      await page.getByLabel("Clone URL").fill("ext::sh -c id");
      await page.getByRole("button", { name: "Add the repository" }).click();
      await page.getByRole("alert").getByText("remote helpers").waitFor();
      // Nothing listens on this port.
      await page.getByLabel("Clone URL").fill("http://127.0.0.1:1/other");
      await page.getByLabel("Private").check();
      await page.getByRole("button", { name: "Add the repository" }).click();
      const row = page.getByRole("listitem").filter({ hasText: "example.org/other" });
      await row.getByText("private").waitFor();
      await page.getByRole("button", { name: "Sync example.org/code" }).click();
      await page.getByRole("button", { name: "Remove example.org/other" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
      await row.waitFor({ state: "detached" });
    });
    t.same(
      (await site.daemon.list()).map(({ name }) => name),
      ["example.org/code"],
    );
  });

  await t.test("a text is checked as the configuration file", async (t) => {
    await site.page(t, "root", "/site-admin/configuration", {}, async (page) => {
      const field = page.getByRole("textbox", { name: "Configuration to check" });
      const check = async (text: string): Promise<void> => {
        await field.click();
        await page.keyboard.press("Control+A");
        await page.keyboard.insertText(text);
        await page.getByRole("button", { name: "Check" }).click();
      };
      await check(`{\n  // one\n  "serch": {},\n  "workers": "${hostile.replaceAll('"', "'")}"\n}`);
      await page.getByText("did you mean search?").waitFor();
      await page.getByText("workers: must be").waitFor();
      t.same(await findViolations(page), []);
      await page.getByRole("button", { name: "Line 4" }).click();
      await check('{ "workers": ');
      await page.getByRole("listitem").getByText("expected").first().waitFor();
      await check('{ "workers": 2 } // enough');
      await page.getByText("The server could start with it.").waitFor();
      t.same(await findViolations(page), []);
    });
    const refused = await ask(
      site.daemon.url,
      '{ site { configurationProblems(text: "{}") { line } } }',
      null,
      `token ${await site.token("ann")}`,
    );
    t.match(refused, { errors: [{ message: /site admin/ }] });
  });

  await t.test("a part of the administration that does not exist is said", async (t) => {
    const allowed = [/status of 404/];
    await site.page(t, "root", "/site-admin/nosuch", { allowed }, async (page) => {
      await page.getByRole("heading", { name: "There is no such page" }).waitFor();
      t.same(await findViolations(page), []);
      await page.getByRole("link", { name: "Users" }).click();
      await page.getByRole("heading", { name: "Users" }).waitFor();
    });
  });

  await t.test("a user is created, promoted and deleted", async (t) => {
    await site.page(t, "root", "/site-admin/users", {}, async (page) => {
      await page.getByText("Create a user").click();
      await page.getByLabel("Name", { exact: true }).fill("eve");
      await page.getByRole("button", { name: "Create the user" }).click();
      await page.getByText("/password-reset?").waitFor();
      await page.getByRole("button", { name: "Make a site admin eve" }).click();
      await page.getByRole("button", { name: "Make a user eve" }).waitFor();
      await page.getByRole("button", { name: "Delete eve" }).click();
      t.same(await findViolations(page), []);
      await page.getByRole("dialog", { name: "Delete eve?" }).getByRole("button", { name: "Delete" }).click();
      await page.getByRole("button", { name: "Delete eve" }).waitFor({ state: "detached" });
      t.equal(await page.getByRole("button", { name: "Delete root" }).count(), 0, "nobody deletes their own account");
    });
  });

  await t.test("only a site admin creates a token that acts as another user", inLongRuns, async (t) => {
    const mark = "May act as any user";
    await site.page(t, "ann", "/users/ann/settings", {}, async (page) => {
      await page.getByLabel("What it is for").waitFor();
      t.equal(await page.getByLabel(mark).count(), 0);
    });
    await site.page(t, "root", "/users/root/settings", {}, async (page) => {
      await page.getByLabel("What it is for").fill("support");
      await page.getByLabel(mark).check();
      await page.getByRole("button", { name: "Create the token" }).click();
      const token = await page.locator("code.token").innerText();
      await page.getByRole("cell", { name: "user:all, site-admin:sudo" }).waitFor();
      t.same(await findViolations(page), []);
      const asAnn = `token-sudo user="ann",token="${token}"`;
      t.same(await ask(site.daemon.url, "{ currentUser { username } }", null, asAnn), {
        data: { currentUser: { username: "ann" } },
      });
    });
  });

  await t.test("an organization and a team with hostile names have members", async (t) => {
    await site.page(t, "root", "/site-admin/organizations", {}, async (page) => {
      await page.getByText("Create an organization").click();
      await page.getByLabel("Name", { exact: true }).fill("acme");
      await page.getByLabel("Display name").fill(hostile);
      await page.getByRole("button", { name: "Create the organization" }).click();
      await page.getByText(hostile).waitFor();
      await page.getByRole("link", { name: "acme" }).click();
      await page.getByLabel("Name of a user").fill("ann");
      await page.getByRole("button", { name: "Add" }).click();
      await page.getByRole("button", { name: "Remove ann from acme" }).waitFor();
      t.same(await findViolations(page), []);
      await page.goto(`${site.daemon.url}/teams`);
      await page.getByText("Create a team").click();
      await page.getByLabel("Name", { exact: true }).fill("red");
      await page.getByLabel("Display name").fill(hostile);
      await page.getByRole("button", { name: "Create the team" }).click();
      await page.getByRole("link", { name: "red" }).click();
      await page.getByLabel("Name of a user").fill("ann");
      await page.getByRole("button", { name: "Add" }).click();
      await page.getByRole("button", { name: "Remove ann from red" }).waitFor();
      await page.getByText(hostile).waitFor();
      t.equal(await page.evaluate("window.broken"), undefined);
    });
    await site.page(t, "", "/organizations/acme", {}, async (page) => {
      await page.getByRole("heading", { name: "Sign in to see" }).waitFor();
    });
  });

  await t.test(
    "an invitation is made, and accepted by its recipient only, whose clock is a year ahead",
    inLongRuns,
    async (t) => {
      await site.addUser("bea", false);
      let invitation = "";
      await site.page(t, "ann", "/organizations/acme", {}, async (page) => {
        await page.getByLabel("Name of the user to invite").fill("bea");
        await page.getByRole("button", { name: "Invite" }).click();
        const made = await page.getByRole("status").getByText("/organizations/invitation/").textContent();
        invitation = /\/organizations\/invitation\/\d+/.exec(made ?? "")?.[0] ?? "";
        await page.getByRole("button", { name: "Revoke the invitation of bea" }).waitFor();
        t.same(await findViolations(page), []);
        await page.goto(`${site.daemon.url}${invitation}`);
        await page.getByText("Only bea can answer it.").waitFor();
      });
      await site.page(t, "bea", invitation, { init: shiftedClock(aYearMs) }, async (page) => {
        await page.getByText("ann invites you to become a member of acme").waitFor();
        t.same(await findViolations(page), []);
        await page.getByRole("button", { name: "Accept" }).click();
        await page.getByRole("heading", { name: "Members" }).waitFor();
        await page.getByRole("listitem").getByText("bea", { exact: true }).waitFor();
      });
    },
  );

  await t.test("a search job is started, read and deleted", async (t) => {
    const query = `needle or "${hostile.replaceAll('"', '\\"')}" type:file`;
    const permissions = ["clipboard-read", "clipboard-write"];
    await site.page(t, "ann", `/search?q=${encodeURIComponent(query)}`, { permissions }, async (page) => {
      await page.getByRole("button", { name: "Copy as…" }).click();
      await page.getByRole("button", { name: "curl" }).click();
      await page.getByText("Copied curl").waitFor();
      t.match(await page.evaluate("navigator.clipboard.readText()"), /^curl --no-buffer .*stream\?q=needle/);
      t.same(await findViolations(page), []);
      await page.getByRole("link", { name: "Run as search job" }).click();
      await page.getByText("There are no search jobs yet.").waitFor();
      await becomes(
        t,
        () => page.getByLabel("Query", { exact: true }).inputValue(),
        `(needle or ("${hostile.replaceAll('"', '\\"')}" type:file)) patterntype:standard`,
        "the query is filled in",
      );
      await page.getByRole("button", { name: "Start" }).click();
      await page.getByText("complete", { exact: true }).waitFor();
      await page.getByText("1 of 1 repositories").waitFor();
      t.same(await findViolations(page), []);
      const address = await page.getByRole("link", { name: "Results of" }).getAttribute("href");
      const results = await (await page.request.get(`${site.daemon.url}${address}`)).text();
      t.match(results, /^\{"type":"content","path":"a\.ts".*\}\n$/);
      const table = await page.getByRole("link", { name: "CSV of" }).getAttribute("href");
      t.match(await (await page.request.get(`${site.daemon.url}${table}`)).text(), /^kind,.*\r\ncontent,.*,a\.ts,/);
      await page.getByLabel("Query", { exact: true }).fill("r:[");
      await page.getByRole("button", { name: "Start" }).click();
      await page.getByRole("alert").waitFor();
      await page.getByRole("button", { name: "Delete (needle" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByText("There are no search jobs yet.").waitFor();
      t.equal(await page.evaluate("window.broken"), undefined);
    });
    await site.page(t, "", "/search-jobs", {}, async (page) => {
      await page.getByRole("heading", { name: "Sign in to use search jobs" }).waitFor();
    });
  });

  await t.test("a context is made, searched, changed and deleted", async (t) => {
    await site.page(t, "ann", "/contexts/new", {}, async (page) => {
      await page.getByLabel("Name").fill("mine");
      await page.getByLabel("Description").fill(hostile);
      await page.getByLabel("Or repositories").fill("example.org/none");
      await page.getByRole("button", { name: "Create the context" }).click();
      await page.getByRole("alert").getByText("There is no repository named example.org/none").waitFor();
      await page.getByLabel("Or repositories").fill("example.org/code main");
      await page.getByRole("button", { name: "Create the context" }).click();
      await page.getByRole("heading", { name: "@ann/mine" }).waitFor();
      await page.getByText(hostile).first().waitFor();
      t.same(await findViolations(page), []);
      await page.getByLabel("Description").fill("what ann reads");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByRole("paragraph").getByText("what ann reads").waitFor();
      await page.getByRole("button", { name: "Delete @ann/mine" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByRole("heading", { name: "Search contexts" }).waitFor();
      await becomes(t, () => page.getByText("@ann/mine").count(), 0, "the context is gone");
      t.equal(await page.evaluate("window.broken"), undefined);
    });
  });

  await t.test("the list of contexts beside the search field, and saved searches", async (t) => {
    const ann = `token ${await site.token("ann")}`;
    const context = `mutation { createSearchContext(searchContext: { name: "part", description: ${JSON.stringify(hostile)},
      public: true, query: "repo:code", namespace: ID }, repositories: []) { spec } }`;
    const found = (await ask(site.daemon.url, "{ currentUser { id } }", null, ann)) as {
      readonly data: { readonly currentUser: { readonly id: string } };
    };
    await ask(site.daemon.url, context.replace("ID", `"${found.data.currentUser.id}"`), null, ann);
    await site.page(t, "ann", "/search?q=needle", {}, async (page) => {
      await page.getByText("a.ts").first().waitFor();
      await page.getByRole("button", { name: "Search context: global" }).click();
      await page.getByLabel("Part of its name").fill("part");
      t.same(await findViolations(page), []);
      await page.getByRole("button", { name: "@ann/part" }).click();
      await page.waitForURL(/q=context%3A%40ann%2Fpart\+needle/);
      await page.getByText("a.ts").first().waitFor();
      await page.getByRole("button", { name: "Search context: @ann/part" }).click();
      await page
        .getByRole("dialog")
        .getByRole("button", { name: /^global/ })
        .click();
      await page.waitForURL(/q=needle/);
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await page.getByLabel("Name", { exact: true }).fill(hostile);
      await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
      await page.getByText("Saved").first().waitFor();
      await page.getByRole("link", { name: "Trawl" }).click();
      await page.getByRole("button", { name: "Edit saved searches" }).click();
      await page.getByRole("button", { name: `Edit ${hostile}` }).click();
      t.same(await findViolations(page), []);
      await page.getByLabel("Name", { exact: true }).fill("needles");
      await page.getByRole("button", { name: "Save" }).click();
      await page.getByRole("button", { name: "Notify needles" }).click();
      await page.getByLabel("Webhook").fill("http://127.0.0.1:10/hook");
      await page.getByRole("button", { name: "Notify", exact: true }).click();
      await page.getByText("has to list it in notifications.origins").waitFor();
      await page.getByLabel("Webhook").fill("http://127.0.0.1:9/hook");
      await page.getByRole("button", { name: "Notify", exact: true }).click();
      await page.getByText("are signed with this secret").waitFor();
      await page.getByRole("button", { name: "Send a test of needles" }).click();
      await page.getByText(/: a test, .*\(/).waitFor();
      await page.getByText("notifies", { exact: true }).waitFor();
      const format = page.getByLabel("Send", { exact: true });
      await format.selectOption("Mail");
      await page.getByLabel("Mail address").fill("ann@example.org");
      await page.getByRole("button", { name: "Change", exact: true }).click();
      await page.getByText("mail is not enabled here").waitFor();
      await format.selectOption("Discord");
      await page.getByLabel("Webhook").fill("http://127.0.0.1:9/hook");
      await page.getByRole("button", { name: "Change", exact: true }).click();
      await page.getByText("are signed with this secret").waitFor({ state: "detached" });
      t.equal(await format.inputValue(), "DISCORD");
      t.same(await findViolations(page), []);
      await page.getByRole("button", { name: "Turn off needles" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Turn off" }).click();
      await page.getByText("notifies", { exact: true }).waitFor({ state: "detached" });
      await page.getByRole("button", { name: "Delete needles" }).click();
      await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click();
      await page.getByText("None are left.").waitFor();
      t.equal(await page.evaluate("window.broken"), undefined);
    });
  });

  await t.test("two tabs change the settings of the site", async (t) => {
    const saved = async (): Promise<unknown> => {
      const answer = (await ask(site.daemon.url, "{ site { latestSettings { contents } } }", null, root)) as {
        readonly data: { readonly site: { readonly latestSettings: { readonly contents: string } | null } };
      };
      return answer.data.site.latestSettings?.contents;
    };
    await site.page(t, "root", "/site-admin/global-settings", {}, async (one) => {
      const other = await one.context().newPage();
      await other.goto(one.url());
      // It has the settings as they were, before the first tab saves others.
      await other.getByRole("textbox", { name: "Settings, as JSON" }).waitFor();
      for (const [page, text] of [
        [one, '{ "a": 1 } // one'],
        [other, '{ "a": 2 }'],
      ] as const) {
        await page.getByRole("textbox", { name: "Settings, as JSON" }).click();
        await page.keyboard.press("Control+A");
        await page.keyboard.insertText(text);
        await page.getByRole("button", { name: "Save", exact: true }).click();
        await page.getByText(page === one ? "Saved." : "saved elsewhere").waitFor();
      }
      t.equal(await saved(), '{ "a": 1 } // one', "the second tab has overwritten nothing");
      const heights = `[...document.querySelector(".editor").shadowRoot.querySelectorAll(".cm-line, .cm-gutterElement")]
        .map((line) => line.getBoundingClientRect().height).filter((height) => height > 0)`;
      t.same(
        [...new Set(await other.evaluate<number[]>(heights))],
        [18],
        "numbers stay beside their lines: whole pixels",
      );
      t.same(await findViolations(other), []);
      await other.getByRole("button", { name: "Keep my text" }).click();
      await other.getByRole("button", { name: "Save", exact: true }).click();
      await other.getByText("Saved.").waitFor();
      await becomes(t, saved, '{ "a": 2 }', "what the second tab kept is saved");
      await one.getByRole("textbox", { name: "Settings, as JSON" }).click();
      await one.keyboard.press("Control+A");
      await one.keyboard.insertText("{ broken");
      await one.getByText("This is no JSON yet.").waitFor();
      const save = one.getByRole("button", { name: "Save", exact: true });
      await becomes(t, () => save.isDisabled(), true, "what is broken cannot be saved");
    });
  });
});
