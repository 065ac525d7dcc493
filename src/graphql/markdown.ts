import { escapeHtml } from "../base/html.js";

/** A text in Markdown, and as HTML. */
export interface Markdown {
  readonly text: string;
  readonly html: string;
}

/** A paragraph that is a link. */
export function linkMarkdown(label: string, url: string): Markdown {
  return { text: `[${label}](${url})`, html: `<p><a href="${escapeHtml(url)}" rel="nofollow">${escapeHtml(label)}</a></p>\n` };
}

export function plainMarkdown(text: string): Markdown {
  return { text, html: text === "" ? "" : `<p>${escapeHtml(text)}</p>\n` };
}

/** Markdown as results of commits hold it: links between words. */
export function linksMarkdown(text: string): Markdown {
  const html = escapeHtml(text).replace(/`([^`]*)`/g, "<code>$1</code>").replace(/\[([^\]]*)\]\(([^)]*)\)/g, "<a href=\"$2\" rel=\"nofollow\">$1</a>");
  return { text, html: `<p>${html}</p>\n` };
}

/** A fenced block of code, the fence included in the text. */
export function fencedMarkdown(text: string): Markdown {
  const [fence = "", ...lines] = text.split("\n");
  const language = fence.replace(/^`+/, "");
  const code = (lines.at(-1)?.startsWith("```") === true ? lines.slice(0, -1) : lines).join("\n");
  return { text, html: `<pre><code class="language-${escapeHtml(language)}">${escapeHtml(code)}\n</code></pre>\n` };
}
