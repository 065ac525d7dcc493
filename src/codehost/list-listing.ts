import { readFile, stat } from "node:fs/promises";
import { errorMessage, TrawlError } from "../base/errors.js";
import {
  type ConnectionConfig,
  type ListedRepository,
  type Listing,
  plainRepository,
  wholeListing,
} from "./connection.js";
import { readUrl } from "./host-request.js";
import { type ListedItem, parseRepositoryList } from "./repository-list.js";

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
  const items = parseRepositoryList(text, url, "/");
  if (items.length > maxRepositories)
    throw new TrawlError("bad-config", `${url} has more than ${maxRepositories} lines: raise maxRepositories`);
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
