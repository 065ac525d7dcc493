import { createHash } from "node:crypto";
import { existsSync, renameSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../src/base/errors.js";
import type { Corpus, CorpusContext } from "../corpus/corpus.js";
import { ended, run, start, timeCommand } from "../system/processes.js";
import { readLineOutput } from "./line-output.js";
import { declineHuge, type Found, type Peer } from "./peer.js";
import { escaped, type BenchQuery } from "./queries.js";
import { findTool, findTools, fingerprint } from "./tools.js";

const indexTimeoutMs = 600_000;

/** codesearch over the work tree. Builds its index the first time. */
export async function openCodesearch(corpus: Corpus, { progress }: CorpusContext): Promise<Found<Peer>> {
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
    declines: declineHuge,
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
export async function codesearchVersion(): Promise<string | undefined> {
  const csearch = findTool("csearch");
  if (csearch === undefined) return undefined;
  const known = await run("dpkg-query", ["-W", "-f", "codesearch ${Version}", "codesearch"], "").catch(() => "");
  return known.trim() || `codesearch, SHA-256 ${await fingerprint(csearch)}`;
}
