import { isObject } from "../base/is-object.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { ApiKind, ItemPlace } from "./hosts/api-kind.js";
import type { HostItem, HostPage } from "./hosts/pages.js";
import { HostError, type HostResponse, readUrl } from "./host-request.js";

/** What requests to a host are authorized with. */
export interface HostToken {
  /** Without one, hosts list only what everybody may read. */
  readonly isGiven: boolean;
  /** "" if none is given. Rejects if there should be one, and cannot be had. */
  current(): Promise<string>;
  /** Another one, after the host has refused this one; undefined if there is none. */
  replace(refused: string): Promise<string | undefined>;
}

/** A token that the operator has written; "" for none. */
export function fixedToken(token: string): HostToken {
  return {
    isGiven: token !== "",
    current: () => Promise.resolve(token),
    replace: () => Promise.resolve(undefined),
  };
}

/** A list that changes while its pages are read is read again, so many times in all. */
const readsMax = 3;

/** A host may leave out what the token may not see after it has cut the list into pages, up to so many whole pages. */
const emptyPagesMax = 20;

/** A list of a host. */
export interface Pages {
  readonly items: readonly HostItem[];
  /** Why it may lack some; "" if it does not. */
  readonly problem: string;
  /** Whether the pages belong to the same state of the list. */
  readonly isSteady: boolean;
}

/** What is read, and with what. */
export interface PageSource {
  readonly kind: ApiKind;
  /** Of the host or its API. */
  readonly url: string;
  readonly token: HostToken;
  readonly signal: AbortSignal;
  /** What the lists have, for messages. */
  readonly noun: "repositories" | "users" | "installations";
  /** In all lists together. */
  readonly countMax: number;
  /** What can be done about a longer list: the end of a sentence. */
  readonly remedy: string;
}

/** Reads lists of a host page by page, within limits: see `listHost`. */
export class PageReader {
  readonly place: ItemPlace;
  readonly #source: PageSource;
  /** Of the lists that have been read. */
  #count = 0;
  #isReplaced = false;

  constructor(source: PageSource) {
    const hasToken = source.token.isGiven;
    this.#source = source;
    this.place = { apiUrl: source.kind.apiUrl(new URL(source.url), hasToken), hasToken };
  }

  /** The whole list at a path below the API. Rejects if a page cannot be read. */
  async read(path: string): Promise<Pages> {
    for (let attempt = 1; ; attempt++) {
      const pages = await this.#readAll(path);
      if (!pages.isSteady && attempt < readsMax) continue;
      this.#count += pages.items.length;
      return pages;
    }
  }

  /** The object at a path below the API. */
  async readObject(path: string): Promise<HostItem> {
    const url = new URL(path, this.place.apiUrl);
    const value = this.#parseJson(await this.#request(url), url);
    if (isObject(value)) return value;
    throw new TrawlError("git", `${url.origin}${url.pathname} sent no object`);
  }

  /** A token that is refused is replaced once, if it can be: it may have been revoked while the list was read. */
  async #request(url: URL): Promise<HostResponse> {
    const { kind, token, signal } = this.#source;
    const used = await token.current();
    try {
      return await readUrl(url, kind.headers(used), signal);
    } catch (error) {
      if (!(error instanceof HostError && error.status === 401) || this.#isReplaced) throw error;
      this.#isReplaced = true;
      const other = await token.replace(used);
      if (other === undefined) throw error;
      return await readUrl(url, kind.headers(other), signal);
    }
  }

  async #readAll(path: string): Promise<Pages> {
    const url = new URL(path, this.place.apiUrl);
    setParameters(url, this.#source.kind.pages.first);
    const found = new FoundItems();
    const totals: (number | undefined)[] = [];
    let emptyCount = 0;
    let itemCount = 0;
    for (let number = 1; ; number++) {
      const response = await this.#request(url);
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
    const page = this.#source.kind.pages.read(this.#parseJson(response, url), response, number, itemCount);
    if (page === undefined) throw new TrawlError("git", `${url.origin}${url.pathname} sent no list`);
    return page;
  }

  #parseJson(response: HostResponse, url: URL): unknown {
    const { prologue = "" } = this.#source.kind.pages;
    const text = response.text.startsWith(prologue) ? response.text.slice(prologue.length) : response.text;
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw new TrawlError("git", `${url.origin}${url.pathname} sent no JSON: ${errorMessage(error)}`);
    }
  }

  #problem(url: URL, count: number, total: number | undefined, isShort: boolean, isSteady: boolean): string {
    const where = `${url.origin}${url.pathname}`;
    if (isShort) return `${where} lists ${count} of ${total} ${this.#source.noun}: none is removed`;
    return isSteady ? "" : `the list of ${where} changes while its pages are read: none is removed`;
  }

  #requireFew(url: URL, count: number): void {
    const { countMax, noun, remedy } = this.#source;
    if (count > countMax)
      throw new TrawlError("bad-config", `${url.host} lists more than ${countMax} ${noun}${remedy}`);
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
