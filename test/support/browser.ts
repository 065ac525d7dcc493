/** Pages in a real browser: Debian's chromium without its windows, in front of a daemon with real repositories. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import type { Test } from "tap";
import { shared } from "./shared.js";
import { until, waitMsMax } from "./waiting.js";

/** Debian's own: the one that is built without windows takes three quarters of the other one's processor time. */
const debianPaths = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"];

/** A path in `TRAWL_CHROMIUM` takes precedence. */
const browserPath = process.env["TRAWL_CHROMIUM"] ?? debianPaths.find((path) => existsSync(path)) ?? debianPaths[0];

const hasBrowser = existsSync(browserPath);

/** For `t.test`: false, or why the test is skipped. */
export const withoutBrowser: string | false = hasBrowser
  ? false
  : `${browserPath} is missing: install the Debian package chromium-headless-shell, or set TRAWL_CHROMIUM`;

/**
 * What the browser goes without. The first three are pages of its own for the address bar, which nobody sees: they take half of
 * the processor time of a new window. The next one is a process that waits for another page. The others are what Playwright
 * switches off by default, which this replaces.
 */
const disabledFeatures = [
  "WebUIOmniboxPopup",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxFullPopup",
  "SpareRendererForSitePerProcess",
  "AimEnabled",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
];

/** The browser of all test files in the process. Each page has a session of its own. */
export const testBrowser = shared(async (owner): Promise<Browser> => {
  const browser = await chromium.launch({
    executablePath: browserPath,
    args: [
      "--no-sandbox",
      "--disable-dev-shm-usage",
      // Without it a process that draws on no graphics card runs beside each browser.
      "--disable-gpu",
      "--disable-software-rasterizer",
      // No page lives long enough to gain by optimized code.
      "--js-flags=--expose-gc --no-opt --no-maglev --always-sparkplug",
      "--enable-precise-memory-info",
      // Beside a load, a page that waits would draw frames for most of the processor time of its test.
      "--force-prefers-reduced-motion",
      `--disable-features=${disabledFeatures.join(",")}`,
    ],
  });
  owner.teardown(() => browser.close());
  return browser;
});

export interface PageOptions extends BrowserContextOptions {
  /** Messages on the console that the test provokes. */
  readonly allowed?: readonly RegExp[];
  /** A script that runs in the page before its own. */
  readonly init?: string;
  /** Whether the test has a tab of its own. */
  readonly isAlone?: boolean;
}

/** What can be set for each use of a tab. */
const settable: ReadonlySet<string> = new Set(["allowed", "colorScheme", "storageState", "viewport"]);

/** A tab of each browser that the next test may use: it shows a text of the server, and has nothing of the last test. */
const idle = new WeakMap<Browser, Page>();

/**
 * Calls `use` with a page without cookies or other traces of earlier ones. The test fails if there was an error or a warning on
 * the console, an exception that nothing caught, or a request to another host.
 *
 * Tests share a tab, since a new one starts a process and compiles the scripts again: half of the processor time of a page.
 * Those with other options than colours, size and cookies have one of their own.
 */
export async function withPage(t: Test, browser: Browser, url: string, options: PageOptions, use: Use): Promise<void> {
  const isShared = Object.keys(options).every((name) => settable.has(name)) && typeof options.storageState !== "string";
  const page = (isShared ? takeIdle(browser) : undefined) ?? (await newTab(browser, isShared ? {} : options));
  let isReusable = false;
  try {
    if (isShared) await prepare(page, options);
    await usePage(t, page, url, options, use);
    isReusable = isShared;
  } finally {
    if (isReusable && (await clean(page, url))) idle.set(browser, page);
    else await page.context().close();
  }
}

type Use = (page: Page) => Promise<void>;

function takeIdle(browser: Browser): Page | undefined {
  const page = idle.get(browser);
  idle.delete(browser);
  return page;
}

