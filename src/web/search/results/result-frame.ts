import { pathOfMatch, type StreamMatch } from "../../../model/stream-events.js";
import { element } from "../../ui/element.js";
import { markedText, unitIndex } from "../../ui/text-range.js";
import type { FileAt } from "../../ui/token-reader.js";
import type { ResultState } from "./result-context.js";
import { addressWithPreview, isOwnPath, previewOfAddress } from "../panel-address.js";
import { address, navigate } from "../../route/router.js";
import { escapeUrlPart } from "../../../base/path-text.js";

export interface Frame {
  readonly title: HTMLElement;
  /** The name of the result for screen readers. */
  readonly label: string;
  readonly note: string;
  readonly body?: HTMLElement | undefined;
  /** Present if the body can be folded. */
  readonly fold?: { readonly state: ResultState };
  /** The address of its file, with the first line that matches. */
  readonly preview?: string;
}

/** The frame of a result: its title, a note at the end of the line, and what was found in it. */
export function resultFrame({ title, label, note, body, fold, preview }: Frame): HTMLElement {
  const head = element("header", {});
  const made = element("article", { class: "result", "aria-label": label }, head);
  if (body !== undefined && fold !== undefined) head.append(foldButton(fold.state, body, label));
  head.append(title);
  if (note !== "") head.append(element("span", { class: "note" }, note));
  if (preview !== undefined) head.append(previewButton(preview, label));
  if (body !== undefined) made.append(body);
  return made;
}

function previewButton(href: string, label: string): HTMLElement {
  const attributes = {
    class: "preview-button",
    "aria-label": `Preview ${label}`,
    title: "Preview (p)",
    "data-preview": href,
  };
  const made = element("button", { type: "button", ...attributes }, "◨");
  made.addEventListener("click", () => {
    const isShown = previewOfAddress(address.peek()) === href;
    navigate(addressWithPreview(address.peek(), isShown ? undefined : href), "replace");
  });
  return made;
}

function foldButton(state: ResultState, body: HTMLElement, label: string): HTMLElement {
  const made = element("button", { type: "button", class: "fold", "aria-label": `Matches in ${label}` });
  const set = (isFolded: boolean): void => {
    state.isFolded = isFolded;
    body.hidden = isFolded;
    made.setAttribute("aria-expanded", String(!isFolded));
  };
  made.addEventListener("click", () => set(state.isFolded !== true));
  set(state.isFolded === true);
  return made;
}

/** The repository and the path, with what matched in the path. */
export function titleOfFile(match: StreamMatch): HTMLElement {
  const { path = "", pathMatches = [] } = match;
  const marks = pathMatches.map(({ start, end }) => ({
    from: unitIndex(path, start.column),
    to: unitIndex(path, end.column),
  }));
  const link = element("a", { class: "path", href: fileUrl(match) });
  link.append(markedText(path, marks));
  return element(
    "h2",
    {},
    repositoryLink(match),
    element("span", { class: "soft", "aria-hidden": "true" }, " › "),
    link,
  );
}

/** Members that only repository results have. */
interface NamedMatch extends StreamMatch {
  readonly repositoryMatches?: StreamMatch["pathMatches"];
}

export function titleOfRepository(match: NamedMatch): HTMLElement {
  const { repository = "", repositoryMatches = [] } = match;
  const link = element("a", { class: "path", href: repositoryUrl(match) });
  const marks = repositoryMatches.map(({ start, end }) => ({
    from: unitIndex(repository, start.column),
    to: unitIndex(repository, end.column),
  }));
  link.append(markedText(repository, marks));
  return element("h2", {}, link);
}

export function repositoryLink(match: StreamMatch): HTMLElement {
  const { repository = "", branches } = match;
  const [revision = ""] = branches ?? [];
  return element(
    "a",
    { class: "repository", href: repositoryUrl(match) },
    revision === "" ? repository : `${repository}@${revision}`,
  );
}

function escapePath(path: string): string {
  return path.split("/").map(escapeUrlPart).join("/");
}

/** The page of a repository at the revision that the query named. */
export function repositoryUrl({ repository = "", branches }: StreamMatch): string {
  const [revision = ""] = branches ?? [];
  return `/${escapePath(repository)}${revision === "" ? "" : `@${escapePath(revision)}`}`;
}

/** The file of a match, as its tokens are asked for. */
export function fileOfMatch({ repository = "", commit = "HEAD", path = "" }: StreamMatch): FileAt {
  return { repository, commit, path };
}

/** The page of a file, or of a directory, whose path ends with a slash. */
export function fileUrl(match: StreamMatch): string {
  const path = pathOfMatch(match);
  const page = path.endsWith("/") ? "tree" : "blob";
  return `${repositoryUrl(match)}/-/${page}/${escapePath(path)}`;
}

/** A URL of the daemon, if it is one of this site: a match comes from a stream, and a link must not leave the site. */
export function ownUrl(url: string): string {
  return isOwnPath(url, address.peek()) ? url : "#";
}
