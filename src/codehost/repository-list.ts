import { errorMessage, TrawlError } from "../base/errors.js";
import { absoluteUrl, nameOfUrl } from "../base/repository-url.js";
import { withoutByteOrderMark } from "../base/text.js";

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
