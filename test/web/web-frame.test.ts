/** The frame of all pages: header, search field, colours, keys. */
import t from "tap";
import { findViolations, testBrowser, withoutBrowser, withPage } from "../support/browser.js";
import { testDaemon } from "../support/daemon.js";
import { GitFixture } from "../support/git-fixture.js";
import { becomes } from "../support/waiting.js";

t.test("the frame", { skip: withoutBrowser }, async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({ branch: "main", files: { "src/a.ts": "export const needle = 1;\n" } });
  const [daemon, browser] = await Promise.all([testDaemon(t), testBrowser(t)]);
  await daemon.add("example.org/code", fixture.path);

  await t.test("home page, in both colours and widths", async (t) => {
    for (const colorScheme of ["light", "dark"] as const)
      for (const width of [1280, 360])
        await withPage(t, browser, daemon.url, { colorScheme, viewport: { width, height: 700 } }, async (page) => {
          await page.getByRole("heading", { level: 1 }).waitFor();
          t.same(await findViolations(page), [], `${colorScheme} ${width}`);
          t.equal(await page.evaluate("document.documentElement.scrollWidth"), width, "nothing is wider than the page");
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
    });
  });
});
