import { errorMessage, TrawlError } from "../base/errors.js";
import { apiKinds } from "./api-kinds.js";
import type { ApiConnection, ListedRepository, Listing } from "./connection.js";
import type { ApiKind, ItemPlace } from "./hosts/api-kind.js";
import type { HostItem, HostPage } from "./hosts/pages.js";
import { type HostResponse, readUrl } from "./host-request.js";

/** A list that changes while its pages are read is read again, so many times in all. */
const readsMax = 3;

/** A host may leave out what the token may not see after it has cut the list into pages, up to so many whole pages. */
const emptyPagesMax = 20;

/**
 * Lists the repositories of a host through its API, page by page. Throws if any page cannot be read.
 *
 * A page that is shorter than requested is not the last one: hosts cap pages. The pages end where the host says that there is no
 * next one or, if it does not tell, with a page that has nothing new. If the host tells a total, and it changes while pages
 * are read, a repository may have moved to a page that was read already, and all are read again. With fewer repositories
 * than the total, the list is not whole.
 */
export async function listHost(config: ApiConnection, token: string, signal: AbortSignal): Promise<Listing> {
  const kind = apiKinds[config.kind];
  const reader = new PageReader(config, kind, token, signal);
  const listed = new Map<string, ListedRepository>();
  const problems: string[] = [];
  const owners =
    config.owners.length === 0 ? [[kind.ownPath ?? ""]] : config.owners.map((owner) => kind.ownerPaths(owner));
  for (const paths of owners) {
    const { items, problem } = await reader.readFirst(paths);
    for (const item of items) {
      const repository = kind.read(item, reader.place);
      if (repository !== undefined) listed.set(repository.name, repository);
    }
    if (problem !== "") problems.push(problem);
  }
  return { repositories: [...listed.values()], problems, mayHave: () => problems.length > 0 };
}

/** The repositories of one owner. */
interface Pages {
  readonly items: readonly HostItem[];
  /** Why it may lack some; "" if it does not. */
  readonly problem: string;
  /** Whether the pages belong to the same state of the list. */
  readonly isSteady: boolean;
}

class PageReader {
  readonly place: ItemPlace;
  readonly #config: ApiConnection;
  readonly #kind: ApiKind;
  readonly #token: string;
  readonly #signal: AbortSignal;
  /** Of the owners that have been read. */
  #count = 0;

  constructor(config: ApiConnection, kind: ApiKind, token: string, signal: AbortSignal) {
    this.#config = config;
    this.#kind = kind;
    this.#token = token;
    this.#signal = signal;
    const hasToken = token !== "";
    this.place = { apiUrl: kind.apiUrl(new URL(config.url), hasToken), hasToken };
  }

  /** All pages of the first path that the host knows. */
  async readFirst([path = "", ...others]: readonly string[]): Promise<Pages> {
    try {
      return await this.#readSteady(path);
    } catch (error) {
      if (!(error instanceof TrawlError) || error.code !== "not-found") throw this.#withHint(error);
      if (others.length === 0) throw this.#withHint(error);
      return await this.readFirst(others);
    }
  }

  /** The site of GitHub Enterprise Server answers with pages for people, or leads to them. */
  #withHint(error: unknown): unknown {
    const { hostname, pathname, origin } = new URL(this.#config.url);
    const mayBeSite = this.#config.kind === "github" && pathname === "/" && !hostname.startsWith("api.");
    const isAnswer =
      error instanceof TrawlError && /answered 404|sent no JSON|sent no list|redirects to/.test(error.message);
    if (!mayBeSite || !isAnswer || hostname === "github.com") return error;
    return new TrawlError(error.code, `${error.message}; if this is GitHub Enterprise Server, use ${origin}/api/v3`);
  }

  async #readSteady(path: string): Promise<Pages> {
    for (let attempt = 1; ; attempt++) {
      const pages = await this.#readAll(path);
      if (!pages.isSteady && attempt < readsMax) continue;
      this.#count += pages.items.length;
      return pages;
    }
  }

  async #readAll(path: string): Promise<Pages> {
    const url = new URL(path, this.place.apiUrl);
    setParameters(url, this.#kind.pages.first);
    const found = new FoundItems();
    const totals: (number | undefined)[] = [];
    let emptyCount = 0;
    let itemCount = 0;
    for (let number = 1; ; number++) {
      const response = await readUrl(url, this.#kind.headers(this.#token), this.#signal);
      const { items, total, hasNext, next } = this.#parse(response, url, number, itemCount);
      setParameters(url, next);
      itemCount += items.length;
      const newCount = found.add(items);
      this.#requireFew(url, this.#count + found.count);
      totals.push(total);
      emptyCount = items.length === 0 ? emptyCount + 1 : 0;
      const isRepeated = newCount === 0 && items.length > 0;
      if (hasNext === true && !isRepeated && emptyCount <= emptyPagesMax) continue;
      if (hasNext === undefined && newCount > 0 && !isReached(totals, found.count)) continue;
      const lastTotal = totals.at(-1);
      const isShort = lastTotal !== undefined && found.count < lastTotal;
      const isSteady = totals.every((total) => total === lastTotal) && !(hasNext === true);
      return { items: found.items, isSteady, problem: this.#problem(url, found.count, lastTotal, isShort, isSteady) };
    }
  }

  #parse(response: HostResponse, url: URL, number: number, itemCount: number): HostPage {
    const { pages } = this.#kind;
    const { prologue = "" } = pages;
    const text = response.text.startsWith(prologue) ? response.text.slice(prologue.length) : response.text;
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch (error) {
      throw new TrawlError("git", `${url.origin}${url.pathname} sent no JSON: ${errorMessage(error)}`);
    }
    const page = pages.read(value, response, number, itemCount);
    if (page === undefined) throw new TrawlError("git", `${url.origin}${url.pathname} sent no list`);
    return page;
  }

  #problem(url: URL, count: number, total: number | undefined, isShort: boolean, isSteady: boolean): string {
    const where = `${url.origin}${url.pathname}`;
    if (isShort) return `${where} lists ${count} of ${total} repositories: none is removed`;
    return isSteady ? "" : `the list of ${where} changes while its pages are read: none is removed`;
  }

  #requireFew(url: URL, count: number): void {
    if (count > this.#config.maxRepositories)
      throw new TrawlError(
        "bad-config",
        `${url.host} lists more than ${this.#config.maxRepositories} repositories: raise maxRepositories, or name fewer owners`,
      );
  }
}

/** The items of some pages, each once. */
class FoundItems {
  readonly items: HostItem[] = [];
  readonly #ids = new Set<unknown>();

  get count(): number {
    return this.items.length;
  }

  /** The number of those that were not on an earlier page; what has no id cannot be recognized. */
  add(items: readonly HostItem[]): number {
    const before = this.count;
    for (const item of items) {
      const id = item["id"] ?? item["full_name"] ?? item["path_with_namespace"];
      if (id !== undefined && this.#ids.has(id)) continue;
      this.#ids.add(id);
      this.items.push(item);
    }
    return this.count - before;
  }
}

/** Without `Link`, a total says that a page is the last one, and saves the request that would show it. */
function isReached(totals: readonly (number | undefined)[], count: number): boolean {
  const total = totals.at(-1);
  return total !== undefined && count >= total;
}

function setParameters(url: URL, parameters: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
}
