import { errorMessage, TrawlError } from "../base/errors.js";
import { type ApiKind, apiKinds, type HostItem } from "./api-kinds.js";
import type { ConnectionConfig, ListedRepository } from "./connection.js";
import { type HostResponse, readUrl } from "./host-request.js";

/** Lists the repositories of a host through its API, page by page. Throws if any page cannot be read. */
export async function listHost(
  config: ConnectionConfig & { readonly kind: "github" | "gitlab" | "gitea" },
  token: string,
  signal: AbortSignal,
): Promise<readonly ListedRepository[]> {
  const kind = apiKinds[config.kind];
  const reader = new PageReader(config, kind, token, signal);
  const listed = new Map<string, ListedRepository>();
  const owners = config.owners.length === 0 ? [[kind.ownPath]] : config.owners.map((owner) => kind.ownerPaths(owner));
  for (const paths of owners)
    for (const repository of await reader.readFirst(paths)) listed.set(repository.name, repository);
  return [...listed.values()];
}

class PageReader {
  readonly #config: ConnectionConfig;
  readonly #kind: ApiKind;
  readonly #token: string;
  readonly #signal: AbortSignal;
  #count = 0;

  constructor(config: ConnectionConfig, kind: ApiKind, token: string, signal: AbortSignal) {
    this.#config = config;
    this.#kind = kind;
    this.#token = token;
    this.#signal = signal;
  }

  /** All pages of the first path that the host knows. */
  async readFirst([path = "", ...others]: readonly string[]): Promise<readonly ListedRepository[]> {
    try {
      return await this.#readAll(path);
    } catch (error) {
      if (others.length === 0 || !(error instanceof TrawlError) || error.code !== "not-found") throw error;
      return await this.readFirst(others);
    }
  }

  async #readAll(path: string): Promise<readonly ListedRepository[]> {
    const { pageSize, pageSizeName, base } = this.#kind;
    const url = new URL(base + path, this.#config.url.endsWith("/") ? this.#config.url : `${this.#config.url}/`);
    url.searchParams.set(pageSizeName, String(pageSize));
    const listed: ListedRepository[] = [];
    for (let page = 1; ; page++) {
      url.searchParams.set("page", String(page));
      const response = await readUrl(url, this.#kind.headers(this.#token), this.#signal);
      const items = parsePage(response, url);
      this.#count += items.length;
      if (this.#count > this.#config.maxRepositories)
        throw new TrawlError(
          "bad-config",
          `${url.host} lists more than ${this.#config.maxRepositories} repositories: raise maxRepositories, or name fewer owners`,
        );
      listed.push(...items.map((item) => this.#kind.read(item)));
      if (!hasNext(response, items.length, pageSize)) return listed;
    }
  }
}

function parsePage({ text }: HostResponse, url: URL): readonly HostItem[] {
  let page: unknown;
  try {
    page = JSON.parse(text);
  } catch (error) {
    throw new TrawlError("git", `${url.origin}${url.pathname} sent no JSON: ${errorMessage(error)}`);
  }
  if (!Array.isArray(page)) throw new TrawlError("git", `${url.origin}${url.pathname} sent no list`);
  return page.filter((item) => typeof item === "object" && item !== null) as HostItem[];
}

/**
 * Whether there is another page: by the `Link` header, else if this one is full. An empty page is the last in any case,
 * so a host cannot continue forever; its URLs are not used, because the token would be sent there.
 */
function hasNext({ headers }: HostResponse, count: number, pageSize: number): boolean {
  if (count === 0) return false;
  const { link } = headers;
  return link === undefined ? count >= pageSize : String(link).includes('rel="next"');
}
