import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Corpus } from "../corpus/corpus.js";
import type { Peer } from "./peer.js";
import type { Ripgrep } from "./ripgrep.js";
import type { BenchQuery } from "./queries.js";
import { ResultSet, type Place } from "./result-set.js";

/** What a peer has found. */
export interface Answered {
  readonly peer: Peer;
  readonly lines: ResultSet;
}

/** Why tools may well disagree about a place of the corpus, whichever they are. */
export class KnownDifferences {
  readonly #folder: string;
  readonly #ripgrep: Ripgrep | undefined;
  readonly #binary = new Map<string, boolean>();

  constructor(corpus: Corpus, ripgrep: Ripgrep | undefined) {
    this.#folder = corpus.path;
    this.#ripgrep = ripgrep;
  }

  /** What explains a difference between these two answers to a query. */
  async of(query: BenchQuery, one: Answered, other: Answered): Promise<(place: Place) => string | undefined> {
    const spanning = await this.#spanningLines(query, one.lines, other.lines);
    return (place) => one.peer.causeOf(place) ?? other.peer.causeOf(place) ?? this.#general(place, spanning);
  }

  #general({ path, line }: Place, spanning: ResultSet): string | undefined {
    if (spanning.has(path, line)) return "match over several lines";
    return this.#isBinary(path) ? "file with a NUL byte" : undefined;
  }

  /**
   * Lines of matches that go over several: some look for them, some look at one line at a time. ripgrep can do both.
   */
  async #spanningLines(query: BenchQuery, one: ResultSet, other: ResultSet): Promise<ResultSet> {
    if (!query.spansLines || this.#ripgrep === undefined) return new ResultSet();
    return await this.#ripgrep.spanningLines(query, [...one.without(other), ...other.without(one)]);
  }

  /** A path that is not there is no binary file: whoever named it is wrong. */
  #isBinary(path: string): boolean {
    const file = join(this.#folder, path);
    const isBinary = this.#binary.get(path) ?? (existsSync(file) && readFileSync(file).includes(0));
    this.#binary.set(path, isBinary);
    return isBinary;
  }
}
