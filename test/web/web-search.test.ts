/** The search page: each kind of result, the address as state, filters, alerts, hostile texts. */
import type { Browser, Page } from "playwright-core";
import t, { type Test } from "tap";
import { findViolations, goOffline, withoutBrowser, withPage } from "../support/browser.js";
import type { DaemonProcess } from "../support/daemon.js";
import { chosen } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { becomes, until } from "../support/waiting.js";
import { WebSite } from "../support/web-site.js";

const hostile = `<img src=x onerror="document.title='attacked'">`;

function makeRepository(): GitFixture {
  const fixture = GitFixture.create();
  const filler = Array.from({ length: 30 }, (_, at) => `line ${at}`).join("\n");
  fixture.commit({
    branch: "main",
    message: `Start with the needle ${hostile}`,
    files: {
      "src/needle.ts": `// first\n${filler}\nexport function findNeedle(text: string): string {\n  return "needle";\n}\n${filler}\n`,
      "src/many.txt": "needle\nother\nother\n".repeat(40),
      "docs/a b#c?.md": "A needle, und eine Nadel mit 🧵 needle.\n",
      ...Object.fromEntries(
        Array.from({ length: 90 }, (_, at) => [`pile/${at}.txt`, "heap\n\n\n\n".repeat(1 + (at % 7))]),
      ),
      [`${hostile.replaceAll("/", "")}.html`]: `needle ${hostile}</code></article>\n`,
    },
  });
  fixture.commit({ branch: "main", message: "Add a file", files: { "src/changed.go": "package needle\n" } });
  fixture.commit({
    branch: "main",
    message: "Change it",
    files: { "src/changed.go": "package needle\n\nvar x = 1\n" },
  });
  return fixture;
}

async function search(page: Page, daemon: DaemonProcess, query: string, more = ""): Promise<void> {
  await page.goto(`${daemon.url}/search?q=${encodeURIComponent(query)}${more}`);
  await page.getByRole("status").filter({ hasText: /match/ }).first().waitFor();
  await page.locator(".spinner").waitFor({ state: "detached" });
}

t.test("the search page", { skip: withoutBrowser }, async (t) => {
  const fixture = makeRepository();
  t.teardown(() => fixture.remove());
  const { daemon, browser } = await WebSite.start(t);
  await daemon.add("example.org/code", fixture.path);
  await testKinds(t, daemon, browser);
  await testAddress(t, daemon, browser);
  await testContent(t, daemon, browser);
  await testCounts(t, daemon, browser);
  await testWayBack(t, daemon, browser);
  await testMessages(t, daemon, browser);
  await testCoverage(t, daemon, browser, fixture);
});

async function testKinds(t: Test, daemon: DaemonProcess, browser: Browser): Promise<void> {
  const rows: readonly (readonly [query: string, selector: string, text: RegExp])[] = [
    ["needle file:many", ".result .line mark", /^needle$/],
    ["needle type:path", ".result .path mark", /^needle$/],
    ["type:repo code", ".result .path", /example\.org\/code/],
    ["type:commit needle", ".result .message mark", /needle/],
    ["type:diff var file:changed", ".result .diff .file", /^src\/changed\.go$/],
    ["type:diff needle file:changed", ".result .diff .added", /\+package needle/],
    ["type:diff needle file:changed", ".result .diff .added .hljs-keyword", /^package$/],
  ];
  // Their elements differ; to look for violations takes most of the time.
  const checked = new Set(
    chosen(rows, "needle file:many", "type:commit needle", "type:diff needle file:changed").map(([query]) => query),
  );
  await t.test("each kind of result", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      for (const [query, selector, text] of rows) {
        await search(page, daemon, query);
        t.match(await page.locator(selector).first().textContent(), text, query);
        if (checked.has(query)) t.same(await findViolations(page), [], query);
      }
      t.equal(await page.title(), "type:diff needle file:changed · Trawl", "nothing of a result has run");
    });
  });
  await t.test("dark and narrow", async (t) => {
    const options = { colorScheme: "dark", viewport: { width: 360, height: 700 } } as const;
    await withPage(t, browser, daemon.url, options, async (page) => {
      for (const query of chosen<string>(
        ["needle", "needle file:many", "type:diff needle", "type:path a"],
        "needle",
        "type:diff needle",
      )) {
        await search(page, daemon, query);
        t.same(await findViolations(page), [], query);
        t.equal(await page.evaluate("document.documentElement.scrollWidth"), 360, query);
      }
      await search(page, daemon, "needle file:img");
      const [fold, title] = [page.locator(".fold").first(), page.locator(".result h2").first()];
      t.ok(Math.abs(((await fold.boundingBox())?.y ?? 0) - ((await title.boundingBox())?.y ?? 99)) < 10, "on one line");
    });
  });
}

