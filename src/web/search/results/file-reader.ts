import type { StreamMatch } from "../../../model/stream-events.js";
import { graphql } from "../../api/graphql.js";
import { cutLine } from "../../ui/text-range.js";
import { type LineSpan, TokenReader } from "../../ui/token-reader.js";
import type { CodeLine } from "./code-lines.js";
import type { ResultContext } from "./result-context.js";

/** Reads parts of files for the results in sight. */
export class FileReader implements Pick<ResultContext, "highlight" | "readLines"> {
  readonly #stop = new AbortController();
  readonly #tokens = new TokenReader();

  close(): void {
    this.#stop.abort();
    this.#tokens.close();
  }

  readonly highlight: ResultContext["highlight"] = (file, spans, take) => this.#tokens.read(file, spans, take);

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
