/** The daemon and the browser of all tests of the web pages, with people who can sign in. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { Test } from "tap";
import { TrawlError } from "../../src/base/errors.js";
import { testBrowser, withPage, type PageOptions } from "./browser.js";
import { dataDirectory, testDaemon, type DaemonProcess, withSymbols } from "./daemon.js";
import { removeFolder } from "./remove-folder.js";
import { clearDaemon, type Configuration } from "./shared-daemon.js";
import { shared, type Owner } from "./shared.js";

type Session = Exclude<BrowserContextOptions["storageState"], string | undefined>;

const password = "correct horse battery";

/** For all files: whatever one of them needs harms no other. */
const configuration = {
  auth: { public: true, allowSignup: true },
  git: { networks: ["127.0.0.0/8"] },
  notifications: { origins: ["http://127.0.0.1:9"] },
};

/** The site admin, who stays. */
const root = "root";

export class WebSite {
  readonly browser: Browser;
  readonly #args: readonly string[];
  readonly #file: string;
  #isConfigured = false;
  readonly #owner: Owner;
  #daemon: DaemonProcess;
  readonly #sessions = new Map<string, Session>();

  private constructor(daemon: DaemonProcess, browser: Browser, args: readonly string[], file: string, owner: Owner) {
    this.#daemon = daemon;
    this.#file = file;
    this.browser = browser;
    this.#args = args;
    this.#owner = owner;
  }

  get daemon(): DaemonProcess {
    return this.#daemon;
  }

  static readonly #shared = shared(async (owner) => {
    const folder = mkdtempSync(join(tmpdir(), "trawl-"));
    owner.teardown(() => removeFolder(folder));
    const file = join(folder, "trawl.jsonc");
    writeFileSync(file, JSON.stringify(configuration));
    // Outside the ports from which the system chooses, so that the daemon gets it again when it starts again.
    const args = [...withSymbols, "--config", file, "--listen", `127.0.0.1:${await freePort(10_000, 30_000)}`];
    const [daemon, browser] = await Promise.all([testDaemon(owner, args, dataDirectory(owner)), testBrowser()]);
    const site = new WebSite(daemon, browser, args, file, owner);
    await site.addUser(root, true);
    return site;
  });

  /**
   * The daemon, as if it had just started: with the site admin `root`, the user `ann`, and no repository. What the test adds
   * is removed at its end.
   */
  static async start(t: Test): Promise<WebSite> {
    const site = await WebSite.#shared();
    t.teardown(() => site.#clear());
    await site.addUser("ann", false);
    return site;
  }

  /** Adds lists to the configuration, until the end of the test. */
  async configure(lists: Configuration): Promise<void> {
    this.#isConfigured = Object.keys(lists).length > 0;
    writeFileSync(this.#file, JSON.stringify({ ...configuration, ...lists }));
    await this.daemon.control("POST", "/.api/reload", { mayRemoveMost: true });
  }

  async #clear(): Promise<void> {
    if (this.#isConfigured) await this.configure({});
    await clearDaemon(this.daemon, { name: root, password });
    this.#sessions.clear();
  }

  async addUser(name: string, isSiteAdmin: boolean): Promise<void> {
    await this.daemon.control("POST", "/.api/users", { name, isSiteAdmin, password });
  }

  async stop(): Promise<void> {
    await this.#daemon.stop();
  }

  /** Starts the daemon again after a stop, with the same data and address. */
  async startAgain(): Promise<void> {
    this.#daemon = await testDaemon(this.#owner, this.#args, this.#daemon.data);
  }

  token(user: string): Promise<string> {
    return this.daemon.addToken(user);
  }

  /** Calls `use` with a page that is signed in as this user, "" for nobody. All pages of a user share a session. */
  async page(
    t: Test,
    user: string,
    path: string,
    options: PageOptions,
    use: (page: Page) => Promise<void>,
  ): Promise<void> {
    const state = user === "" ? {} : { storageState: await this.#session(user) };
    await withPage(t, this.browser, `${this.daemon.url}${path}`, { ...state, ...options }, use);
  }

  async #session(user: string): Promise<Session> {
    const known = this.#sessions.get(user);
    if (known !== undefined) return known;
    const response = await fetch(`${this.daemon.url}/-/sign-in`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ email: user, password }),
    });
    const [, name, value] = /^([^=]+)=([^;]*)/.exec(response.headers.getSetCookie()[0] ?? "") ?? [];
    if (name === undefined || value === undefined)
      throw new TrawlError("internal", `${user} cannot sign in: ${response.status} ${await response.text()}`);
    const cookie = { name, value, domain: "127.0.0.1", path: "/", expires: -1, httpOnly: true, secure: false };
    const session: Session = { cookies: [{ ...cookie, sameSite: "Lax" }], origins: [] };
    this.#sessions.set(user, session);
    return session;
  }
}

/** A port of a range on which nothing listens, chosen at random. */
async function freePort(from: number, to: number): Promise<number> {
  for (;;) {
    const port = from + Math.floor(Math.random() * (to - from));
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    await new Promise<void>((resolve) => server.close(() => resolve()));
    if (isFree) return port;
  }
}

/** The widths and colours in which a page is looked at. */
export const looks: readonly PageOptions[] = [
  { colorScheme: "light", viewport: { width: 1280, height: 800 } },
  { colorScheme: "dark", viewport: { width: 375, height: 700 } },
];
