import { graphqlParts } from "../api/graphql.js";
import { callAfter } from "./delay.js";
import { parseHtml } from "./parse-html.js";
import type { Token } from "./text-range.js";

/** Files that one request highlights. */
const filesPerRequest = 8;

/** Requests wait for each other. After a long scroll, what waited longest is out of sight and is left out. */
const waitingMax = 40;

/** Lines of a file: `to` is exclusive, both are 0-based. */
export interface LineSpan {
  readonly from: number;
  readonly to: number;
}

/** The tokens of consecutive lines, with the text that they were made from. */
export type TokenLines = readonly { readonly text: string; readonly tokens: readonly Token[] }[];

/** A file of a commit. */
export interface FileAt {
  readonly repository: string;
  readonly commit: string;
  readonly path: string;
}

interface Wanted {
  readonly file: FileAt;
  readonly spans: readonly LineSpan[];
  readonly take: (index: number, lines: TokenLines) => void;
}

interface HighlightedBlob {
  readonly commit: {
    readonly blob: { readonly highlight: { readonly lineRanges: readonly (readonly string[])[] } | null } | null;
  } | null;
}

/** Reads the tokens of lines of files, a few files at a time. */
export class TokenReader {
  readonly #stop = new AbortController();
  #waiting: Wanted[] = [];
  #isBusy = false;

  close(): void {
    this.#stop.abort();
    this.#waiting = [];
  }

  /** `take` is called once for each span, unless the file cannot be highlighted. */
  read(file: FileAt, spans: readonly LineSpan[], take: Wanted["take"]): void {
    this.#waiting.push({ file, spans, take });
    if (this.#waiting.length > waitingMax) this.#waiting.shift();
    if (this.#isBusy) return;
    this.#isBusy = true;
    // What has no colours yet is painted first.
    callAfter(0, () => void this.#work());
  }

  async #work(): Promise<void> {
    while (this.#waiting.length > 0 && !this.#stop.signal.aborted) {
      const batch = this.#waiting.splice(0, filesPerRequest);
      await this.#ask(batch).catch(() => undefined);
    }
    this.#isBusy = false;
  }

  /** Without colours the text is complete, so an error only leaves it as it is, and of one file not the others. */
  async #ask(batch: readonly Wanted[]): Promise<void> {
    const fields = batch.map(
      (_, at) => `f${at}: repository(name: $n${at}) { commit(rev: $r${at}) { blob(path: $p${at}) {
        highlight(disableTimeout: false) { lineRanges(ranges: $l${at}) } } } }`,
    );
    const declared = batch.map(
      (_, at) => `$n${at}: String!, $r${at}: String!, $p${at}: String!, $l${at}: [HighlightLineRange!]!`,
    );
    const variables = Object.fromEntries(
      batch.flatMap(({ file, spans }, at) => [
        [`n${at}`, file.repository],
        [`r${at}`, file.commit],
        [`p${at}`, file.path],
        [`l${at}`, spans.map(({ from, to }) => ({ startLine: from, endLine: to }))],
      ]),
    );
    const query = `query LineTokens(${declared.join(", ")}) { ${fields.join("\n")} }`;
    const found = await graphqlParts<Readonly<Record<string, HighlightedBlob | null>>>(
      "LineTokens",
      query,
      variables,
      this.#stop.signal,
    );
    batch.forEach(({ take }, at) => {
      const rows = found[`f${at}`]?.commit?.blob?.highlight?.lineRanges ?? [];
      rows.forEach((lines, index) => take(index, readRows(lines)));
    });
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