async function testAddress(t: Test, daemon: DaemonProcess, browser: Browser): Promise<void> {
  await t.test("the address is the state", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      const field = page.getByLabel("Search query");
      await field.fill("needle");
      await field.press("Enter");
      const status = page.getByRole("status").filter({ hasText: "matches in 1 repository" });
      await status.waitFor();
      const all = await status.textContent();
      await page.getByRole("link", { name: /^Go\b/ }).click();
      await page.waitForURL(/lang%3Ago/);
      await page.getByText("src/changed.go").waitFor();
      await becomes(t, () => page.locator(".result").count(), 1, "one result");
      await becomes(t, () => field.inputValue(), "needle lang:go", "the field shows the address");
      await page.reload();
      await page.getByText("src/changed.go").waitFor();
      await becomes(t, () => field.inputValue(), "needle lang:go", "the field shows the address");
      await page.getByRole("link", { name: /^Go ✕/ }).click();
      await status.waitFor();
      await becomes(t, () => field.inputValue(), "needle", "the second click takes the filter back");
      await page.goBack();
      await until("one result", async () => (await page.locator(".result").count()) === 1);
      await page.goBack();
      await until("all results", async () => (await page.locator(".result").count()) > 3);
      t.equal((await status.textContent())?.replace(/ ·.*/, ""), all?.replace(/ ·.*/, ""));
      await page.getByRole("button", { name: "Case counts" }).click();
      await page.waitForURL(/case=yes/);
      await page.getByLabel("Pattern type").selectOption("regexp");
      await page.waitForURL(/patternType=regexp/);
    });
  });
}

async function testContent(t: Test, daemon: DaemonProcess, browser: Browser): Promise<void> {
  await t.test("lines: colours, links, folding, context, more", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      await search(page, daemon, "findNeedle");
      const result = page.locator(".result");
      await result.locator(".hljs-keyword").first().waitFor();
      t.equal(await result.locator("mark").first().textContent(), "findNeedle", "the match is marked in a token");
      t.match(await result.locator(".line-number").nth(1).getAttribute("href"), /\/-\/blob\/src\/needle\.ts\?L32$/);
      const lines = await result.locator(".line").count();
      await result.getByRole("button", { name: "Show lines above" }).click({ force: true });
      await until("more lines", async () => (await result.locator(".line").count()) === lines + 10);
      t.match(await result.locator(".line").first().textContent(), /21line 19/);
      await result.getByRole("button", { name: /^Matches in/ }).click();
      await becomes(t, () => result.locator(".line").first().isVisible(), false, "the file is folded");
      await search(page, daemon, "needle file:many");
      await becomes(t, () => page.locator(".line.match").count(), 8, "the first lines of a file with many");
      await page.getByRole("button", { name: "32 more matching lines" }).click();
      await becomes(t, () => page.locator(".line.match").count(), 40, "all lines");
      await search(page, daemon, "needle file:md");
      await becomes(
        t,
        () => page.locator(".line mark").allTextContents(),
        ["needle", "needle"],
        "behind a wide character",
      );
      t.match(await page.locator(".path").getAttribute("href"), /docs\/a%20b%23c%3F\.md$/);
    });
  });
  await t.test("hostile texts are texts", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      for (const query of [hostile, `type:commit ${hostile}`, `type:path onerror`]) {
        await search(page, daemon, query, "&patternType=literal");
        t.equal(await page.locator(".results img").count(), 0, query);
        t.match(await page.locator(".result").first().textContent(), /onerror="document/);
        t.match(await page.title(), /· Trawl$/);
      }
    });
  });
}

