import { createRequire } from "node:module";
import { escapeHtml, isSafeAddress, linkSchemes } from "../../base/html.js";
import { splitOnce } from "../../base/text.js";
import { TrawlError } from "../../base/errors.js";
import type { RenderMarkdown } from "../../protocol/git-messages.js";
import { highlightCode, loadLibrary, MarkupTime, withinTime } from "./highlight.js";

/** Longer texts are not rendered. */
const markdownUnitsMax = 1_000_000;

/** Code in code. */
const codeDepthMax = 3;

/** Elements nested more deeply are dropped. */
const depthMax = 100;

/** The HTML of one text from a request. */
export function answerRenderMarkdown({ text }: RenderMarkdown): { readonly html: string } {
  const html = renderMarkdown(text, new MarkupTime(false));
  if (html !== undefined) return { html };
  throw new TrawlError(
    "bad-request",
    `the Markdown takes too much work: send at most ${markdownUnitsMax} characters, or simpler text`,
  );
}

/**
 * The text as HTML that is safe in any page: it has no script, style or event handler, and no link but to `http`,
 * `https`, `mailto` and relative addresses, and no image but of relative addresses. CommonMark with tables, strikethrough, task lists, alerts, footnotes, front matter as a table,
 * headings that links find by their text, and links without brackets, as GitHub has them; HTML in the text is kept as far as it
 * is safe. Code has colours if there is time for them. Undefined if the text is too long or `time` is over.
 */
