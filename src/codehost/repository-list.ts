import { errorMessage, TrawlError } from "../base/errors.js";
import { absoluteUrl, nameOfUrl } from "../base/repository-url.js";

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
  return text.split("\n").flatMap((line, at) => {
    const trimmed = line.trim();
    if (trimmed === "" || trimmed.startsWith("#")) return [];
    if (trimmed.startsWith("{")) return [parseItem(trimmed, `${file}:${at + 1}`, folder)];
    const words = trimmed.split(/\s+/);
    if (words.length > 2)
      throw new TrawlError("bad-request", `${file}:${at + 1}: write NAME URL, a URL, or a JSON object`);
    const url = absoluteUrl(words.at(-1) ?? "", folder);
    return [{ name: words.length === 2 ? words[0] : nameOfUrl(url), url }];
  });
}

function parseItem(text: string, where: string, folder: string): ListedItem {
  let item: ListedItem;
  try {
    item = JSON.parse(text) as typeof item;
  } catch (error) {
    throw new TrawlError("bad-request", `${where}: not JSON: ${errorMessage(error)}`);
  }
  const url = typeof item.url === "string" ? absoluteUrl(item.url, folder) : item.url;
  return { ...(typeof url === "string" ? { name: nameOfUrl(url) } : {}), ...item, url };
}
