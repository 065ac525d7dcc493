import { join } from "node:path";
import type { Corpus } from "../corpus/corpus.js";
import { timeCommand } from "../system/processes.js";
import { readLineOutput } from "./line-output.js";
import type { Found, Peer } from "./peer.js";
import type { BenchQuery } from "./queries.js";
import { ResultSet, type Place } from "./result-set.js";
import { findTool, findTools, firstLineOf } from "./tools.js";

/** ripgrep over the work tree, all files, as many threads as the measurement has cores. */
export async function openRipgrep(corpus: Corpus): Promise<Found<Ripgrep>> {
  const tools = findTools(["rg"], "apt-get install ripgrep");
  if (tools.kind === "missing") return { ...tools, name: "rg" };
  const [program = ""] = tools.programs;
  return { kind: "found", peer: new Ripgrep(program, (await ripgrepVersion()) ?? "", corpus) };
}

/** Undefined where it is not installed. */
export async function ripgrepVersion(): Promise<string | undefined> {
  const program = findTool("rg");
  return program === undefined ? undefined : await firstLineOf(program, ["--version"]);
}

export class Ripgrep implements Peer {
  readonly name = "rg";
  readonly version: string;
  readonly #program: string;
  readonly #folder: string;

  constructor(program: string, version: string, corpus: Corpus) {
    this.version = version;
    this.#program = program;
    this.#folder = corpus.path;
  }

  readonly time = (query: BenchQuery): Promise<number> => timeCommand([...this.#command(query, []), this.#folder], {});

  readonly results = (query: BenchQuery) =>
    readLineOutput([...this.#command(query, []), this.#folder], {}, `${this.#folder}/`);

  readonly causeOf = (): undefined => undefined;

  readonly declines = (): undefined => undefined;

  /**
   * Of these places, those on lines of a match that goes over several. Only their files are searched: over a whole
   * corpus this takes minutes.
   */
  async spanningLines(query: BenchQuery, places: Iterable<Place>): Promise<ResultSet> {
    const paths = new Set<string>();
    for (const { path } of places) if (paths.size < spanningFilesMax) paths.add(join(this.#folder, path));
    if (paths.size === 0) return new ResultSet();
    return (await readLineOutput([...this.#command(query, ["--multiline"]), ...paths], {}, `${this.#folder}/`)).lines;
  }

  #command({ pattern, kind, ignoreCase }: BenchQuery, more: readonly string[]): string[] {
    const flags = [...(kind === "literal" ? ["-F"] : []), ...(ignoreCase ? ["-i"] : []), ...more];
    return [
      this.#program,
      "--no-config",
      "-uuu",
      "-j2",
      "-n",
      "--with-filename",
      "--no-heading",
      "--color=never",
      "--glob=!.git",
      ...flags,
      "-e",
      pattern,
      "--",
    ];
  }
}

const spanningFilesMax = 1000;
