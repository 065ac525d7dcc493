import { escapeUrlPart } from "../../base/path-text.js";
import { pathOfMatch, type StreamMatch } from "../../model/stream-events.js";

/** Colours as ripgrep and git use them: parameters of the escape sequence that selects them. */
export const colour = {
  path: "35",
  number: "32",
  match: "1;31",
  commit: "33",
  place: "36",
  added: "32",
  removed: "31",
  heading: "1",
  aside: "2",
  problem: "1;31",
} as const;

export interface Style {
  /** The text in a colour, or unchanged. */
  paint(code: string, text: string): string;
  /** The text as a hyperlink to a page of the daemon, or unchanged. */
  link(path: string, text: string): string;
}

/** `pagesAt` is the address of the pages that hyperlinks lead to; undefined for none. */
export function createStyle(colours: boolean, pagesAt: string | undefined): Style {
  return {
    paint: (code, text) => (colours && text !== "" ? `\u001b[${code}m${text}\u001b[0m` : text),
    link: (path, text) =>
      pagesAt === undefined ? text : `\u001b]8;;${pagesAt}${path}\u001b\\${text}\u001b]8;;\u001b\\`,
  };
}

/** The path of the page of a match: of its file, at a line if one is given, of its commit or of its repository. */
export function findPage(match: StreamMatch, line?: number): string {
  const repository = `/${escapeNames(match.repository ?? "")}`;
  if (match.oid !== undefined) return `${repository}/-/commit/${match.oid}`;
  const at = match.branches?.[0] ? `${repository}@${escapeNames(match.branches[0])}` : repository;
  if (match.path === undefined) return at;
  const kind = match.path.endsWith("/") ? "tree" : "blob";
  return `${at}/-/${kind}/${escapeNames(pathOfMatch(match))}${line === undefined ? "" : `?L${line}`}`;
}

/** What remains are characters that may stand in a URL, so that nothing can end the escape sequence. */
function escapeNames(names: string): string {
  return names.split("/").map(escapeUrlPart).join("/");
}