export function renderMarkdown(text: string, time: MarkupTime): string | undefined {
  if (text.length > markdownUnitsMax || time.leftMs <= 0) return undefined;
  const { coloured, plain, sanitize } = loadLibraries();
  const { table, body } = splitFrontMatter(text);
  if (/```|~~~/.test(text)) loadLibrary();
  const half = new MarkupTime(false);
  half.leftMs = time.leftMs / 2;
  const html = withinTime(() => sanitize(coloured.render(body), safe), half);
  time.leftMs -= time.leftMs / 2 - half.leftMs;
  const rendered = html ?? withinTime(() => sanitize(plain.render(body), safe), time);
  return rendered === undefined || repeatsCode(rendered) ? undefined : table + rendered;
}

/**
 * Whether elements of code are in one another. A browser repeats open ones in each paragraph that follows, up to three that are equal:
 * with different classes, a few kilobytes would be millions of elements. No other formatting element keeps an attribute.
 */
function repeatsCode(html: string): boolean {
  let depth = 0;
  for (const [mark] of html.matchAll(/<\/?code\b/g)) {
    depth += mark === "<code" ? 1 : -1;
    if (depth > codeDepthMax) return true;
  }
  return false;
}

/** The parts of the libraries that are used here; their own types would make browser types available everywhere. */
interface Libraries {
  /** With colours in code, and without. */
  readonly coloured: Renderer;
  readonly plain: Renderer;
  readonly sanitize: (html: string, options: object) => string;
}

interface Renderer {
  render(text: string): string;
  use(plugin: unknown): Renderer;
  readonly core: { readonly ruler: { push(name: string, rule: (state: { readonly tokens: Token[] }) => void): void } };
}

interface Token {
  type: string;
  readonly children: Token[] | null;
  content: string;
  attrSet(name: string, value: string): void;
}

let loaded: Libraries | undefined;

/** Loaded at the first use. */
function loadLibraries(): Libraries {
  if (loaded !== undefined) return loaded;
  const require = createRequire(import.meta.url);
  const markdown = require("markdown-it") as (options: object) => Renderer;
  const footnotes = require("markdown-it-footnote") as unknown;
  const make = (highlight?: (code: string, language: string) => string): Renderer => {
    const made = markdown({ html: true, linkify: true, highlight }).use(footnotes);
    made.core.ruler.push("task-lists", ({ tokens }) => markTasks(tokens));
    made.core.ruler.push("alerts", ({ tokens }) => markAlerts(tokens));
    made.core.ruler.push("heading-ids", ({ tokens }) => nameHeadings(tokens));
    return made;
  };
  // The text as it is, if the function returns "".
  const coloured = make((code, language) => (language === "" ? "" : (highlightCode(code, language) ?? "")));
  loaded = { coloured, plain: make(), sanitize: require("sanitize-html") as Libraries["sanitize"] };
  return loaded;
}

/** Each heading gets the id by which other people's links know it: its text without punctuation, and a number if it repeats. */
function nameHeadings(tokens: readonly Token[]): void {
  const counts = new Map<string, number>();
  for (let at = 1; at < tokens.length; at++) {
    if (tokens[at - 1].type !== "heading_open") continue;
    const text = (tokens[at].children ?? [])
      .map(({ type, content }) => (type === "html_inline" ? "" : content))
      .join("");
    const name = text
      .trim()
      .toLowerCase()
      .replace(/[^\p{L}\p{M}\p{N}\p{Pc} -]/gu, "")
      .replaceAll(" ", "-");
    const count = counts.get(name) ?? 0;
    counts.set(name, count + 1);
    if (name !== "") tokens[at - 1].attrSet("id", count === 0 ? name : `${name}-${count}`);
  }
}

/** Gives quotations that begin with a line like `[!NOTE]` the classes by which GitHub knows them; the line becomes their title. */
function markAlerts(tokens: readonly Token[]): void {
  for (let at = 2; at < tokens.length; at++) {
    if (tokens[at - 2].type !== "blockquote_open" || tokens[at].type !== "inline") continue;
    const children = tokens[at].children ?? [];
    const [first, second] = children;
    const title = first?.type === "text" ? alertTitles.get(first.content.trim().toUpperCase()) : undefined;
    if (title === undefined || (second !== undefined && !second.type.endsWith("break"))) continue;
    tokens[at - 2].attrSet("class", `markdown-alert markdown-alert-${title.toLowerCase()}`);
    first.type = "html_inline";
    first.content = `<strong>${title}</strong>${second === undefined ? "" : "<br>"}`;
    children.splice(1, 1);
  }
}

const alertTitles: ReadonlyMap<string, string> = new Map(
  ["Note", "Tip", "Important", "Warning", "Caution"].map((title) => [`[!${title.toUpperCase()}]`, title]),
);

/**
 * The lines between the first one, `---`, and the next such line, which say something of the text, as a table; the rest is the text.
 * Only names at the start of a line are read: what is below one is its value, as it is written.
 */
function splitFrontMatter(text: string): { readonly table: string; readonly body: string } {
  const none = { table: "", body: text };
  if (!/^---\r?\n/.test(text)) return none;
  const lines = text
    .slice(0, frontMatterUnitsMax)
    .split("\n")
    .map((line) => line.trimEnd());
  const end = lines.indexOf("---", 1);
  if (end < 0) return none;
  const rows: { name: string; values: string[] }[] = [];
  for (const line of lines.slice(1, end)) {
    const [name, value] = /^[\w-]/.test(line) ? (splitOnce(line, ":") ?? []) : [];
    if (name !== undefined && value !== undefined) rows.push({ name, values: [value.trim()] });
    else if (line.trim() !== "" && !line.trimStart().startsWith("#")) {
      const last = rows.at(-1);
      // It is no list of names: the text is not what it looks like.
      if (last === undefined) return none;
      last.values.push(line.trim());
    }
  }
  const cells = rows.map(({ name, values }) => {
    const shown = values.filter((value) => value !== "").map(escapeHtml);
    return `<tr><th>${escapeHtml(name)}</th><td>${shown.join("<br />")}</td></tr>`;
  });
  const table = cells.length === 0 ? "" : `<table><tbody>${cells.join("")}</tbody></table>\n`;
  const bodyAt = text.split("\n", end + 1).join("\n").length + 1;
  return { table, body: text.slice(bodyAt) };
}

const frontMatterUnitsMax = 64 << 10;

/** Shows the box of each item of a task list as a character. */
function markTasks(tokens: readonly Token[]): void {
  for (let at = 2; at < tokens.length; at++) {
    if (tokens[at].type !== "inline" || tokens[at - 2].type !== "list_item_open") continue;
    const [first] = tokens[at].children ?? [];
    const box = first?.type === "text" ? boxes.get(first.content.slice(0, boxLength)) : undefined;
    if (box !== undefined) first.content = box + first.content.slice(boxLength);
  }
}

const boxes: ReadonlyMap<string, string> = new Map([
  ["[ ] ", "\u2610 "],
  ["[x] ", "\u2611 "],
  ["[X] ", "\u2611 "],
]);
const boxLength = 4;

const tags =
  "a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i img ins kbd li ol p pre q s samp span strike strong sub summary sup table tbody td tfoot th thead tr tt ul var";

/** What ids in a text begin with, as on GitHub, and links to them. */
const idPrefix = "user-content-";

/** Options of sanitize-html. Whatever is not listed is dropped; the text of unknown elements is kept. */
const safe = {
  allowedTags: tags.split(" "),
  allowedAttributes: {
    a: ["href", "title", "rel", "id"],
    img: ["src", "alt", "title", "width", "height"],
    ...Object.fromEntries("h1 h2 h3 h4 h5 h6 p li div dt dd sup".split(" ").map((name) => [name, ["id"]])),
    ol: ["start"],
    td: ["align", "id"],
    th: ["align", "id"],
    details: ["open"],
  },
  allowedClasses: { code: ["language-*"], span: ["hljs-*"], blockquote: ["markdown-alert", "markdown-alert-*"] },
  allowedSchemes: linkSchemes,
  // An image of another host would tell that host who reads the text.
  allowedSchemesByTag: { img: [] },
  allowProtocolRelative: false,
  parseStyleAttributes: false,
  nestingLimit: depthMax,
  transformTags: {
    a: (tagName: string, { href, name, ...attribs }: Attributes) => ({
      tagName,
      attribs: {
        ...(isSafe(href, linkSchemes) ? { href: href.replace(/^#(?=.)/, `#${idPrefix}`) } : {}),
        ...(name === undefined ? {} : { id: name }),
        ...attribs,
        rel: "nofollow noreferrer",
      },
    }),
    // A name that the page around it has for itself is never one of the text.
    "*": (tagName: string, { id, ...attribs }: Attributes) => ({
      tagName,
      attribs: id ? { id: idPrefix + id, ...attribs } : attribs,
    }),
    img: (tagName: string, { src, ...attribs }: Attributes) => ({
      tagName,
      attribs: { ...(isSafe(src, []) ? { src } : {}), ...attribs },
    }),
  },
};

type Attributes = Readonly<Record<string, string>>;

function isSafe(address: string | undefined, schemes: readonly string[]): address is string {
  return address !== undefined && isSafeAddress(address, schemes);
}
