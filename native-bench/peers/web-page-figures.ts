import { existsSync } from "node:fs";
import { type Browser, type BrowserContextOptions, type CDPSession, chromium, type Page } from "playwright-core";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";

/** Debian's own; a path in `TRAWL_CHROMIUM` takes precedence. */
const browserPath = process.env["TRAWL_CHROMIUM"] ?? "/usr/bin/chromium";

const waitMsMax = 120_000;

/** The browser; undefined if it is not installed. */
export async function openBrowser(): Promise<Browser | undefined> {
  if (!existsSync(browserPath)) return undefined;
  return chromium.launch({
    executablePath: browserPath,
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--js-flags=--expose-gc", "--enable-precise-memory-info"],
  });
}

export const missingBrowser = `${browserPath} is missing: install the Debian package chromium, or set TRAWL_CHROMIUM`;

interface LoadFigures {
  /** Compressed with gzip. */
  readonly scriptBytes: number;
  readonly scriptCount: number;
  /** First contentful paint, in milliseconds. */
  readonly paintMs: readonly number[];
}

/** The first load of the search page, each time with an empty cache. */
export async function measureLoad(browser: Browser, url: string, rounds: number): Promise<LoadFigures> {
  const paintMs: number[] = [];
  const scripts = new Set<string>();
  for (let round = 0; round < rounds; round++)
    await withPage(browser, `${url}/search`, undefined, async (page) => {
      await page.getByRole("heading", { level: 1 }).waitFor();
      paintMs.push(await page.evaluate<number>("performance.getEntriesByName('first-contentful-paint')[0].startTime"));
      const loaded = await page.evaluate<string[]>("performance.getEntriesByType('resource').map(({ name }) => name)");
      for (const name of loaded) if (name.endsWith(".js")) scripts.add(name);
    });
  const sizes = await Promise.all(
    [...scripts].map(async (name) => {
      const response = await fetch(name, { method: "HEAD", headers: { "Accept-Encoding": "gzip" } });
      return Number(response.headers.get("content-length"));
    }),
  );
  return { scriptBytes: sizes.reduce((sum, size) => sum + size, 0), scriptCount: scripts.size, paintMs };
}

/** Calls `watchFrame` in the page with the moment at which an event of this type happens, which is one of a key if `key` is given. */
function whenEvent(type: string, key?: string): string {
  const isIt = key === undefined ? "true" : `event.key === ${JSON.stringify(key)}`;
  return `window.addEventListener("${type}", (event) => { if (${isIt}) watchFrame(event.timeStamp); }, true);`;
}

/**
 * A script by which `watchFrame(fromMs)` sets `window.frameMs` to the time until the frame was painted in which the expression
 * `shown` holds.
 */
function frameWatch(shown: string, when: string): string {
  return `
  let observer;
  function watchFrame(fromMs) {
    window.frameMs = undefined;
    observer?.disconnect();
    observer = new MutationObserver((_, self) => {
      if (!(${shown})) return;
      self.disconnect();
      requestAnimationFrame(() => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = () => { window.frameMs = performance.now() - fromMs; };
        port2.postMessage(0);
      });
    });
    observer.observe(document, { childList: true, subtree: true, characterData: true, attributes: true });
  }
  ${when}`;
}

const watchFirstResult = frameWatch("document.querySelector('.result') !== null", whenEvent("keydown", "Enter"));

/** From Enter to the frame with the first result, in milliseconds. */
export async function measureFirstResult(
  browser: Browser,
  url: string,
  query: string,
  rounds: number,
): Promise<readonly number[]> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++)
    await withPage(browser, `${url}/search`, watchFirstResult, async (page) => {
      await page.getByLabel("Search query").fill(`${query} count:all`);
      await page.keyboard.press("Enter");
      times.push(await readFrameMs(page));
    });
  return times;
}

/** From the navigation to the frame with the lines of a file, in milliseconds. */
export async function measureFile(browser: Browser, address: string, rounds: number): Promise<readonly number[]> {
  const watchLines = frameWatch("document.querySelector('.file-lines .line') !== null", "watchFrame(0);");
  const times: number[] = [];
  for (let round = 0; round < rounds; round++)
    await withPage(browser, address, watchLines, async (page) => {
      times.push(await readFrameMs(page));
    });
  return times;
}

const watchCard = frameWatch("document.querySelector('.name-card .name-signature') !== null", whenEvent("pointermove"));

/** Where the longer names of the lines in sight are, each once. */
const findNames = `(() => {
  const places = new Map();
  for (const code of document.querySelectorAll(".line > code")) {
    const texts = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      if (node.parentNode.closest(".hljs-comment, .hljs-string, .hljs-keyword") !== null) continue;
      for (const { 0: name, index } of node.nodeValue.matchAll(/\\w{6,}/g)) {
        const range = document.createRange();
        range.setStart(node, index + 1);
        range.setEnd(node, index + 2);
        const { x, y } = range.getBoundingClientRect();
        if (y > 150 && y < innerHeight - 20) places.set(name, { x, y });
      }
    }
  }
  return [...places.values()];
})()`;

interface HoverFigures {
  /** From the pointer's movement to the frame with the card of the name. */
  readonly shownMs: readonly number[];
  /** Names of which no definition was shown. */
  readonly unknownCount: number;
}

