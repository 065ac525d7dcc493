import { scrollable } from "../../ui/scrollable.js";
import { Found } from "../../ui/states.js";
import { type PagePath, pageUrl } from "../../../model/page-path.js";
import { useGraphql } from "../../api/use-graphql.js";
import { type ComponentChild, h } from "preact";
import { useMemo } from "preact/hooks";
import { parseHtml } from "../../ui/parse-html.js";

const readmeQuery = `query Readme($name: String!, $revision: String!, $path: String!) {
  repository(name: $name) {
    commit(rev: $revision) { blob(path: $path) { richHTML content(startLine: 1, endLine: 2000) byteSize } }
  }
}`;

interface ReadmeProps {
  readonly path: PagePath;
  readonly file: string;
}

/** A README below its directory. */
export function Readme({ path, file }: ReadmeProps) {
  return (
    <section class="panel readme" aria-label={file}>
      <h2 class="panel-head">
        <a href={pageUrl(path, "blob", file)}>{file.split("/").at(-1)}</a>
      </h2>
      <RenderedText path={path} file={file} />
    </section>
  );
}

/** A file for readers: rendered if it is Markdown, otherwise its text. */
export function RenderedText({ path, file }: ReadmeProps) {
  const { name, revision } = path;
  const used = useGraphql("Readme", readmeQuery, { name, revision, path: file });
  return (
    <Found used={used} what="the text">
      {({ repository }) => {
        const blob = repository?.commit?.blob ?? undefined;
        if (blob === undefined) return null;
        return blob.richHTML === null || blob.richHTML === "" ? (
          <pre class="readme-text" {...scrollable(`Text of ${file}`)}>
            {blob.content}
          </pre>
        ) : (
          <SafeMarkup html={blob.richHTML} path={path} file={file} />
        );
      }}
    </Found>
  );
}

/** Elements that text may have; others are replaced by what is in them. */
const known = new Set(
  "a b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i kbd li ol p pre s span strong sub summary sup table tbody td th thead tr ul".split(
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

interface MarkupProps {
  readonly html: string;
  readonly path: PagePath;
  /** The file that the markup is from: its links are relative to it. */
  readonly file: string;
}

/** Markup of a README: the elements that are known are copied without attributes, except links, which are checked. */
function SafeMarkup({ html, path, file }: MarkupProps) {
  const { name, revision } = path;
  const nodes = useMemo(() => {
    const place = { name, revision, folder: file.split("/").slice(0, -1).join("/") };
    return copyChildren(parseHtml(html).body, place, 0);
  }, [html, name, revision, file]);
  return <div class="markup">{nodes}</div>;
}

interface Place {
  readonly name: string;
  readonly revision: string;
  readonly folder: string;
}

function copyChildren(parent: Node, place: Place, depth: number): ComponentChild[] {
  return depth > depthMax ? [] : [...parent.childNodes].map((child) => copyNode(child, place, depth + 1));
}

function copyNode(node: Node, place: Place, depth: number): ComponentChild {
  if (node.nodeType === Node.TEXT_NODE) return node.nodeValue;
  if (!(node instanceof Element)) return null;
  const name = node.localName;
  if (dropped.has(name)) return null;
  if (name === "img") return node.getAttribute("alt");
  const children = copyChildren(node, place, depth);
  if (!known.has(name)) return children;
  if (name === "a") {
    const href = resolveLink(node.getAttribute("href") ?? "", place);
    return href === undefined ? children : h("a", { href, rel: "noreferrer nofollow" }, children);
  }
  // A header without text names nothing.
  const shown = name === "th" && (node.textContent ?? "").trim() === "" ? "td" : (headings.get(name) ?? name);
  return h(shown, scrolling.has(name) ? { tabIndex: 0 } : {}, children.length === 0 ? undefined : children);
}

/** The target of a link of a README; undefined for one that is not followed. Relative links are to files beside it. */
function resolveLink(href: string, { name, revision, folder }: Place): string | undefined {
  if (/^https?:\/\//i.test(href) || /^mailto:/i.test(href)) return href;
  if (href === "" || href.startsWith("#") || /^[a-z][a-z0-9+.-]*:/i.test(href) || href.startsWith("//"))
    return undefined;
  const parts = href.startsWith("/") ? [] : folder.split("/").filter((part) => part !== "");
  const [target = ""] = href.split(/[?#]/);
  for (const part of decode(target).split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "" && part !== ".") parts.push(part);
  }
  return pageUrl({ name, revision }, "blob", parts.join("/"));
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
