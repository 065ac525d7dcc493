import { createRequire } from "node:module";
import { isSafeAddress, linkSchemes } from "../../base/html.js";
import { TrawlError } from "../../base/errors.js";
import type { RenderMarkdown } from "../../protocol/git-messages.js";
import { MarkupTime, withinTime } from "./highlight.js";

/** Longer texts are not rendered. */
const markdownUnitsMax = 1_000_000;

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
 * `https`, `mailto` and relative addresses, and no image but of relative addresses. CommonMark with tables, strikethrough, task lists and links without
 * brackets, as GitHub has them; HTML in the text is kept as far as it is safe. Undefined if the text is too long or
 * `time` is over.
 */
export function renderMarkdown(text: string, time: MarkupTime): string | undefined {
  if (text.length > markdownUnitsMax || time.leftMs <= 0) return undefined;
  const { renderer, sanitize } = loadLibraries();
  return withinTime(() => sanitize(renderer.render(text), safe), time);
}

/** The parts of the libraries that are used here; their own types would make browser types available everywhere. */
interface Libraries {
  readonly renderer: Renderer;
  readonly sanitize: (html: string, options: object) => string;
}

interface Renderer {
  render(text: string): string;
  readonly core: { readonly ruler: { push(name: string, rule: (state: { readonly tokens: Token[] }) => void): void } };
}

interface Token {
  readonly type: string;
  readonly children: Token[] | null;
  content: string;
}

let loaded: Libraries | undefined;

/** Loaded at the first use. */
function loadLibraries(): Libraries {
  if (loaded !== undefined) return loaded;
  const require = createRequire(import.meta.url);
  const markdown = require("markdown-it") as (options: object) => Renderer;
  const renderer = markdown({ html: true, linkify: true });
  renderer.core.ruler.push("task-lists", ({ tokens }) => markTasks(tokens));
  loaded = { renderer, sanitize: require("sanitize-html") as Libraries["sanitize"] };
  return loaded;
}

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

/** Options of sanitize-html. Whatever is not listed is dropped; the text of unknown elements is kept. */
const safe = {
  allowedTags: tags.split(" "),
  allowedAttributes: {
    a: ["href", "title", "rel"],
    img: ["src", "alt", "title", "width", "height"],
    ol: ["start"],
    td: ["align"],
    th: ["align"],
    details: ["open"],
  },
  allowedClasses: { code: ["language-*"] },
  allowedSchemes: linkSchemes,
  // An image of another host would tell that host who reads the text.
  allowedSchemesByTag: { img: [] },
  allowProtocolRelative: false,
  parseStyleAttributes: false,
  nestingLimit: depthMax,
  transformTags: {
    a: (tagName: string, { href, ...attribs }: Attributes) => ({
      tagName,
      attribs: { ...(isSafe(href, linkSchemes) ? { href } : {}), ...attribs, rel: "nofollow noreferrer" },
    }),
    img: (tagName: string, { src, ...attribs }: Attributes) => ({
      tagName,
      attribs: { ...(isSafe(src, []) ? { src } : {}), ...attribs },
    }),
  },
};

type Attributes = Readonly<Record<string, string>>;

function isSafe(address: string | undefined, schemes: readonly string[]): boolean {
  return address !== undefined && isSafeAddress(address, schemes);
}
