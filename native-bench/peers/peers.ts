import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Corpus, CorpusContext } from "../corpus/corpus.js";
import { codesearchVersion, openCodesearch, openGitGrep } from "./command-line-tools.js";
import { type Answer, type Found, type LineId, type Peer, ResultSet } from "./peer.js";
import type { BenchQuery } from "./queries.js";
import { openRipgrep, type Ripgrep, ripgrepVersion } from "./ripgrep.js";
import { openZoekt, type Zoekt, zoektVersion } from "./zoekt.js";

/** The installed peers, and those that are missing. */
export interface Peers {
  readonly found: readonly Peer[];
  readonly missing: readonly { readonly name: string; readonly reason: string }[];
  readonly ripgrep: Ripgrep | undefined;
  readonly zoekt: Zoekt | undefined;
}

/** All that are installed, ready to be asked. Builds the indexes that are missing. */
export async function openPeers(corpus: Corpus, context: CorpusContext): Promise<Peers> {
  const ripgrep = await openRipgrep(corpus);
  const zoekt = await openZoekt(corpus, context);
  const others = [await openGitGrep(corpus), await openCodesearch(corpus, context)];
  const all: readonly Found<Peer>[] = [ripgrep, ...others, zoekt];
  return {
    found: all.flatMap((each) => (each.kind === "found" ? [each.peer] : [])),
    missing: all.flatMap((each) => (each.kind === "missing" ? [each] : [])),
    ripgrep: ripgrep.kind === "found" ? ripgrep.peer : undefined,
    zoekt: zoekt.kind === "found" ? zoekt.peer : undefined,
  };
}

/** The versions of those that are installed, by name, without git's. */
export async function peerVersions(): Promise<Record<string, string>> {
  const versions = { rg: await ripgrepVersion(), csearch: await codesearchVersion(), zoekt: await zoektVersion() };
  const installed = Object.entries(versions).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(installed);
}

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
