/** Pages in a real browser: Debian's chromium without its windows, in front of a daemon with real repositories. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium, type Browser, type BrowserContextOptions, type Page } from "playwright-core";
import type { Test } from "tap";
import { shared } from "./shared.js";
import { waitMsMax } from "./waiting.js";

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
      // No page lives long enough to gain by optimized code.
      "--js-flags=--expose-gc --no-opt",
      "--enable-precise-memory-info",
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
}

/**
 * Calls `use` with a page of a session of its own, and closes it. The test fails if there was an error or a warning on
 * the console, an exception that nothing caught, or a request to another host.
 */
export async function withPage(
  t: Test,
  browser: Browser,
  url: string,
  { allowed = [], init, ...options }: PageOptions,
  use: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(waitMsMax);
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") faults.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => faults.push(`exception: ${error.stack ?? error.message}`));
  page.on("request", (request) => {
    const { protocol, origin } = new URL(request.url());
    if (protocol !== "blob:" && origin !== new URL(url).origin) faults.push(`request to ${request.url()}`);
  });
  if (init !== undefined) await page.addInitScript(init);
  try {
    await page.goto(url);
    await use(page);
  } finally {
    await context.close();
  }
  t.same(
    faults.filter((fault) => !allowed.some((pattern) => pattern.test(fault))),
    [],
    "no console error, no exception and no request to another host",
  );
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

interface AxeViolation {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
}

/** Violations of the rules for accessible pages that axe-core finds as lines of text. */
export async function findViolations(page: Page): Promise<readonly string[]> {
  // Once in each document: it is half a megabyte.
  if (!(await page.evaluate("'axe' in globalThis"))) await page.evaluate(axeSource);
  // Elements without a fault are not described, which takes longer than to find those with one.
  const found = await page.evaluate<readonly AxeViolation[]>(
    'axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations)',
  );
  return found.flatMap(({ id, help, nodes }) =>
    nodes.map(({ html, failureSummary = "" }) => `${id}: ${help}: ${html.slice(0, 200)} ${failureSummary}`),
  );
}
