import { type ComponentChild, h } from "preact";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { unescapeUrlPart } from "../../../base/path-text.js";
import { mediaUrl, type PagePath, pageUrl } from "../../../model/page-path.js";
import { address } from "../../route/router.js";
import { parseHtml } from "../../ui/parse-html.js";

/** Elements that text may have; others are replaced by what is in them. */
const known = new Set(
  "a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li ol p pre q s samp section span strong sub summary sup table tbody td th thead tr ul".split(
    " ",
  ),
);
/** Elements whose content is no text. */
const dropped = new Set("script style template iframe object embed noscript svg math title head".split(" "));
/** Headings are below those of the page. */
const headings = new Map([
  ["h1", "h3"],
  ["h2", "h4"],
  ["h3", "h5"],
  ["h4", "h6"],
  ["h5", "h6"],
]);
/** Elements that may be wider than the page, and scroll: they are reached by keyboard. */
const scrolling = new Set(["pre", "table"]);
const depthMax = 100;
/** Images of one text; after that, the texts that stand for them. */
const imagesMax = 200;

interface MarkupProps {
  readonly html: string;
  readonly path: PagePath;
  /** The file that the markup is from: its links are relative to it. */
  readonly file: string;
}

/**
 * Markup of a file: the elements that are known are copied. Of their attributes only those stay that are checked: links,
 * images of the same repository, the names of places in the text, and the classes of code.
 */
export function SafeMarkup({ html, path, file }: MarkupProps) {
  const { name, revision } = path;
  const host = useRef<HTMLDivElement>(null);
  const { hash } = address.value;
  useLayoutEffect(() => {
    // The browser looked for the place before the text was here; in links from elsewhere it has no prefix.
    const wanted = unescapeUrlPart(hash.slice(1));
    if (wanted === "") return;
    const names = [wanted, idPrefix + wanted];
    [...(host.current?.querySelectorAll("[id]") ?? [])].find(({ id }) => names.includes(id))?.scrollIntoView();
  }, [html, hash]);
  const nodes = useMemo(() => {
    const place = { name, revision, folder: file.split("/").slice(0, -1).join("/"), images: { count: 0 } };
    return copyChildren(parseHtml(html).body, place, 0);
  }, [html, name, revision, file]);
  return (
    <div ref={host} class="markup">
      {nodes}
    </div>
  );
}

/** Code in colours, from the rows of a table in which the server sends it. */
export function CodeMarkup({ html }: { readonly html: string }) {
  const lines = useMemo(
    () =>
      [...parseHtml(html).querySelectorAll("td.code")].map((cell) =>
        copyChildren(cell, { name: "", revision: "", folder: "", images: { count: 0 } }, 0),
      ),
    [html],
  );
  return <>{lines}</>;
}

/**
 * Whether markup that nobody has checked may become too many elements: a browser repeats formatting elements that are left open,
 * if their attributes differ, in each paragraph that follows. Links are not repeated.
 */
export function isTooInvolved(html: string): boolean {
  const formatting = html.match(/<(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\s/]/gi)?.length ?? 0;
  const all = html.match(/<[a-z]/gi)?.length ?? 0;
  return formatting * all > repeatedMax || all > elementsMax;
}

const repeatedMax = 200_000;
const elementsMax = 20_000;

const idPrefix = "user-content-";
const shownId = /^user-content-[^\s"'<>]{1,200}$/;

interface Place {
  readonly name: string;
  readonly revision: string;
  readonly folder: string;
  readonly images: { count: number };
}

function copyChildren(parent: Node, place: Place, depth: number): ComponentChild[] {
  return depth > depthMax ? [] : [...parent.childNodes].map((child) => copyNode(child, place, depth + 1));
}

function copyNode(node: Node, place: Place, depth: number): ComponentChild {
  if (node.nodeType === Node.TEXT_NODE) return node.nodeValue;
  if (!(node instanceof Element)) return null;
  const name = node.localName;
  if (dropped.has(name)) return null;
  if (name === "img") return copyImage(node, place);
  const children = copyChildren(node, place, depth);
  if (!known.has(name)) return children;
  const id = node.getAttribute("id") ?? "";
  const named = shownId.test(id) ? { id } : {};
  if (name === "a") {
    const href = resolveLink(node.getAttribute("href") ?? "", place);
    if (href !== undefined) return h("a", { ...named, href, rel: "noreferrer nofollow" }, children);
    return "id" in named ? h("span", named, children) : children;
  }
  const kind = name === "span" ? (node.getAttribute("class") ?? "") : "";
  const classed = kind.split(" ").every((one) => tokenClass.test(one)) ? { class: kind } : {};
  // A header without text names nothing.
  const shown = name === "th" && (node.textContent ?? "").trim() === "" ? "td" : (headings.get(name) ?? name);
  const alert = name === "blockquote" ? alertClass.exec(node.getAttribute("class") ?? "")?.[0] : undefined;
  if (alert !== undefined) return h("blockquote", { ...named, class: alert }, children);
  const attributes = { ...named, ...classed, ...(scrolling.has(name) ? { tabIndex: 0 } : {}) };
  return h(shown, attributes, children.length === 0 ? undefined : children);
}

const alertClass = /^markdown-alert markdown-alert-(?:note|tip|important|warning|caution)$/;

/** A class of the highlighter: `hljs-title`, or `function_`, which makes it narrower. No class of a page ends like that. */
const tokenClass = /^(?:hljs-[a-z_]+|[a-z]+_)$/;

/** An image of the same repository; of one from elsewhere, the text that stands for it, because that place would see who reads. */
function copyImage(node: Element, place: Place): ComponentChild {
  const alt = node.getAttribute("alt") ?? "";
  const source = node.getAttribute("src") ?? "";
  const path = /^(?:$|[a-z][a-z0-9+.-]*:|\/\/|[/\\]{2})/i.test(source) ? "" : resolvePath(source, place);
  if (path === "" || ++place.images.count > imagesMax) return alt;
  const size = (name: string): Readonly<Record<string, string>> => {
    const value = node.getAttribute(name) ?? "";
    return /^\d{1,4}$/.test(value) ? { [name]: value } : {};
  };
  const src = mediaUrl({ name: place.name, revision: place.revision, path });
  return h("img", { src, alt, loading: "lazy", ...size("width"), ...size("height") });
}

/** The target of a link of a text; undefined for one that is not followed. Relative links are to files beside it. */
function resolveLink(href: string, place: Place): string | undefined {
  if (/^https?:\/\//i.test(href) || /^mailto:/i.test(href)) return href;
  if (href.startsWith("#")) return shownId.test(href.slice(1)) ? href : undefined;
  if (href === "" || /^[a-z][a-z0-9+.-]*:/i.test(href) || href.startsWith("//")) return undefined;
  const [, fragment = ""] = /#([\w%.~-]+)$/.exec(href) ?? [];
  const url = pageUrl({ name: place.name, revision: place.revision }, "blob", resolvePath(href, place));
  return fragment === "" ? url : `${url}#${fragment}`;
}

/** The path in the repository to which a relative address leads. */
function resolvePath(address: string, { folder }: Place): string {
  const parts = address.startsWith("/") ? [] : folder.split("/").filter((part) => part !== "");
  const [target = ""] = address.split(/[?#]/);
  for (const part of unescapeUrlPart(target).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return parts.join("/");
}
