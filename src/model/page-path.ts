import { escapeUrlPart, unescapeUrlPath } from "../base/path-text.js";
import { trimEndChars } from "../base/text.js";

/** The parts of a repository URL: `/NAME[@REVISION][/-/PAGE[/PATH]]`. */
export interface PagePath {
  readonly name: string;
  /** As typed; "" if there is none, which means the default branch. */
  readonly revision: string;
  /** "" is the repository's own page. */
  readonly page: string;
  /** What follows the page, without trailing slashes: a path as `decodePath` returns it, a commit, two revisions. */
  readonly path: string;
}

const separator = "/-/";

/**
 * Parses the path of a URL. Names contain no `@`, and neither names nor revisions have a component that is a single
 * `-`, so the first occurrence of each is the separator. Undefined for invalid percent-encoding and for a zero byte,
 * which no name in git contains.
 */
export function readPagePath(urlPath: string): PagePath | undefined {
  const text = unescapeUrlPath(urlPath);
  if (text === undefined || text.includes("\0")) return undefined;
  const [front, ...rest] = `${text.slice(1)}/`.split(separator);
  const [page = "", ...path] = rest.join(separator).split("/");
  const repository = trimEndChars(front, "/");
  const at = repository.indexOf("@");
  return {
    name: at < 0 ? repository : repository.slice(0, at),
    revision: at < 0 ? "" : repository.slice(at + 1),
    page,
    path: trimEndChars(path.join("/"), "/"),
  };
}

type RevisionOfPage = Pick<PagePath, "name" | "revision">;

/** `/NAME[@REVISION]`. */
export function repositoryUrl({ name, revision }: RevisionOfPage): string {
  return `/${escapePath(name)}${revision === "" ? "" : `@${escapePath(revision)}`}`;
}

/** A page of a repository; an empty path is the page of the whole repository. */
export function pageUrl(place: RevisionOfPage, page: string, path = ""): string {
  return `${repositoryUrl(place)}/-/${page}${path === "" ? "" : `/${escapePath(path)}`}`;
}

function escapePath(path: string): string {
  return path.split("/").map(escapeUrlPart).join("/");
}

/** Larger files have no page: the daemon reads no larger text at once. */
export const pageTextBytesMax = 8 << 20;

/**
 * The address from which the page of a file reads its text. The document of the page preloads the same address, so the
 * browser fetches the text only once.
 */
export function pageTextUrl(place: Omit<PagePath, "page">): string {
  return `${pageUrl(place, "raw", place.path)}?maxBytes=${pageTextBytesMax}`;
}

/** The address of an image or a document as the browser shows it. */
export function mediaUrl(place: Omit<PagePath, "page">): string {
  return `${pageUrl(place, "raw", place.path)}?as=media`;
}

/** The address of the same text where those bytes are not UTF-8, or may be another text than they look like. */
export function decodedTextUrl(place: Omit<PagePath, "page">): string {
  return `${pageTextUrl(place)}&as=text`;
}
