import { existsSync, readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Corpus, CorpusContext } from "../corpus/corpus.js";
import { type Answer, declineCostly, type Found, type LineId, type Peer, ResultSet } from "./peer.js";
import { type BenchQuery, escaped } from "./queries.js";
import { openZoekt, type Zoekt, zoektVersion } from "./zoekt.js";
import { createHash } from "node:crypto";
import { findTool, findTools, fingerprint, readLineOutput, readVersionLine } from "./tools.js";
import { ended, run, start, timeCommand } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";

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
interface Answered extends Pick<Answer, "lines"> {
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

const indexTimeoutMs = 600_000;

/** codesearch over the work tree. Builds its index the first time. */
async function openCodesearch(corpus: Corpus, { progress }: CorpusContext): Promise<Found<Peer>> {
  const name = "csearch";
  const tools = findTools(["csearch", "cindex"], "apt-get install codesearch");
  if (tools.kind === "missing") return { ...tools, name };
  const [csearch = "", cindex = ""] = tools.programs;
  const environment = { CSEARCHINDEX: await buildIndex(cindex, corpus, progress) };
  const listing = await run("env", [`CSEARCHINDEX=${environment.CSEARCHINDEX}`, csearch, "-l", "^"], "");
  const indexed = new Set(listing.split("\n").map((path) => path.slice(corpus.path.length + 1)));
  const command = ({ pattern, kind, ignoreCase }: BenchQuery): string[] => {
    const expression = kind === "literal" ? escaped(pattern) : pattern;
    return [csearch, "-n", ...(ignoreCase ? ["-i"] : []), expression];
  };
  const peer: Peer = {
    name,
    version: (await codesearchVersion()) ?? "",
    time: (query) => timeCommand(command(query), environment),
    results: (query) => readLineOutput(command(query), environment, `${corpus.path}/`),
    explain: ({ path }) => (indexed.has(path) ? undefined : "file that codesearch does not index"),
    declines: declineCostly,
  };
  return { kind: "found", peer };
}

/** The index holds absolute paths, so it depends on the path of the corpus. */
async function buildIndex(cindex: string, corpus: Corpus, progress: (text: string) => void): Promise<string> {
  const pathHash = createHash("sha256").update(corpus.path).digest("hex").slice(0, 8);
  const file = join(corpus.cacheFolder, `codesearch-${corpus.checksum}-${pathHash}`);
  if (existsSync(file)) return file;
  progress("building codesearch's index");
  const unfinished = `${file}.unfinished`;
  const child = start(cindex, [corpus.path], { stdio: "ignore", env: { ...process.env, CSEARCHINDEX: unfinished } });
  const code = await ended(child, indexTimeoutMs);
  if (code !== 0) throw new TrawlError("internal", `cindex ended with ${code}`);
  renameSync(unfinished, file);
  return file;
}

/** csearch does not print its version. Undefined where it is not installed. */
async function codesearchVersion(): Promise<string | undefined> {
  const csearch = findTool("csearch");
  if (csearch === undefined) return undefined;
  const known = await run("dpkg-query", ["-W", "-f", "codesearch ${Version}", "codesearch"], "").catch(() => "");
  return known.trim() || `codesearch, SHA-256 ${await fingerprint(csearch)}`;
}

const environment = { LC_ALL: "C", GIT_CONFIG_GLOBAL: "/dev/null" };

/** With two threads, as paths from the root of the repository. */
function gitGrep(folder: string): string[] {
  return ["git", "-C", folder, "-c", "grep.threads=2", "grep", "-n", "--no-color", "--full-name"];
}

/** `git grep` for a literal in commits of a repository; a path is `REVISION:PATH`. */
export function gitGrepAt(
  folder: string,
  pattern: string,
  revisions: readonly string[],
): { time(): Promise<number>; results(): Promise<Answer> } {
  const command = [...gitGrep(folder), "-F", "-e", pattern, ...revisions, "--"];
  return { time: () => timeCommand(command, environment), results: () => readLineOutput(command, environment, "") };
}

/**
 * `git grep` over the work tree. With PCRE for expressions, its fastest mode: 2 s against 9 s with `-E` for one without a
 * literal, over the Linux source.
 */
async function openGitGrep(corpus: Corpus): Promise<Found<Peer>> {
  const name = "git grep";
  const probe = run("git", ["-C", corpus.path, "grep", "-q", "-P", "-e", ".", "HEAD", "--", "."], "");
  const hasPcre = await probe.then(
    () => true,
    () => false,
  );
  if (!hasPcre) return { kind: "missing", name, reason: "git is built without PCRE" };
  const command = ({ pattern, kind, ignoreCase }: BenchQuery): string[] => {
    const flags = [kind === "literal" ? "-F" : "-P", ...(ignoreCase ? ["-i"] : [])];
    return [...gitGrep(corpus.path), ...flags, "-e", pattern];
  };
  const peer: Peer = {
    name,
    version: (await run("git", ["--version"], "")).trim(),
    time: (query) => timeCommand(command(query), environment),
    results: (query) => readLineOutput(command(query), environment, ""),
    explain: () => undefined,
    declines: declineCostly,
  };
  return { kind: "found", peer };
}

/** ripgrep over all files of the work tree, with two threads. */
export async function openRipgrep(corpus: Corpus): Promise<Found<Ripgrep>> {
  const tools = findTools(["rg"], "apt-get install ripgrep");
  if (tools.kind === "missing") return { ...tools, name: "rg" };
  const [program = ""] = tools.programs;
  return { kind: "found", peer: new Ripgrep(program, (await ripgrepVersion()) ?? "", corpus) };
}

/** Undefined where it is not installed. */
async function ripgrepVersion(): Promise<string | undefined> {
  const program = findTool("rg");
  return program === undefined ? undefined : await readVersionLine(program, ["--version"]);
}

const fixedFlags = ["--no-config", "-uuu", "-j2", "-n", "--with-filename", "--no-heading", "--color=never"];

const spanningFilesMax = 1000;

class Ripgrep implements Peer {
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
    // Words and spaces are those of ASCII, as in RE2.
    const kind = query.kind === "literal" ? ["-F"] : /\\[wbs]/.test(query.pattern) ? ["--no-unicode"] : [];
    const flags = [...kind, ...(query.ignoreCase ? ["-i"] : []), ...more];
    return [this.#program, ...fixedFlags, "--glob=!.git", ...flags, "-e", query.pattern, "--", ...paths];
  }
}
