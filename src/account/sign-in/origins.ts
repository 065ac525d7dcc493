/**
 * Which web pages may act with the cookie of whoever looks at them: our own, and those of origins that the
 * configuration trusts. A browser says where a page is from in a header that the page cannot set.
 */
export class Origins {
  readonly #trusted: ReadonlySet<string>;

  /** Origins as browsers write them, in `trusted`: `https://host`, with a port that is not the usual one. */
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

/** Undefined for what has none. */
function parseOrigin(url: string): string | undefined {
  const origin = URL.canParse(url) ? new URL(url).origin : "null";
  return origin === "null" ? undefined : origin;
}
