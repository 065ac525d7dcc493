/**
 * Which web pages may use the session cookie: our own, and those of origins that the configuration trusts. A browser
 * sends the origin of a page in a header that the page cannot set.
 */
export class Origins {
  readonly #trusted: ReadonlySet<string>;

  /** `trusted` contains origins as browsers send them: `https://host`, with a port unless it is the default. */
  constructor(externalUrl: string, trusted: readonly string[]) {
    this.#trusted = new Set([externalUrl, ...trusted].map(parseOrigin).filter((origin) => origin !== undefined));
  }

  /** `host` is that of the request: a page from there is one of ours. */
  trusts(origin: string, host: string | undefined): boolean {
    return (
      this.#trusted.has(origin) || (host !== undefined && (origin === `http://${host}` || origin === `https://${host}`))
    );
  }
}

/** Undefined if the URL has no origin. */
function parseOrigin(url: string): string | undefined {
  const origin = URL.canParse(url) ? new URL(url).origin : "null";
  return origin === "null" ? undefined : origin;
}
