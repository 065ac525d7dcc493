import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import { sourcePackages, type Corpus } from "../corpus/corpus.js";
import type { BenchQuery } from "./queries.js";
import { ended, run, start, timeCommand } from "../system/processes.js";
import { ResultSet, type Place } from "./result-set.js";

/** A search tool that is measured beside us. */
export interface Peer {
  readonly name: "rg" | "csearch";
  readonly version: string;
  /** Wall milliseconds of one whole run. */
  time(query: BenchQuery): Promise<number>;
  results(query: BenchQuery): Promise<ResultSet>;
  /** Why this peer may well differ from us at a place; undefined when it should not. */
  causeOf(place: Place, spanning: ResultSet): string | undefined;
}

export interface Peers {
  readonly rg: Peer;
  readonly csearch: Peer;
}

/** ripgrep and codesearch over the work tree of the corpus. Builds codesearch's index when it is missing. */
export async function openPeers(corpus: Corpus): Promise<Peers> {
  for (const tool of ["rg", "csearch", "cindex", "curl"]) await requireTool(tool);
  const rgVersion = (await run("rg", ["--version"], "")).split("\n")[0] ?? "";
  const csearchVersion = (await run("dpkg-query", ["-W", "-f", "codesearch ${Version}", "codesearch"], "").catch(() => "codesearch")).trim();
  const environment = { CSEARCHINDEX: await codesearchIndex(corpus) };
  const indexed = new Set((await outputOf(["csearch", "-l", "^"], environment)).split("\n").map((path) => path.slice(corpus.path.length + 1)));
  const binary = new Map<string, boolean>();
  const isBinary = (path: string): boolean => {
    const known = binary.get(path) ?? readFileSync(join(corpus.path, path)).includes(0);
    binary.set(path, known);
    return known;
  };
  const general = ({ path, line }: Place, spanning: ResultSet): string | undefined => {
    if (spanning.has(path, line)) return "match over several lines";
    return isBinary(path) ? "file with a NUL byte" : undefined;
  };
  return {
    rg: {
      name: "rg", version: rgVersion,
      time: (query) => timeCommand([...rgCommand(query, []), corpus.path], {}),
      results: (query) => parseLines([...rgCommand(query, []), corpus.path], {}, corpus.path),
      causeOf: general,
    },
    csearch: {
      name: "csearch", version: csearchVersion,
      time: (query) => timeCommand(csearchCommand(query), environment),
      results: (query) => parseLines(csearchCommand(query), environment, corpus.path),
      causeOf: (place, spanning) => (indexed.has(place.path) ? general(place, spanning) : "file that codesearch does not index"),
    },
  };
}

/**
 * Of the places that only we found, those on lines of a match that goes over several. ripgrep is asked about these files
 * alone: over the whole corpus it takes minutes for it.
 */
export async function spanningLines(corpus: Corpus, query: BenchQuery, onlyOurs: Iterable<Place>): Promise<ResultSet> {
  if (!query.spansLines) return new ResultSet();
  const paths = new Set<string>();
  for (const { path } of onlyOurs) if (paths.size < spanningFilesMax) paths.add(join(corpus.path, path));
  if (paths.size === 0) return new ResultSet();
  return await parseLines([...rgCommand(query, ["--multiline"]), ...paths], {}, corpus.path);
}

const spanningFilesMax = 1000;

function rgCommand({ pattern, kind, ignoreCase }: BenchQuery, more: readonly string[]): string[] {
  const flags = [...kind === "literal" ? ["-F"] : [], ...ignoreCase ? ["-i"] : [], ...more];
  return ["rg", "--no-config", "-uuu", "-j2", "-n", "--no-heading", "--color=never", "--glob=!.git", ...flags, "-e", pattern, "--"];
}

function csearchCommand({ pattern, kind, ignoreCase }: BenchQuery): string[] {
  const expression = kind === "literal" ? pattern.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") : pattern;
  return ["csearch", "-n", ...ignoreCase ? ["-i"] : [], expression];
}

async function codesearchIndex(corpus: Corpus): Promise<string> {
  const file = join(corpus.cacheFolder, `codesearch-${corpus.commit}`);
  if (existsSync(file)) return file;
  console.log("Building codesearch's index (half a minute)");
  const child = start("cindex", [corpus.path], { stdio: "ignore", env: { ...process.env, CSEARCHINDEX: file } });
  const code = await ended(child, 600_000);
  if (code !== 0) throw new TrawlError("internal", `cindex ended with ${code}`);
  return file;
}

async function outputOf([command = "", ...args]: readonly string[], environment: NodeJS.ProcessEnv): Promise<string> {
  const child = start(command, args, { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, ...environment } });
  const parts: Buffer[] = [];
  child.stdout?.on("data", (part: Buffer) => parts.push(part));
  await ended(child, 600_000);
  return Buffer.concat(parts).toString();
}

/** Reads `FOLDER/PATH:LINE:TEXT`; other lines are the tool's remarks about binary files. */
async function parseLines([command = "", ...args]: readonly string[], environment: NodeJS.ProcessEnv, folder: string): Promise<ResultSet> {
  const child = start(command, args, { stdio: ["ignore", "pipe", "ignore"], env: { ...process.env, ...environment } });
  const code = ended(child, 600_000);
  const results = new ResultSet();
  const prefix = Buffer.from(`${folder}/`);
  let rest: Buffer = Buffer.alloc(0);
  for await (const part of child.stdout as AsyncIterable<Buffer>) {
    const bytes = rest.length === 0 ? part : Buffer.concat([rest, part]);
    let from = 0;
    for (let end = bytes.indexOf(newline); end !== -1; end = bytes.indexOf(newline, from)) {
      addLine(results, bytes.subarray(from, end), prefix);
      from = end + 1;
    }
    rest = bytes.subarray(from);
  }
  if (await code > 1) throw new TrawlError("internal", `${command} ${args.join(" ")} ended with ${await code}`);
  return results;
}

const newline = 10;
const colon = 58;

/** codesearch ends no line that its file does not end, so what it prints next can follow in the same line. */
function addLine(results: ResultSet, line: Buffer, prefix: Buffer): void {
  for (let at = line.indexOf(prefix); at !== -1; at = line.indexOf(prefix, at + prefix.length)) addPlace(results, line, at + prefix.length);
}

function addPlace(results: ResultSet, bytes: Buffer, pathStart: number): void {
  for (let at = bytes.indexOf(colon, pathStart); at !== -1; at = bytes.indexOf(colon, at + 1)) {
    let line = 0;
    let digit = at + 1;
    for (; isDigit(bytes[digit]); digit++) line = line * 10 + (bytes[digit] ?? 0) - 48;
    if (digit === at + 1 || bytes[digit] !== colon) continue;
    results.add(bytes.toString("utf8", pathStart, at), line);
    return;
  }
}

function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 48 && byte <= 57;
}

async function requireTool(tool: string): Promise<void> {
  const found = await run("sh", ["-c", `command -v ${tool}`], "").catch(() => "");
  if (found === "") throw new TrawlError("not-found", `${tool} is not installed; the measurement needs: apt-get install ${sourcePackages}`);
}
