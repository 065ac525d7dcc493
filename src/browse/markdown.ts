import { escapeHtml, isSafeAddress } from "../base/html.js";

/** A text as Markdown and as HTML. */
export interface Markdown {
  readonly text: string;
  readonly html: string;
}

/** A paragraph that consists of a link. */
export function linkMarkdown(label: string, url: string): Markdown {
  return {
    text: `[${label}](${url})`,
    html: isSafeAddress(url)
      ? `<p><a href="${escapeHtml(url)}" rel="nofollow">${escapeHtml(label)}</a></p>\n`
      : `<p>${escapeHtml(label)}</p>\n`,
  };
}

export function plainMarkdown(text: string): Markdown {
  return { text, html: text === "" ? "" : `<p>${escapeHtml(text)}</p>\n` };
}

/** Markdown as in results for commits: links between words. */
export function linksMarkdown(text: string): Markdown {
  return { text, html: `<p>${withLinks(withCode(escapeHtml(text)))}</p>\n` };
}

/** Formats text between two backticks as code. */
function withCode(text: string): string {
  const parts = text.split("`");
  const isClosed = parts.length % 2 === 1;
  return parts
    .map((part, at) => {
      if (at % 2 === 0) return part;
      return isClosed || at < parts.length - 1 ? `<code>${part}</code>` : `\`${part}`;
    })
    .join("");
}

/** Formats `[label](address)` as a link, if that is an address of this server. Each bracket is examined once. */
function withLinks(text: string): string {
  let html = "";
  let [copiedTo, from] = [0, 0];
  for (let close = text.indexOf("]"); close >= 0; close = text.indexOf("]", from)) {
    const open = text.slice(from, close).indexOf("[");
    const isLink = open >= 0 && text[close + 1] === "(";
    const end = isLink ? text.indexOf(")", close) : close;
    if (end < 0) break;
    const label = from + open;
    if (isLink && isSafeAddress(text.slice(close + 2, end), [])) {
      html += `${text.slice(copiedTo, label)}<a href="${text.slice(close + 2, end)}" rel="nofollow">${text.slice(label + 1, close)}</a>`;
      copiedTo = end + 1;
    }
    from = end + 1;
  }
  return html + text.slice(copiedTo);
}

/** A fenced code block, including the fence in the text, and what is said about it, which is shown as it is written. */
export function fencedMarkdown(text: string, about = ""): Markdown {
  const [fence = "", ...lines] = text.split("\n");
  const language = fence.replace(/^`+/, "");
  const code = (lines.at(-1)?.startsWith("```") === true ? lines.slice(0, -1) : lines).join("\n");
  const html = `<pre><code class="language-${escapeHtml(language)}">${escapeHtml(code)}\n</code></pre>\n`;
  if (about === "") return { text, html };
  return { text: `${text}\n\n---\n\n${about}`, html: `${html}<hr />\n<pre>${escapeHtml(about)}</pre>\n` };
}
