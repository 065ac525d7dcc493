/** A daemon and a browser for the tests of the web pages, with people who can sign in. */
import { writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import type { Test } from "tap";
import { TrawlError } from "../../src/base/errors.js";
import { testBrowser, withPage, type PageOptions } from "./browser.js";
import { testDaemon, type DaemonProcess } from "./daemon.js";

type Session = Exclude<BrowserContextOptions["storageState"], string | undefined>;

const password = "correct horse battery";

export class WebSite {
  readonly browser: Browser;
  readonly #configuration: string;
  #daemon: DaemonProcess;
  readonly #sessions = new Map<string, Session>();

  private constructor(daemon: DaemonProcess, browser: Browser, configuration: string) {
    this.#daemon = daemon;
    this.browser = browser;
    this.#configuration = configuration;
  }

  get daemon(): DaemonProcess {
    return this.#daemon;
  }

  /** Starts a daemon with this configuration, the site admin `root` and the user `ann`. */
  static async start(t: Test, config: object = {}): Promise<WebSite> {
    const file = join(t.testdir(), "trawl.jsonc");
    writeFileSync(file, JSON.stringify(config));
    // Outside the ports from which the system chooses, so that the daemon gets it again when it starts again.
    const listen = `127.0.0.1:${await freePort(10_000, 30_000)}`;
    const [daemon, browser] = await Promise.all([
      testDaemon(t, ["--config", file, "--listen", listen]),
      testBrowser(t),
    ]);
    const site = new WebSite(daemon, browser, file);
    await site.addUser("root", true);
    await site.addUser("ann", false);
    return site;
  }

  async addUser(name: string, isSiteAdmin: boolean): Promise<void> {
    await this.daemon.control("POST", "/.api/users", { name, isSiteAdmin, password });
  }

  async stop(): Promise<void> {
    await this.#daemon.stop();
  }

  /** Starts the daemon again after a stop, with the same data and address. */
  async startAgain(t: Test): Promise<void> {
    const { host } = new URL(this.#daemon.url);
    this.#daemon = await testDaemon(t, ["--config", this.#configuration, "--listen", host], this.#daemon.data);
  }

  /** A new access token of a user. */
  async token(user: string): Promise<string> {
    const body = { user, scopes: ["user:all"], note: "", expires: "1d" };
    return ((await this.daemon.control("POST", "/.api/tokens", body)) as { readonly text: string }).text;
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
