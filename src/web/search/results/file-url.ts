import { escapeUrlPart } from "../../../base/path-text.js";
import { pathOfMatch, type StreamMatch } from "../../../model/stream-events.js";

function escapePath(path: string): string {
  return path.split("/").map(escapeUrlPart).join("/");
}

/** The page of a repository at the revision that the query named. */
export function repositoryUrl({ repository = "", branches }: StreamMatch): string {
  const [revision = ""] = branches ?? [];
  return `/${escapePath(repository)}${revision === "" ? "" : `@${escapePath(revision)}`}`;
}

/** The page of a file, or of a directory, whose path ends with a slash. */
export function fileUrl(match: StreamMatch): string {
  const path = pathOfMatch(match);
  const page = path.endsWith("/") ? "tree" : "blob";
  return `${repositoryUrl(match)}/-/${page}/${escapePath(path)}`;
}

/** A URL of the daemon, if it is one of this site: a match comes from a stream, and a link must not leave the site. */
export function ownUrl(url: string): string {
  return url.startsWith("/") && !url.startsWith("//") && !url.startsWith("/\\") ? url : "#";
}