async function testCounts(t: Test, daemon: DaemonProcess, browser: Browser): Promise<void> {
  await t.test("matches counted by what they have in common", async (t) => {
    const options = { allowed: [/ERR_INTERNET/], isAlone: true };
    await withPage(t, browser, daemon.url, options, async (page) => {
      await search(page, daemon, "needle", "&case=yes&patternType=keyword");
      const found = await page.locator(".summary p").textContent();
      let searches = 0;
      page.on("request", (request) => {
        if (/\/stream\?(?!.*group=)/.test(request.url())) searches++;
      });
      await page.getByRole("button", { name: "Count by" }).press("Enter");
      const bars = page.getByRole("list", { name: "Matches by path" });
      t.match(await bars.getByRole("listitem").first().textContent(), /^src\/many\.txt\s*40 matches$/);
      await page.waitForURL(/&group=path$/);
      const total = page.locator(".groups-total");
      t.equal((await total.textContent())?.split(",")[0], found?.split(" in ")[0], "as many as were found");
      await goOffline(page);
      await page.locator(".groups").getByRole("link", { name: "Language" }).press("Enter");
      await page.getByRole("alert").getByText("cannot be reached").waitFor();
      t.same(await findViolations(page), []);
      await page.context().setOffline(false);
      await page.getByRole("button", { name: "Try again" }).click();
      const languages = page.getByRole("list", { name: "Matches by language" });
      await languages.waitFor();
      t.equal(searches, 0, "the results stay");
      t.same(await findViolations(page), []);
      await page.reload();
      await languages.getByRole("link", { name: /^TypeScript/ }).click();
      await page.waitForURL(/q=needle\+lang%3Atypescript&patternType=keyword&case=yes$/);
      await becomes(t, () => page.locator(".result").count(), 1, "the matches of one group");
      await page.goto(`${daemon.url}/search?q=${encodeURIComponent("/(need)le|L(oose)/ count:2")}&group=capture`);
      await page.getByRole("alert").getByText("Not all matches are counted").waitFor();
      t.match(await page.getByRole("list", { name: "by captured group" }).textContent(), /^need\s*2 matches/);
      await page.goto(`${daemon.url}/search?q=${encodeURIComponent("needle type:commit")}&group=language`);
      await page.getByRole("alert").getByText("could not be counted").waitFor();
      await page.locator(".groups").getByRole("link", { name: "Author" }).click();
      await page.getByRole("list", { name: "Matches by author" }).getByRole("link").first().waitFor();
    });
  });
}

async function testCoverage(t: Test, daemon: DaemonProcess, browser: Browser, fixture: GitFixture): Promise<void> {
  await t.test("more of what was left out is asked for once, however often the button is pressed", async (t) => {
    const left = GitFixture.create();
    t.teardown(() => left.remove());
    const files = Array.from({ length: 130 }, (_, at) => [`left/${at}`, Buffer.from([0, at, 0])]);
    left.commit({ branch: "main", files: { "a.txt": "needle\n", ...Object.fromEntries(files) } });
    await daemon.add("example.org/left", left.path);
    await withPage(t, browser, daemon.url, {}, async (page) => {
      await page.goto(`${daemon.url}/search?q=${encodeURIComponent("repo:left needle")}&receipt=1`);
      let asked = 0;
      await page.route(/\/search\/receipt\//, async (route) => {
        asked++;
        await page.waitForTimeout(500);
        await route.continue();
      });
      const more = page.getByRole("button", { name: "List more of what was left out (30)" });
      await more.dblclick();
      await more.waitFor({ state: "detached" });
      t.equal(asked, 1);
    });
  });
  await t.test("what was searched, what changes, and what changed since", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      await search(page, daemon, "needle lang:go");
      const panel = page.locator(".covered");
      const mark = page.locator(".coverage-mark");
      await mark.press("Enter");
      await panel.getByText(/^Complete: \d+ files?\.$/).waitFor();
      await page.waitForURL(/&receipt=1$/);
      t.match(await mark.textContent(), /^Complete: \d+ file/);
      t.same(await findViolations(page), []);
      await panel.getByRole("link", { name: "Watch" }).press("Enter");
      await panel.getByText("No changes yet").waitFor();
      fixture.commit({ branch: "main", files: { "src/later.go": "package needle\n" } });
      await daemon.sync("example.org/code");
      await panel.getByText("1 match came").waitFor();
      await panel.getByRole("link", { name: "example.org/code › src/later.go:1" }).waitFor();
      await until("the title says it", async () => (await page.title()).startsWith("(1) needle"));
      t.same(await findViolations(page), []);
      await page.goto(`${daemon.url}/search?q=${encodeURIComponent("needle lang:go")}&receipt=1`);
      await panel.getByRole("link", { name: "What changed since" }).press("Enter");
      await panel.getByRole("link", { name: "example.org/code › src/later.go:1" }).waitFor();
      await page.waitForURL(/&since=[\w-]+$/);
      await page.goto(`${daemon.url}/search?q=needle&since=none`);
      await page.getByRole("alert").getByText("keeps only the latest states").waitFor();
    });
  });
}

