import type { StreamMatch } from "../../../model/stream-events.js";
import { graphql, graphqlText } from "../../api/graphql.js";
import { cutLine } from "../../ui/cut-line.js";
import { callAfter } from "../../ui/delay.js";
import { parseHtml } from "../../ui/parse-html.js";
import type { Token } from "../../ui/text-range.js";
import type { CodeLine } from "./code-lines.js";
import type { LineSpan, ResultContext, TokenLines } from "./result-context.js";

/** Files that one request highlights. */
const filesPerRequest = 8;

/** Requests wait for each other. After a long scroll, what waited longest is out of sight and is left out. */
const waitingMax = 40;

interface Wanted {
  readonly match: StreamMatch;
  readonly spans: readonly LineSpan[];
  readonly take: (index: number, lines: TokenLines) => void;
}

interface HighlightedBlob {
  readonly commit: {
    readonly blob: { readonly highlight: { readonly lineRanges: readonly (readonly string[])[] } } | null;
  } | null;
}

/** Reads parts of files for the results in sight, a few at a time. */
export class FileReader implements Pick<ResultContext, "highlight" | "readLines"> {
  readonly #stop = new AbortController();
  #waiting: Wanted[] = [];
  #isBusy = false;

  close(): void {
    this.#stop.abort();
    this.#waiting = [];
  }

  highlight(match: StreamMatch, spans: readonly LineSpan[], take: Wanted["take"]): void {
    this.#waiting.push({ match, spans, take });
    if (this.#waiting.length > waitingMax) this.#waiting.shift();
    if (this.#isBusy) return;
    this.#isBusy = true;
    // The results are painted first.
    callAfter(0, () => void this.#work());
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      const batch = this.#waiting.splice(0, filesPerRequest);
      await this.#ask(batch).catch(() => undefined);
    }
    this.#isBusy = false;
  }

  /** Without colours the results are complete, so an error only leaves them as they are. */
  async #ask(batch: readonly Wanted[]): Promise<void> {
    const fields = batch.map(
      (_, at) => `f${at}: repository(name: $n${at}) { commit(rev: $r${at}) { blob(path: $p${at}) {
        highlight(disableTimeout: false) { lineRanges(ranges: $l${at}) } } } }`,
    );
    const declared = batch.map(
      (_, at) => `$n${at}: String!, $r${at}: String!, $p${at}: String!, $l${at}: [HighlightLineRange!]!`,
    );
    const variables = Object.fromEntries(
      batch.flatMap(({ match, spans }, at) => [
        [`n${at}`, match.repository ?? ""],
        [`r${at}`, match.commit ?? "HEAD"],
        [`p${at}`, match.path ?? ""],
        [`l${at}`, spans.map(({ from, to }) => ({ startLine: from, endLine: to }))],
      ]),
    );
    const query = `query ResultHighlight(${declared.join(", ")}) { ${fields.join("\n")} }`;
    const found = await graphqlText<Readonly<Record<string, HighlightedBlob | null>>>(
      "ResultHighlight",
      query,
      variables,
      this.#stop.signal,
    );
    batch.forEach(({ take }, at) => {
      const rows = found[`f${at}`]?.commit?.blob?.highlight.lineRanges ?? [];
      rows.forEach((lines, index) => take(index, readRows(lines)));
    });
  }

  async readLines(match: StreamMatch, { from, to }: LineSpan): Promise<readonly CodeLine[]> {
    const query = `query ResultLines($name: String!, $rev: String!, $path: String!, $from: Int!, $to: Int!) {
      repository(name: $name) { commit(rev: $rev) { blob(path: $path) { content(startLine: $from, endLine: $to) } } } }`;
    const { repository = "", path = "" } = match;
    // Here lines are 1-based, and the last one is included.
    const variables = { name: repository, rev: match.commit ?? "HEAD", path, from: from + 1, to };
    const found = await graphql("ResultLines", query, variables, this.#stop.signal);
    const content = found.repository?.commit?.blob?.content ?? "";
    const texts = content === "" ? [] : (content.endsWith("\n") ? content.slice(0, -1) : content).split("\n");
    return texts.map((text, at) => ({ number: from + at, text: cutLine(text), marks: [], isCut: false }));
  }
}

/** The rows of the table that the daemon makes, as text and tokens. Nothing of its markup is used. */
function readRows(rows: readonly string[]): TokenLines {
  const parsed = parseHtml(`<table>${rows.join("")}</table>`);
  return [...parsed.querySelectorAll("td.code")].map((cell) => {
    const tokens: Token[] = [];
    const text = collectTokens(cell, "", 0, tokens);
    return { text: text.replace(/\r?\n$/, ""), tokens };
  });
}

const tokenClass = /^hljs-[a-z_ -]+$/;

/** Adds the tokens of the text below a node, and returns that text. */
function collectTokens(node: Node, kind: string, at: number, tokens: Token[]): string {
  let text = "";
  for (const child of node.childNodes) {
    if (child instanceof Element || child.nodeType === 1) {
      const own = (child as Element).getAttribute("class") ?? "";
      text += collectTokens(child, tokenClass.test(own) ? own : kind, at + text.length, tokens);
      continue;
    }
    const part = child.textContent ?? "";
    if (kind !== "" && part !== "") tokens.push({ from: at + text.length, to: at + text.length + part.length, kind });
    text += part;
  }
  return text;
}
