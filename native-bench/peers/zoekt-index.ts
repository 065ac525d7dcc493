import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { monotonicMs } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import type { Corpus } from "../corpus/corpus.js";
import { diskBytes, watchMemory } from "../system/measure.js";
import { ended, start } from "../system/processes.js";

/** The cost of building zoekt's index. */
export interface ZoektBuild {
  /** ISO 8601. The index is kept for later runs, so it may be of an earlier one. */
  readonly date: string;
  readonly seconds: number;
  readonly peakBytes: number;
  readonly diskBytes: number;
}

/**
 * Indexes what zoekt leaves out by default (files above 2 MB or with more than 20,000 different trigrams), as the
 * others do; without ctags, as no other tool here finds symbols.
 */
const flags = ["-incremental=false", "-submodules=false", "-disable_ctags"];
const limits = ["-file_limit", "1000000000", "-max_trigram_count", "100000000"];

const timeoutMs = 3_600_000;

/** Builds the index unless it exists, and stores its cost beside it. */
export async function buildZoektIndex(
  indexer: string,
  folder: string,
  corpus: Corpus,
  progress: (text: string) => void,
): Promise<ZoektBuild> {
  const buildFile = `${folder}.json`;
  if (existsSync(buildFile)) return JSON.parse(readFileSync(buildFile, "utf8")) as ZoektBuild;
  progress("building zoekt's index (four minutes for the Linux source, once)");
  const unfinished = `${folder}.unfinished`;
  for (const old of [folder, unfinished]) rmSync(old, { recursive: true, force: true });
  mkdirSync(unfinished);
  const date = new Date().toISOString();
  const startedMs = monotonicMs();
  const child = start(indexer, [...flags, ...limits, "-index", unfinished, corpus.path], { stdio: "ignore" });
  const memory = watchMemory(child.pid ?? 0);
  const code = await ended(child, timeoutMs);
  const seconds = (monotonicMs() - startedMs) / 1000;
  if (code !== 0) throw new TrawlError("internal", `zoekt-git-index ended with ${code}`);
  const build: ZoektBuild = { date, seconds, peakBytes: memory().peak.residentBytes, diskBytes: diskBytes(unfinished) };
  renameSync(unfinished, folder);
  writeFileSync(buildFile, JSON.stringify(build));
  return build;
}
