/**
 * The figures of the search page: how much it loads, how soon it shows something, how it behaves with many results.
 * Prints them, and fails where a figure does not depend on how busy the machine is. With `TRAWL_WEB_URL` and
 * `TRAWL_WEB_QUERY` it measures a running daemon instead, such as one with the source of Linux.
 */
import type { Browser, CDPSession, Page } from "playwright-core";
import t, { type Test } from "tap";
import { testBrowser, withoutBrowser, withPage } from "../support/browser.js";
import { testDaemon } from "../support/daemon.js";
import { GitFixture } from "../support/git-fixture.js";
import { until } from "../support/waiting.js";

const fileCount = 10_000;
const scriptBytesMax = 60 * 1024;
const elementsMax = 20_000;
const heapBytesMax = 250e6;
const rounds = 7;

interface Target {
  readonly url: string;
  readonly query: string;
}

t.test("the figures of the search page", { skip: withoutBrowser }, async (t) => {
  const browser = await testBrowser(t);
  const target = await chooseTarget(t);
  await t.test("first load", async (t) => measureLoad(t, browser, target));
  await t.test("first result", async (t) => measureFirstResult(t, browser, target));
  await t.test("many results", async (t) => measureMany(t, browser, target));
});

async function chooseTarget(t: Test): Promise<Target> {
  const url = process.env["TRAWL_WEB_URL"];
  if (url !== undefined) return { url, query: process.env["TRAWL_WEB_QUERY"] ?? "e" };
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  const names = Array.from({ length: fileCount }, (_, at) => `folder${at % 100}/file${at}.ts`);
  const text = (at: number): string => `// file ${at}\nexport const needle${at} = "needle";\nexport {};\n`;
  fixture.commit({ branch: "main", files: Object.fromEntries(names.map((name, at) => [name, text(at)])) });
  const daemon = await testDaemon(t);
  await daemon.add("example.org/many", fixture.path);
  return { url: daemon.url, query: "needle" };
}

async function measureLoad(t: Test, browser: Browser, { url }: Target): Promise<void> {
  const paints: number[] = [];
  const scripts = new Set<string>();
  for (let round = 0; round < rounds; round++)
    await withPage(t, browser, `${url}/search`, {}, async (page) => {
      await page.getByRole("heading", { level: 1 }).waitFor();
      paints.push(await page.evaluate<number>("performance.getEntriesByName('first-contentful-paint')[0].startTime"));
      const loaded = await page.evaluate<string[]>("performance.getEntriesByType('resource').map(({ name }) => name)");
      for (const name of loaded) if (name.endsWith(".js")) scripts.add(name);
    });
  const sizes = await Promise.all(
    [...scripts].map(async (name) => {
      const response = await fetch(name, { method: "HEAD", headers: { "Accept-Encoding": "gzip" } });
      return Number(response.headers.get("content-length"));
    }),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  t.comment(`scripts of the search page, gzip: ${(bytes / 1024).toFixed(1)} KiB in ${scripts.size} files`);
  t.comment(`first load, cold cache, to the first paint: ${spread(paints)}`);
  t.ok(bytes > 0 && bytes < scriptBytesMax, `${bytes} bytes of scripts`);
}

/** Records when Enter was pressed, and when the frame with the first result was painted. */
const watchFirstResult = `
  window.addEventListener("keydown", (event) => { if (event.key === "Enter") window.enterMs = event.timeStamp; }, true);
  new MutationObserver(() => {
    if (window.enterMs === undefined || document.querySelector(".result") === null) return;
    const from = window.enterMs;
    window.enterMs = undefined;
    requestAnimationFrame(() => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => { window.firstMs = performance.now() - from; };
      port2.postMessage(0);
    });
  }).observe(document, { childList: true, subtree: true });`;

async function measureFirstResult(t: Test, browser: Browser, { url, query }: Target): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++)
    await withPage(t, browser, `${url}/search`, { init: watchFirstResult }, async (page) => {
      await page.getByLabel("Search query").fill(`${query} count:all`);
      await page.keyboard.press("Enter");
      await until("a result is painted", async () => (await page.evaluate("window.firstMs")) !== undefined, 20_000);
      times.push(await page.evaluate<number>("window.firstMs"));
    });
  t.comment(`Enter to the first painted result: ${spread(times)}`);
}

/** Records how long the page took to show the effect of each interaction. */
const watchInteractions = `
  window.delays = [];
  new PerformanceObserver((list) => {
    for (const { duration, interactionId } of list.getEntries()) if (interactionId > 0) window.delays.push(duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: true });`;

async function measureMany(t: Test, browser: Browser, { url, query }: Target): Promise<void> {
  const address = `${url}/search?q=${encodeURIComponent(`${query} count:all timeout:60s`)}`;
  await withPage(t, browser, address, { init: watchInteractions }, async (page) => {
    await page.locator(".result").first().waitFor();
    await page.locator(".spinner").waitFor({ state: "detached", timeout: 120_000 });
    const status = await page.getByRole("status").filter({ hasText: "match" }).first().textContent();
    t.comment(`${query}: ${status}`);
    const actions = await interact(page);
    const delays = await page.evaluate<number[]>("window.delays");
    const slow = delays.sort((one, other) => other - one);
    const rank = Math.floor(actions / 50);
    t.comment(
      `interaction delay, p98 of ${actions}: ${slow[rank] ?? "below 16"} ms; longest ${slow[0] ?? "below 16"} ms`,
    );
    const elements = await page.evaluate<number>("document.getElementsByTagName('*').length");
    t.comment(`elements in the document: ${elements}`);
    t.ok(elements < elementsMax, `${elements} elements`);
    const heapBytes = await measureHeap(await page.context().newCDPSession(page));
    t.comment(`heap of the tab: ${(heapBytes / 1e6).toFixed(1)} MB`);
    t.ok(heapBytes < heapBytesMax, `${heapBytes} bytes of heap`);
    await page.keyboard.press("End");
    await page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)");
    await until("the last group is shown", async () => await isLastShown(page));
  });
}

/** Scrolls, folds and unfolds, types: as a person does. Returns the number of interactions. */
async function interact(page: Page): Promise<number> {
  let count = 0;
  for (let round = 0; round < 10; round++) {
    await page.mouse.move(700, 500);
    await page.mouse.wheel(0, 3000);
    const fold = page.locator(".fold:visible").nth(round);
    await fold.click();
    await fold.click();
    count += 2;
  }
  for (const key of ["j", "j", "k", "/", "a", "b", "Escape", "Escape"]) {
    await page.keyboard.press(key);
    count++;
  }
  await page.getByRole("button", { name: "Case counts" }).focus();
  return count;
}

async function measureHeap(session: CDPSession): Promise<number> {
  await session.send("HeapProfiler.collectGarbage");
  const usage = (await session.send("Runtime.getHeapUsage")) as Readonly<Record<string, number>>;
  const { usedSize = 0, embedderHeapUsedSize = 0, backingStorageSize = 0 } = usage;
  return usedSize + embedderHeapUsedSize + backingStorageSize;
}

async function isLastShown(page: Page): Promise<boolean> {
  await page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)");
  return await page.evaluate<boolean>("document.querySelector('.results').lastElementChild.offsetHeight === 0");
}

function spread(times: readonly number[]): string {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (share: number): string => (sorted[Math.floor(sorted.length * share)] ?? 0).toFixed(0);
  return `median ${at(0.5)} ms (${at(0)} to ${(sorted.at(-1) ?? 0).toFixed(0)})`;
}