/** Moves the pointer to the names in the lines in sight at some addresses. */
export async function measureHover(browser: Browser, addresses: readonly string[]): Promise<HoverFigures> {
  const shownMs: number[] = [];
  let unknownCount = 0;
  for (const address of addresses)
    await withPage(browser, address, watchCard, async (page) => {
      await page.locator(".line [class^='hljs']").first().waitFor();
      for (const { x, y } of await page.evaluate<{ x: number; y: number }[]>(findNames)) {
        await page.mouse.move(1, 1);
        await page.locator(".name-card").waitFor({ state: "detached" });
        await page.mouse.move(x + 3, y + 5);
        const ms = await readFrameMs(page, 1000).catch(() => undefined);
        if (ms === undefined) unknownCount++;
        else shownMs.push(ms);
      }
    });
  return { shownMs, unknownCount };
}

/** The list is that of what was typed when its first item has all typed letters marked. */
const watchList = frameWatch(
  `[...document.querySelectorAll("#finder-0 b")].map((b) => b.textContent).join("").toLowerCase()
     === document.querySelector(".finder input").value`,
  whenEvent("keydown"),
);

/** From a key to the frame with the list of files, for each letter of the texts that are typed in the finder of a repository. */
export async function measureFinder(
  browser: Browser,
  address: string,
  texts: readonly string[],
): Promise<readonly number[]> {
  const times: number[] = [];
  await withPage(browser, address, watchList, async (page) => {
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("t");
    await page.locator("#finder-0").waitFor();
    for (const text of texts) {
      for (const letter of text) {
        await page.keyboard.press(letter);
        times.push(await readFrameMs(page));
      }
      await page.locator(".finder input").fill("");
    }
  });
  return times;
}

interface ManyFigures {
  /** What the page says that it found. */
  readonly status: string;
  /** The delays of the interactions that the browser reports, in milliseconds: those of 16 ms and more. */
  readonly delaysMs: readonly number[];
  readonly interactionCount: number;
  readonly elementCount: number;
  readonly heapBytes: number;
}

/** Records how long the page took to show the effect of each interaction. */
const watchInteractions = `
  window.delays = [];
  new PerformanceObserver((list) => {
    for (const { duration, interactionId } of list.getEntries()) if (interactionId > 0) window.delays.push(duration);
  }).observe({ type: "event", durationThreshold: 16, buffered: true });`;

/** How the page behaves with all results of a query. `use` may look further at it. */
export async function measureMany(
  browser: Browser,
  url: string,
  query: string,
  use: (page: Page) => Promise<void>,
): Promise<ManyFigures> {
  const address = `${url}/search?q=${encodeURIComponent(`${query} count:all timeout:60s`)}`;
  let figures: ManyFigures | undefined;
  await withPage(browser, address, watchInteractions, async (page) => {
    await page.locator(".result").first().waitFor();
    await page.locator(".spinner").waitFor({ state: "detached" });
    const status = (await page.getByRole("status").filter({ hasText: "match" }).first().textContent()) ?? "";
    const interactionCount = await interact(page);
    figures = {
      status,
      interactionCount,
      delaysMs: await page.evaluate<number[]>("window.delays"),
      elementCount: await page.evaluate<number>("document.getElementsByTagName('*').length"),
      heapBytes: await measureHeap(await page.context().newCDPSession(page)),
    };
    await use(page);
  });
  if (figures === undefined) throw new TrawlError("internal", "the page was not measured");
  return figures;
}

/** The delay that 98 of 100 interactions do not exceed; those that are not reported took less than 16 ms. */
export function delayP98({ delaysMs, interactionCount }: Pick<ManyFigures, "delaysMs" | "interactionCount">): number {
  const slowest = [...delaysMs].sort((one, other) => other - one);
  return slowest[Math.floor(interactionCount / 50)] ?? 16;
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

/** The browser is at rest when its processes used less than this share of a processor for `restMs`. */
const restShare = 0.08;
const restMs = 200;
const restWaitMsMax = 20_000;

/**
 * Waits until the browser has done what it does for a new window. Chromium loads 180 files of pages of its own for the
 * address bar then, which takes 0.3 s of processor time; a person opens a page in a window that has been there for a while.
 */
async function waitForRest(browser: Browser): Promise<void> {
  const session = await browser.newBrowserCDPSession();
  const usedMs = async (): Promise<number> => {
    const { processInfo } = await session.send("SystemInfo.getProcessInfo");
    return 1000 * processInfo.reduce((sum, { cpuTime }) => sum + cpuTime, 0);
  };
  const endMs = monotonicMs() + restWaitMsMax;
  let before = await usedMs();
  while (monotonicMs() < endMs) {
    await sleep(restMs);
    const now = await usedMs();
    if (now - before < restShare * restMs) break;
    before = now;
  }
  await session.detach();
}

/** A page of a session of its own, so that nothing is cached. */
async function withPage(
  browser: Browser,
  address: string,
  init: string | undefined,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const options: BrowserContextOptions = { viewport: { width: 1280, height: 800 } };
  const context = await browser.newContext(options);
  try {
    const page = await context.newPage();
    page.setDefaultTimeout(waitMsMax);
    if (init !== undefined) await page.addInitScript(init);
    await waitForRest(browser);
    await page.goto(address);
    await use(page);
  } finally {
    await context.close();
  }
}

/** What `watchFrame` has set. */
async function readFrameMs(page: Page, waitMs = waitMsMax): Promise<number> {
  const endMs = monotonicMs() + waitMs;
  for (;;) {
    const value = await page.evaluate<number | undefined>("window.frameMs");
    if (value !== undefined) return value;
    if (monotonicMs() > endMs) throw new TrawlError("internal", "the page did not show what was waited for");
    await sleep(20);
  }
}
