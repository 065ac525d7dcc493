/**
 * The figures of the search page, as the benchmark measures them, with many small files. Prints them, and fails where a
 * figure does not depend on how busy the machine is. With `TRAWL_WEB_URL` and `TRAWL_WEB_QUERY` it measures a running
 * daemon instead, such as one with the source of Linux.
 */
import type { Page } from "playwright-core";
import t, { type Test } from "tap";
import { delayP98, measureFirstResult, measureLoad, measureMany } from "../../native-bench/peers/web-page-figures.js";
import { testBrowser, withoutBrowser } from "../support/browser.js";
import { isFull, scaled } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { until } from "../support/waiting.js";
import { WebSite } from "../support/web-site.js";

/** Each has a dozen elements: all of them would be more than there may be. */
const fileCount = scaled(1_000, 10_000);
/** Well below the 60 KiB that the first page may have. */
const scriptBytesMax = 46 * 1024;
const elementsMax = 5_000;
const heapBytesMax = 100e6;
const rounds = scaled(1, 7);

interface Target {
  readonly url: string;
  readonly query: string;
}

t.test("the figures of the search page", { skip: withoutBrowser }, async (t) => {
  const browser = await testBrowser();
  const { url, query } = await chooseTarget(t);
  const { scriptBytes, scriptCount, paintMs } = await measureLoad(browser, url, rounds);
  t.comment(`scripts of the search page, gzip: ${(scriptBytes / 1024).toFixed(1)} KiB in ${scriptCount} files`);
  t.comment(`first load, cold cache, to the first paint: ${spread(paintMs)}`);
  t.ok(scriptBytes > 0 && scriptBytes < scriptBytesMax, `${scriptBytes} bytes of scripts`);
  if (isFull)
    t.comment(`Enter to the first painted result: ${spread(await measureFirstResult(browser, url, query, rounds))}`);
  const many = await measureMany(browser, url, query, async (page) => {
    await page.keyboard.press("End");
    await until("the last group is shown", async () => await isLastShown(page));
  });
  t.comment(`${query}: ${many.status}`);
  t.comment(`interaction delay, p98 of ${many.interactionCount}: ${delayP98(many)} ms`);
  t.comment(`elements in the document: ${many.elementCount}; heap of the tab: ${(many.heapBytes / 1e6).toFixed(1)} MB`);
  t.ok(many.elementCount < elementsMax, `${many.elementCount} elements`);
  t.ok(many.heapBytes < heapBytesMax, `${many.heapBytes} bytes of heap`);
});

async function chooseTarget(t: Test): Promise<Target> {
  const url = process.env["TRAWL_WEB_URL"];
  if (url !== undefined) return { url, query: process.env["TRAWL_WEB_QUERY"] ?? "e" };
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  const names = Array.from({ length: fileCount }, (_, at) => `folder${at % 100}/file${at}.ts`);
  const text = (at: number): string => `// file ${at}\nexport const needle${at} = "needle";\nexport {};\n`;
  fixture.commit({ branch: "main", files: Object.fromEntries(names.map((name, at) => [name, text(at)])) });
  const { daemon } = await WebSite.start(t);
  await daemon.add("example.org/many", fixture.path);
  return { url: daemon.url, query: "needle" };
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
