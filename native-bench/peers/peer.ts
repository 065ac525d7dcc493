import type { BenchQuery } from "./queries.js";

/**
 * A tool or server that searches the corpus; our daemon is one of them.
 *
 * Contract: `time` and `results` do the same work, to the end of the whole answer. One call at a time.
 */
export interface Peer {
  readonly name: string;
  /** As it reports itself, or a checksum of its program. */
  readonly version: string;
  /** Wall milliseconds until everything that a query finds was read. */
  readonly time: (query: BenchQuery) => Promise<number>;
  readonly results: (query: BenchQuery) => Promise<Answer>;
  /** Why this peer, by design, need not agree with others about a line; undefined where it should. */
  readonly explain: (line: LineId) => string | undefined;
  /** Why it is not asked a query; undefined where it is. */
  readonly declines: (query: BenchQuery) => string | undefined;
}

/** For these ripgrep is enough. */
export function declineCostly({ onlyRipgrep }: BenchQuery): string | undefined {
  return onlyRipgrep ? "only ripgrep is compared" : undefined;
}

export interface Answer {
  readonly lines: ResultSet;
  /** Bytes that the peer wrote. */
  readonly bytes: number;
}

/** A peer, or why there is none. */
export type Found<T> =
  | { readonly kind: "found"; readonly peer: T }
  | { readonly kind: "missing"; readonly name: string; readonly reason: string };

/** The lines that a search found, as sets of line numbers (from 1) by path. */
export class ResultSet {
  readonly #lines = new Map<string, Set<number>>();
  #path = "";
  #current: Set<number> | undefined;

  add(path: string, line: number): void {
    if (path !== this.#path || this.#current === undefined) {
      this.#path = path;
      this.#current = this.#lines.get(path) ?? new Set();
      this.#lines.set(path, this.#current);
    }
    this.#current.add(line);
  }

  has(path: string, line: number): boolean {
    return this.#lines.get(path)?.has(line) ?? false;
  }

  get count(): number {
    let count = 0;
    for (const lines of this.#lines.values()) count += lines.size;
    return count;
  }

  /** The lines in this set and not in the other. */
  *without(other: ResultSet): Generator<LineId> {
    for (const [path, lines] of this.#lines) {
      const theirs = other.#lines.get(path);
      for (const line of lines) if (!theirs?.has(line)) yield { path, line };
    }
  }
}

export interface LineId {
  readonly path: string;
  readonly line: number;
}

/** How the answer of a peer differs from the reference's. */
export interface Difference {
  /** Counts of differences by known cause. */
  readonly explained: Readonly<Record<string, number>>;
  /** The rest. */
  readonly unexplained: number;
  /** The first of the rest, as `PATH:LINE only in NAME`. */
  readonly examples: readonly string[];
}

const exampleCountMax = 5;

interface NamedSet {
  readonly name: string;
  readonly lines: ResultSet;
}

/** `explain` returns why a line may rightly be in only one of the sets, or undefined. */
export function compare(
  peer: NamedSet,
  reference: NamedSet,
  explain: (line: LineId) => string | undefined,
): Difference {
  const explained: Record<string, number> = {};
  const examples: string[] = [];
  let unexplained = 0;
  for (const [owner, lines] of [
    [peer.name, peer.lines.without(reference.lines)],
    [reference.name, reference.lines.without(peer.lines)],
  ] as const) {
    for (const line of lines) {
      const cause = explain(line);
      if (cause !== undefined) explained[cause] = (explained[cause] ?? 0) + 1;
      else if (unexplained++ < exampleCountMax) examples.push(`${line.path}:${line.line} only in ${owner}`);
    }
  }
  return { explained, unexplained, examples };
}

/** A file with its lines that match, in the order of a server's answer. */
export interface RankedFile {
  readonly path: string;
  readonly lines: ReadonlySet<number>;
}