/** The name of the first result in sight, and where it is. */
const firstInSight = `(() => {
  const all = [...document.querySelectorAll(".result")];
  const first = all.find((result) => result.getBoundingClientRect().bottom > 60);
  return first && first.getAttribute("aria-label") + " " + Math.round(first.getBoundingClientRect().top);
})()`;

/** How the lines of a file are laid out. */
const fileLayout = `[...document.querySelectorAll(".file-lines .line")].map((line) => {
  const [outer, inner] = [line, line.querySelector("code")].map((part) => part.getBoundingClientRect());
  return [outer.x, outer.width, outer.height, inner.x, inner.height, getComputedStyle(line.parentElement).paddingTop];
})`;

async function testWayBack(t: Test, daemon: DaemonProcess, browser: Browser): Promise<void> {
  await t.test("a file that is opened from a result, and the way back", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      await search(page, daemon, "heap");
      await page.evaluate("window.scrollTo(0, 6000)");
      let place = "";
      await until("the list rests", async () => {
        const before = place;
        place = await page.evaluate<string>(firstInSight);
        return place === before;
      });
      const name = place.split(" ")[0] ?? "";
      const result = page.locator(`.result[aria-label="${name}"]`);
      await result.locator(".fold").dispatchEvent("click");
      place = await page.evaluate<string>(firstInSight);
      await result.locator(".path").dispatchEvent("click");
      await page.locator(".file-lines .line").first().waitFor();
      const opened = await page.evaluate(fileLayout);
      await page.goBack();
      await becomes(t, () => page.evaluate(firstInSight), place, "the same result is at the same place");
      t.equal(await result.locator(".fold").getAttribute("aria-expanded"), "false", "it is still folded");
      await page.goForward();
      await page.locator(".file-lines .line").first().waitFor();
      await page.reload();
      await page.locator(".file-lines .line").first().waitFor();
      t.same(await page.evaluate(fileLayout), opened, "the file looks as it does when it is loaded again");
    });
  });
}

async function testMessages(t: Test, daemon: DaemonProcess, browser: Browser): Promise<void> {
  await t.test("errors, proposals, nothing", async (t) => {
    await withPage(t, browser, daemon.url, {}, async (page) => {
      await page.goto(`${daemon.url}/search?q=${encodeURIComponent("a (b or lang:nonesuch")}&patternType=keyword`);
      await page.getByRole("alert").waitFor();
      t.match(await page.locator(".query-place u").textContent(), /\S/, "the place of the error");
      await page.goto(`${daemon.url}/search?q=${encodeURIComponent("needle count:1")}`);
      await page.getByRole("link", { name: "increase limit" }).click();
      await page.waitForURL(/count%3A1000/);
      await page.goto(`${daemon.url}/search?q=nothinglikethis`);
      await page.getByText("Nothing matches").waitFor();
      t.same(await findViolations(page), []);
      await page.goto(`${daemon.url}/search?q=${encodeURIComponent("fiel:many needle")}`);
      await page.getByText('There is no field "fiel"').waitFor();
      await page.getByRole("link", { name: "With file:" }).waitFor();
      await page.goto(`${daemon.url}/search`);
      await page.getByLabel("Search query").fill('"needle return"');
      await page.getByLabel("Case counts").click();
      await page.getByLabel("Search query").press("Enter");
      await page.waitForURL(/patternType=keyword&case=yes$/);
      const offers = page.getByRole("list", { name: "Similar queries" });
      await offers.getByRole("listitem").first().waitFor();
      await page.getByRole("link", { name: "In all branches" }).waitFor();
      t.same(await findViolations(page), []);
      await page.goto(`${daemon.url}/search?q=${encodeURIComponent("needle lang:python")}&case=yes`);
      t.match(await offers.textContent(), /Without lang:\d+ files/);
      await offers.getByRole("link", { name: "Without lang:" }).click();
      await page.waitForURL(/q=needle&patternType=standard&case=yes$/);
      await page.locator("mark").first().waitFor();
    });
  });
  await t.test("the server goes away", async (t) => {
    const options = { allowed: [/ERR_CONNECTION_REFUSED|ERR_INTERNET/], isAlone: true };
    await withPage(t, browser, daemon.url, options, async (page) => {
      await search(page, daemon, "needle");
      await goOffline(page);
      await page.getByLabel("Search query").fill("needle file:many");
      await page.keyboard.press("Enter");
      await page.getByRole("alert").getByText("cannot be reached").waitFor();
      await page.context().setOffline(false);
      await page.getByRole("button", { name: "Search again" }).click();
      await page.locator(".line mark").first().waitFor();
    });
  });
}
