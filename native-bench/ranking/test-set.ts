import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import type { RankedFile } from "../peers/peer.js";
import { TrawlError } from "../../src/base/errors.js";

/** What a person types, and what they want to see first. */
export interface RankedQuery {
  readonly corpus: string;
  /** Of pattern type `keyword`: words, or a text in quotes. */
  readonly query: string;
  readonly path: string;
  /** Counted from 1; 0 for the file as a whole. */
  readonly line: number;
  readonly half: Half;
}

/** Weights are chosen on one half; results of the other are looked at only to report them. */
export type Half = "tuning" | "held-out";

/** The text of the query decides, so that a query that is added later does not move others. */
function chooseHalf(corpus: string, query: string): Half {
  return createHash("sha256").update(`${corpus} ${query}`).digest()[0] % 2 === 0 ? "tuning" : "held-out";
}

/** Reads rows of four columns: corpus, query, path and line. */
export function parseTestSet(text: string): readonly RankedQuery[] {
  return text
    .split("\n")
    .filter((row) => row !== "" && !row.startsWith("#"))
    .map((row) => {
      const [corpus = "", query = "", path = "", line = "", ...others] = row.split("\t");
      if (!/^\d+$/.test(line) || others.length > 0)
        throw new TrawlError("bad-request", `a row of the test set has not four columns: ${JSON.stringify(row)}`);
      return { corpus, query, path, line: Number(line), half: chooseHalf(corpus, query) };
    });
}

export function readTestSet(): readonly RankedQuery[] {
  return parseTestSet(readFileSync(new URL("../../../native-bench/ranking/queries.tsv", import.meta.url), "utf8"));
}

/** Splits a query into its words; those in quotes are one. */
export function splitWords(query: string): readonly string[] {
  return [...query.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
}

/** Place of the wanted file from 1 on, if it is shown with the wanted line; 0 if it is not found. */
export function findRank(files: readonly RankedFile[], { path, line }: RankedQuery): number {
  return files.findIndex((file) => file.path === path && (line === 0 || file.lines.has(line))) + 1;
}

export interface Quality {
  /** In percent. */
  readonly first: number;
  readonly firstFive: number;
  /** Mean of 1 ÷ place, 0 for what is not found. */
  readonly meanReciprocal: number;
}

export function measureQuality(ranks: readonly number[]): Quality {
  const share = (isGood: (rank: number) => boolean): number => (100 * ranks.filter(isGood).length) / ranks.length;
  return {
    first: share((rank) => rank === 1),
    firstFive: share((rank) => rank >= 1 && rank <= 5),
    meanReciprocal: ranks.reduce((sum, rank) => sum + (rank === 0 ? 0 : 1 / rank), 0) / ranks.length,
  };
}