async function newTab(browser: Browser, { init, isAlone: _, allowed: __, ...options }: PageOptions): Promise<Page> {
  const context = await browser.newContext({ viewport: defaultSize, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMsMax);
  if (init !== undefined) await page.addInitScript(init);
  return page;
}

const defaultSize = { width: 1280, height: 800 };

async function prepare(page: Page, { viewport, colorScheme, storageState }: PageOptions): Promise<void> {
  await page.setViewportSize(viewport ?? defaultSize);
  await page.emulateMedia({ colorScheme: colorScheme ?? "light" });
  if (typeof storageState === "object") await page.context().addCookies(storageState.cookies);
}

async function usePage(t: Test, page: Page, url: string, { allowed = [] }: PageOptions, use: Use): Promise<void> {
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`exception: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== "blob:" && origin !== new URL(url).origin) faults.push(`request to ${request.url()}`);
  });
  await page.goto(url);
  try {
    await use(page);
  } catch (error) {
    // What it waited for in vain is clear, and what was there instead is not.
    const text = await page.innerText("body", { timeout: 5_000 }).catch(String);
    t.comment(`${page.url()} showed: ${text.slice(0, 4_000)}`);
    throw error;
  }
  // What the page has said before is here when it has answered, unless it is being left.
  await page.evaluate("0").catch(() => undefined);
  for (const event of ["console", "pageerror", "request", "response"] as const) page.removeAllListeners(event);
  t.same(
    faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault))),
    [],
    "no console error, no exception and no request to another host",
  );
}

/**
 * Disconnects the page, and waits until it is. It must have a tab of its own: a tab that was used before sometimes stays connected. The page may log
 * failures.
 */
export async function goOffline(page: Page): Promise<void> {
  await page.context().setOffline(true);
  await until("requests fail", () =>
    page.evaluate<boolean>("fetch('/healthz', { cache: 'no-store' }).then(() => false, () => true)"),
  );
}

/** Removes all that a test may have left in the tab. Returns false if the server does not answer, so that something stays. */
async function clean(page: Page, url: string): Promise<boolean> {
  const context = page.context();
  try {
    for (const other of context.pages()) if (other !== page) await other.close();
    await page.unrouteAll({ behavior: "ignoreErrors" });
    await context.clearCookies();
    await page.goto(new URL("/healthz", url).href);
    const session = await context.newCDPSession(page);
    await session.send("Storage.clearDataForOrigin", { origin: new URL(url).origin, storageTypes: "all" });
    await session.detach();
    await page.mouse.move(0, 0);
    return true;
  } catch {
    return false;
  }
}

/** For `PageOptions.init`: the clock of the page differs by this from that of the server. */
export function shiftedClock(shiftMs: number): string {
  return `{
    const RealDate = Date;
    globalThis.Date = class extends RealDate {
      constructor(...given) { given.length > 0 ? super(...given) : super(RealDate.now() + ${shiftMs}); }
      static now() { return RealDate.now() + ${shiftMs}; }
    };
  }`;
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/**
 * Whether a text can be read on its background takes axe more time than all its other rules together, and most lines of a file
 * look alike: it is asked about the first three elements of each look, which is the colours, sizes and backgrounds of the
 * element and of all those around it. A look whose first hundred elements have no text of their own is not one of text.
 */
const onceOfEachLook = `{
  const rule = axe._audit.rules.find(({ id }) => id === "color-contrast");
  const isAsked = rule.matches;
  let looks, counts;
  const lookAt = (element) => {
    if (element === null) return "";
    let look = looks.get(element);
    if (look === undefined) {
      const style = getComputedStyle(element);
      const own = [style.color, style.backgroundColor, style.backgroundImage, style.opacity, style.fontSize, style.fontWeight];
      look = [...own, style.textShadow, style.position, style.zIndex, lookAt(element.parentElement)].join();
      looks.set(element, look);
    }
    return look;
  };
  rule.matches = (element, ...rest) => {
    const look = lookAt(element);
    const { asked = 0, others = 0 } = counts.get(look) ?? {};
    if (asked === 3 || others === 100) return false;
    const isNow = isAsked(element, ...rest);
    counts.set(look, isNow ? { asked: asked + 1, others } : { asked, others: others + 1 });
    return isNow;
  };
  globalThis.findViolations = async () => {
    looks = new Map();
    counts = new Map();
    // Elements without a fault are not described, which takes longer than to find those with one. The style sheets are not
    // parsed for a rule that is not on.
    return (await axe.run({ resultTypes: ["violations"], preload: { assets: ["media"] } })).violations;
  };
}`;

interface AxeViolation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Violations of the rules for accessible pages that axe-core finds as lines of text. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  // Each page has a heading, but the tree beside a file may be there before it.
  await page.locator("h1").first().waitFor({ state: "attached" });
  // Once in each document: it is half a megabyte.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(`${axeSource};${onceOfEachLook}`);
  const found = await page.evaluate<readonly AxeViolation[]>("findViolations()");
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary = "" }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
