/** The search field: colours, completion by keyboard, errors with their place. */
import type { Page } from "playwright-core";
import t from "tap";
import { findViolations, withoutBrowser, withPage } from "../support/browser.js";
import { GitFixture } from "../support/git-fixture.js";
import { becomes, until } from "../support/waiting.js";
import { WebSite } from "../support/web-site.js";

t.test("the search field", { skip: withoutBrowser }, async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "src/needle-file.ts": "export function findNeedle() {}\n" } });
  fixture.git("tag", "v1.2", "main");
  const { daemon, browser } = await WebSite.start(t);
  await daemon.add("example.org/code", fixture.path);

  await t.test("completion", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      const rows: readonly (readonly [typed: string, label: string, taken: string])[] = [
        ["nothing -la", "-lang:", "nothing -lang:"],
        ["type:di", "diff", "type:diff "],
        ["lang:typesc", "TypeScript", "lang:typescript "],
        ["repo:exam", "example.org/code", "repo:^example\\.org/code$ "],
        ["file:needle", "src/needle-file.ts", "file:^src/needle-file\\.ts$ "],
        ["context:glo", "global", "context:global "],
        ["repo:code@v", "v1.2", "repo:code@v1.2 "],
        ["repo:^example\\.org/code$ rev:ma", "main", "repo:^example\\.org/code$ rev:main "],
      ];
      for (const [typed, label, taken] of rows) {
        await complete(page, typed, label);
        await becomes(t, () => page.getByLabel("Search query").inputValue(), taken, typed);
      }
      await page.getByLabel("Search query").fill("author:x");
      await page.locator("#completion-help").getByText("commits whose author").waitFor();
      t.same(await findViolations(page), []);
      await page.getByLabel("Search query").fill("re");
      await page.locator("[role=option]").first().waitFor();
      t.same(await findViolations(page), []);
      await page.keyboard.press("Escape");
      await page.getByRole("listbox").waitFor({ state: "detached" });
      await page.keyboard.type("x");
      await page.keyboard.press("Enter");
      await page.waitForURL(/q=rex/);
    });
  });

  await t.test("colours and errors", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      const field = page.getByLabel("Search query");
      await field.fill("a or repo:b /c+/");
      t.same(
        await page
          .locator(".query-colours span:not(.token-space)")
          .evaluateAll((spans) => spans.map(({ className, textContent }) => `${className} ${textContent}`)),
        ["token-pattern a", "token-operator or", "token-field repo:", "token-value b", "token-regexp /c+/"],
      );
      await field.fill("a count:many");
      await page.getByText("many is not a number").waitFor();
      await becomes(t, () => page.locator(".token-wrong").allTextContents(), ["count:", "many"], "what is wrong");
      await field.fill("a count:5");
      await page.locator("#query-problem").waitFor({ state: "hidden" });
      await becomes(t, () => page.locator(".token-wrong").allTextContents(), [], "nothing is wrong");
    });
  });
});

/** Types a query and takes the proposal with this label, with the keys alone. */
async function complete(page: Page, typed: string, label: string): Promise<void> {
  const field = page.getByLabel("Search query");
  await field.fill("");
  await field.pressSequentially(typed);
  const option = page.getByRole("option").filter({ has: page.getByText(label, { exact: true }) });
  await option.waitFor();
  await until(`${label} is chosen`, async () => {
    await page.keyboard.press("ArrowDown");
    return (await option.getAttribute("aria-selected")) === "true";
  });
  await page.keyboard.press("Tab");
}
