import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Corpus } from "../corpus/corpus.js";
import { type Answer, type LineId, type Peer, ResultSet } from "./peer.js";
import type { BenchQuery } from "./queries.js";
import type { Ripgrep } from "./ripgrep.js";

/** What a peer has found. */
export interface Answered extends Pick<Answer, "lines"> {
  readonly peer: Peer;
}

/** Why tools may rightly disagree about a line of the corpus. */
export class KnownDifferences {
  readonly #folder: string;
  readonly #ripgrep: Ripgrep | undefined;
  readonly #binary = new Map<string, boolean>();

  constructor(corpus: Corpus, ripgrep: Ripgrep | undefined) {
    this.#folder = corpus.path;
    this.#ripgrep = ripgrep;
  }

  /** The known causes of a difference between these two answers to a query. */
  async of(query: BenchQuery, one: Answered, other: Answered): Promise<(line: LineId) => string | undefined> {
    const spanning = await this.#spanningLines(query, one.lines, other.lines);
    return (line) => one.peer.explain(line) ?? other.peer.explain(line) ?? this.#generalCause(line, spanning);
  }

  #generalCause({ path, line }: LineId, spanning: ResultSet): string | undefined {
    if (spanning.has(path, line)) return "match over several lines";
    return this.#isBinary(path) ? "file with a NUL byte" : undefined;
  }

  /** Lines of matches over several lines: some tools find those, some search line by line. ripgrep can do both. */
  async #spanningLines(query: BenchQuery, one: ResultSet, other: ResultSet): Promise<ResultSet> {
    if (!query.spansLines || this.#ripgrep === undefined) return new ResultSet();
    return await this.#ripgrep.spanningLines(query, [...one.without(other), ...other.without(one)]);
  }

  /** A file that does not exist is no known difference: whoever named it is wrong. */
  #isBinary(path: string): boolean {
    const file = join(this.#folder, path);
    const isBinary = this.#binary.get(path) ?? (existsSync(file) && readFileSync(file).includes(0));
    this.#binary.set(path, isBinary);
    return isBinary;
  }
}
