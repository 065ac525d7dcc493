import { errorMessage, TrawlError } from "../base/errors.js";
import { absoluteUrl, nameOfUrl } from "../base/repository-url.js";
import { withoutByteOrderMark } from "../base/text.js";
import { readFile, stat } from "node:fs/promises";
import {
  type ConnectionConfig,
  type ListedRepository,
  type Listing,
  plainRepository,
  wholeListing,
} from "./connection.js";
import { readUrl } from "./host-request.js";

/** A line of a list; not checked yet. */
export interface ListedItem {
  readonly name?: unknown;
  readonly url?: unknown;
  readonly [attribute: string]: unknown;
}

/**
 * One repository per line: `NAME URL`, `URL`, from which a name is derived, or a JSON object with the fields of the
 * configuration. Relative paths are below `folder`. Empty lines and those that begin with `#` are ignored.
 */
export function parseRepositoryList(text: string, file: string, folder: string): readonly ListedItem[] {
  return withoutByteOrderMark(text)
    .split("\n")
    .flatMap((line, at) => {
      const trimmed = line.trim();
      if (trimmed === "" || trimmed.startsWith("#")) return [];
      const where = `${file}:${at + 1}`;
      if (trimmed.startsWith("{")) return [parseItem(trimmed, where, folder)];
      const words = trimmed.split(/\s+/);
      if (words.length > 2) throw new TrawlError("bad-request", `${where}: write NAME URL, a URL, or a JSON object`);
      const url = locate(words.at(-1) ?? "", where, folder);
      return [{ name: words.length === 2 ? words[0] : nameOfUrl(url), url }];
    });
}

function locate(url: string, where: string, folder: string): string {
  try {
    return absoluteUrl(url, folder);
  } catch (error) {
    throw new TrawlError("bad-request", `${where}: ${errorMessage(error)}`);
  }
}

function parseItem(text: string, where: string, folder: string): ListedItem {
  let item: ListedItem;
  try {
    item = JSON.parse(text) as typeof item;
  } catch (error) {
    throw new TrawlError("bad-request", `${where}: not JSON: ${errorMessage(error)}`);
  }
  const url = typeof item.url === "string" ? locate(item.url, where, folder) : item.url;
  return { ...(typeof url === "string" ? { name: nameOfUrl(url) } : {}), ...item, url };
}

const listBytesMax = 16 * 1024 * 1024;

/** Reads a list of git URLs from a file or a web page: `NAME URL` or `URL` per line. */
export async function listUrls(
  { url, maxRepositories }: ConnectionConfig,
  token: string,
  signal: AbortSignal,
): Promise<Listing> {
  const text = /^https?:/.test(url)
    ? (await readUrl(new URL(url), token === "" ? {} : { Authorization: `Bearer ${token}` }, signal)).text
    : await readList(url);
  return toListing(text, url, maxRepositories);
}

/** The repositories in the text of a list. `place` names it in messages. */
export function toListing(text: string, place: string, maxRepositories: number): Listing {
  const items = parseRepositoryList(text, place, "/");
  if (items.length > maxRepositories)
    throw new TrawlError("bad-config", `${place} has more than ${maxRepositories} lines: raise maxRepositories`);
  return wholeListing(
    items.map((item) => ({ ...plainRepository(String(item.name), String(item.url)), ...readAttributes(item) })),
  );
}

/** The attributes that an item in JSON may have. Whatever is not plainly false is private, such as `"yes"`. */
function readAttributes(item: ListedItem): Partial<ListedRepository> {
  const isPrivate = item["private"] !== undefined && item["private"] !== false;
  return { fork: item["fork"] === true, archived: item["archived"] === true, private: isPrivate };
}

async function readList(path: string): Promise<string> {
  try {
    if ((await stat(path)).size > listBytesMax)
      throw new TrawlError("bad-config", `it is larger than ${listBytesMax} bytes`);
    return await readFile(path, "utf8");
  } catch (error) {
    throw new TrawlError("bad-config", `the list ${path} cannot be read: ${errorMessage(error)}`);
  }
}
