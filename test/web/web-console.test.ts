/** The API console and the overview of the schema. */
import type { Page } from "playwright-core";
import t from "tap";
import { findViolations, withoutBrowser } from "../support/browser.js";
import { looks, WebSite } from "../support/web-site.js";
import { until } from "../support/waiting.js";

const hostile = '<img src=x onerror="window.broken=1">';

const queryField = (page: Page) => page.getByRole("textbox", { name: "Query", exact: true });
const result = (page: Page) => page.getByRole("textbox", { name: "Result" });

async function write(page: Page, text: string): Promise<void> {
  await queryField(page).click();
  await page.keyboard.press("Control+A");
  await page.keyboard.insertText(text);
}

t.test("the console", { skip: withoutBrowser }, async (t) => {
  const site = await WebSite.start(t);

  await t.test("in both colours and widths", async (t) => {
    for (const look of looks)
      await site.page(t, "ann", "/api/console", look, async (page) => {
        await page.getByRole("button", { name: "Documentation" }).click();
        await page.getByRole("heading", { name: "type Query" }).waitFor();
        t.same(await findViolations(page), []);
        await page.getByRole("button", { name: "Examples" }).click();
        await page.getByRole("button", { name: "Who am I" }).click();
        await page.getByRole("button", { name: "Run" }).click();
        await result(page).getByText('"ann"').waitFor();
        t.same(await findViolations(page), []);
        const width = await page.evaluate("document.documentElement.scrollWidth");
        t.equal(width, look.viewport?.width, "nothing is wider than the page");
      });
  });

  await t.test("a query is completed, checked, run by key, kept and shared", async (t) => {
    await site.page(t, "ann", "/", {}, async (page) => {
      await page.getByRole("link", { name: "API" }).click();
      await write(page, "{ currentUser { ");
      await page.keyboard.type("usern");
      const offered = page.locator(".cm-completionLabel", { hasText: "username" }).first();
      // What is typed before the schema has arrived is completed when the next key asks for it.
      await until("a field is offered", async () => {
        if (!(await offered.isVisible())) await page.keyboard.press("Control+Space");
        return await offered.isVisible();
      });
      await page.keyboard.press("Enter");
      await page.keyboard.press("End");
      await page.keyboard.type(" nonsense } }");
      await page.locator(".cm-lintRange-error").first().waitFor();
      await page.keyboard.press("Control+Enter");
      await page.getByText("status 200,").waitFor();
      await result(page).getByText("nonsense").waitFor();

      await write(page, "query Me { currentUser { username } } query Site { site { productVersion } }");
      await page.getByLabel("Operation").selectOption("Me");
      await page.keyboard.press("Tab");
      await page.getByRole("button", { name: "Format" }).click();
      await page.getByRole("button", { name: "Run" }).click();
      await result(page).getByText('"username"').waitFor();
      await page.waitForURL(/#query=query\+Me\+%7B%0A.*operationName=Me/);
      const link = page.url();
      await page.goto("about:blank");
      await page.goto(link);
      await page.locator(".cm-line", { hasText: /^query Me \{$/ }).waitFor();
      await page.getByRole("button", { name: "History" }).click();
      await page.getByRole("button", { name: /nonsense/ }).click();
      await page.locator(".cm-line", { hasText: "nonsense" }).waitFor();
    });
  });

  await t.test("with a token it runs as its owner, and a wrong one is refused", async (t) => {
    const token = await site.token("root");
    await site.page(t, "ann", "/api/console", { allowed: [/status of 401/] }, async (page) => {
      await page.getByRole("button", { name: "Who am I" }).click();
      await page.getByLabel("Access token").fill(token);
      await page.getByLabel("Access token").press("Tab");
      await page.getByRole("button", { name: "Run" }).click();
      await result(page).getByText('"root"').waitFor();
      await page.getByLabel("Access token").fill("sgp_wrong");
      await page.getByLabel("Access token").press("Tab");
      await page.getByText("Nothing is completed or checked").waitFor();
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByText("status 401,").waitFor();
      t.same(await findViolations(page), []);
    });
  });

  await t.test("bad variables and hostile text", async (t) => {
    const given = new URLSearchParams({
      query: `# ${hostile}\nquery A($t: String!) { user(username: $t) { username } }`,
    });
    await site.page(t, "ann", `/api/console#${given}&variables=${encodeURIComponent("{ x")}`, {}, async (page) => {
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByRole("alert").getByText("The variables are not JSON").waitFor();
      await page.getByRole("textbox", { name: "Variables, as JSON" }).click();
      await page.keyboard.press("Control+A");
      await page.keyboard.insertText(JSON.stringify({ t: hostile }));
      await page.getByRole("button", { name: "Format" }).click();
      await page.getByText("The query has comments").waitFor();
      await page.getByRole("button", { name: "Run" }).click();
      await page.getByText("status 200,").waitFor();
      await page.getByRole("button", { name: "History" }).click();
      await page.locator(".console-list").getByText(hostile).first().waitFor();
      t.equal(await page.evaluate("window.broken"), undefined);
    });
  });
});

t.test("the schema", { skip: withoutBrowser }, async (t) => {
  const site = await WebSite.start(t);
  for (const look of looks)
    await site.page(t, "", "/api/schema", look, async (page) => {
      await page.getByRole("heading", { name: "GraphQL schema" }).waitFor();
      await page.getByLabel("Find a type or a field").fill("mirrorInfo");
      await page.getByRole("status").getByText("1 of").waitFor();
      t.same(await findViolations(page), []);
      if (look !== looks[0]) return;
      await page.getByLabel("Find a type or a field").fill("");
      await page.getByRole("link", { name: "RepositoryConnection" }).first().click();
      await page.waitForURL(/#RepositoryConnection$/);
      const box = await page.getByRole("heading", { name: "type RepositoryConnection" }).boundingBox();
      t.ok(box !== null && box.y > 0 && box.y < 300, "the page is at the type");
    });
});

t.test("only the console loads the editor", { skip: withoutBrowser }, async (t) => {
  const site = await WebSite.start(t);
  const loaded = async (path: string): Promise<readonly string[]> => {
    const names: string[] = [];
    await site.page(t, "", path, {}, async (page) => {
      await page.getByRole("heading", { level: 1 }).waitFor({ state: "attached" });
      names.push(
        ...(await page.evaluate<string[]>("performance.getEntriesByType('resource').map(({ name }) => name)")),
      );
    });
    return names.filter((name) => name.includes("/console-page"));
  };
  t.same(await loaded("/search"), []);
  t.not((await loaded("/api/console")).length, 0);
});
