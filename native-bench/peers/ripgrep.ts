import { join } from "node:path";
import type { Corpus } from "../corpus/corpus.js";
import { findTool, findTools, readLineOutput, readVersionLine } from "./tools.js";
import { type Answer, type Found, type LineId, type Peer, ResultSet } from "./peer.js";
import type { BenchQuery } from "./queries.js";
import { timeCommand } from "../system/processes.js";

/** ripgrep over all files of the work tree, with two threads. */
export async function openRipgrep(corpus: Corpus): Promise<Found<Ripgrep>> {
  const tools = findTools(["rg"], "apt-get install ripgrep");
  if (tools.kind === "missing") return { ...tools, name: "rg" };
  const [program = ""] = tools.programs;
  return { kind: "found", peer: new Ripgrep(program, (await ripgrepVersion()) ?? "", corpus) };
}

/** Undefined where it is not installed. */
export async function ripgrepVersion(): Promise<string | undefined> {
  const program = findTool("rg");
  return program === undefined ? undefined : await readVersionLine(program, ["--version"]);
}

const fixedFlags = ["--no-config", "-uuu", "-j2", "-n", "--with-filename", "--no-heading", "--color=never"];

const spanningFilesMax = 1000;

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

  readonly time = (query: BenchQuery): Promise<number> => timeCommand(this.#command(query, [], [this.#folder]), {});

  readonly results = (query: BenchQuery): Promise<Answer> => this.#read(this.#command(query, [], [this.#folder]));

  readonly explain = (): undefined => undefined;

  readonly declines = (): undefined => undefined;

  /**
   * Those of these lines that belong to a match over several. Only their files are searched: a whole corpus takes
   * minutes.
   */
  async spanningLines(query: BenchQuery, lines: Iterable<LineId>): Promise<ResultSet> {
    const paths = new Set<string>();
    for (const { path } of lines) if (paths.size < spanningFilesMax) paths.add(join(this.#folder, path));
    if (paths.size === 0) return new ResultSet();
    return (await this.#read(this.#command(query, ["--multiline"], [...paths]))).lines;
  }

  #read(command: readonly string[]): Promise<Answer> {
    return readLineOutput(command, {}, `${this.#folder}/`);
  }

  #command(query: BenchQuery, more: readonly string[], paths: readonly string[]): string[] {
    const flags = [...(query.kind === "literal" ? ["-F"] : []), ...(query.ignoreCase ? ["-i"] : []), ...more];
    return [this.#program, ...fixedFlags, "--glob=!.git", ...flags, "-e", query.pattern, "--", ...paths];
  }
}
