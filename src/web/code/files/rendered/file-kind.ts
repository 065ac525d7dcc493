import { mediaType } from "../../../../model/media-type.js";
import { blameSwitch, hasSwitch, type LineRange, readLineRange, withLineRange, withSwitch } from "../line-range.js";

/** Files that can be shown as something else than their text. */
export type FileKind = "image" | "markdown" | "notebook" | "pdf" | "svg" | "table";

/** How a file is shown, by its name; undefined for one that is only text. */
export function fileKind(path: string): FileKind | undefined {
  const type = mediaType(path);
  if (type === "image/svg+xml") return "svg";
  if (type === "application/pdf") return "pdf";
  if (type !== undefined) return "image";
  if (/\.(?:md|markdown|mkd)$/i.test(path)) return "markdown";
  if (/\.ipynb$/i.test(path)) return "notebook";
  return /\.(?:csv|tsv)$/i.test(path) ? "table" : undefined;
}

/** What is in the address of a source; those of lines and of blame name it as well. */
const sourceSwitch = "view=code";

/** Whether the address asks for what a file looks like: it does unless it names the source, or something of it. */
export function asksForRendered(url: URL): boolean {
  return !hasSwitch(url, sourceSwitch) && !hasSwitch(url, blameSwitch) && readLineRange(url) === undefined;
}

/** The same file as it looks, or its source. */
export function addressOfView(url: URL, isRendered: boolean): string {
  const plain = new URL(withLineRange(url, undefined), url);
  const named = new URL(withSwitch(plain, sourceSwitch, !isRendered), url);
  return isRendered ? withSwitch(named, blameSwitch, false) : named.pathname + named.search;
}

/** The source with these lines selected: of a file that is shown otherwise, it stays the source when none are. */
export function addressOfLines(url: URL, path: string, range: LineRange | undefined): string {
  const chosen = withLineRange(url, range);
  return fileKind(path) === undefined ? chosen : withSwitch(new URL(chosen, url), sourceSwitch, true);
}
