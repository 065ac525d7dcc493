/** The frame of all pages: header, search field, colours, keys. */
import t from "tap";
import { findViolations, withoutBrowser, withPage } from "../support/browser.js";
import { GitFixture } from "../support/git-fixture.js";
import { becomes } from "../support/waiting.js";
import { WebSite } from "../support/web-site.js";

t.test("the frame", { skip: withoutBrowser }, async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "src/a.ts": "export const needle = 1;\n" } });
  const { daemon, browser } = await WebSite.start(t);

  await t.test("home page, in both colours and widths", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      await page.getByRole("heading", { name: "There is nothing to search yet" }).waitFor();
      t.same(await findViolations(page), []);
      await daemon.add("example.org/code", fixture.path);
      for (const [colorScheme, width] of [
        ["light", 1280],
        ["dark", 360],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        await page.setViewportSize({ width, height: 700 });
        await page.reload();
        const repositories = page.getByRole("list", { name: "Repositories" });
        await repositories.getByText("1 file · fetched").waitFor();
        await page.getByText("/export (interface|type) \\w+/ lang:typescript").waitFor();
        await page.getByText("All filters").click();
        await page.getByText("files whose path matches").waitFor();
        t.same(await findViolations(page), [], `${colorScheme} ${width}`);
        t.equal(await page.evaluate("document.documentElement.scrollWidth"), width, "nothing is wider than the page");
      }
    });
  });

  await t.test("the choice of colours is kept, and is in the document", async (t) => {
    await withPage(t, browser, `${daemon.url}/search`, { colorScheme: "light" }, async (page) => {
      const ground = (): Promise<string> =>
        page.evaluate<string>("getComputedStyle(document.documentElement).backgroundColor");
      const light = await ground();
      await page.getByRole("button", { name: "Colours: as the system" }).click();
      await page.getByRole("button", { name: "Colours: light" }).click();
      const dark = await ground();
      t.not(dark, light);
      await page.reload();
      await page.getByRole("button", { name: "Colours: dark" }).waitFor();
      await becomes(t, ground, dark, "the colours are kept");
    });
  });

  await t.test("keys", async (t) => {
    await withPage(t, browser, `${daemon.url}/search`, {}, async (page) => {
      await page.getByRole("heading", { level: 1 }).waitFor();
      await page.keyboard.press("?");
      await page.getByRole("dialog", { name: "Keys" }).waitFor();
      t.same(await findViolations(page), []);
      await page.keyboard.press("Escape");
      await page.getByRole("dialog").waitFor({ state: "hidden" });
      await page.keyboard.press("/");
      await page.keyboard.type("needle");
      await page.keyboard.press("Enter");
      await page.getByText("src/a.ts").waitFor();
      t.match(page.url(), /\/search\?q=needle/);
      await page.getByLabel("Search query").blur();
      await page.keyboard.press("p");
      const preview = page.getByRole("complementary", { name: "Preview" });
      await preview.locator(".selected").getByText("export const needle = 1;").waitFor();
      await page.waitForURL(/&preview=/);
      await page.setViewportSize({ width: 375, height: 700 });
      t.same(await findViolations(page), []);
      t.equal(await page.evaluate("document.documentElement.scrollWidth"), 375);
      await page.keyboard.press("Escape");
      await preview.waitFor({ state: "detached" });
      await page.locator("a.home").click();
      await page.getByRole("heading", { name: "Recent searches" }).waitFor();
      await page.getByRole("link", { name: "needle", exact: true }).waitFor();
      await page.keyboard.press("/");
      await page.keyboard.press("ArrowDown");
      await page.getByRole("option", { name: "needle", selected: true }).waitFor();
      t.same(await findViolations(page), []);
      await page.keyboard.press("Enter");
      t.equal(await page.getByLabel("Search query").inputValue(), "needle");
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Clear" }).click();
      await page.getByRole("heading", { name: "Recent searches" }).waitFor({ state: "detached" });
    });
  });
});
