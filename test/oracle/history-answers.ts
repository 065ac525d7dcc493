/** Compares the answers of a daemon to searches of history with those of the naive search. */
import { get } from "node:http";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { StreamMatch } from "../../src/model/stream-events.js";
import type { HistoryPlan } from "../../src/query/plan/plan.js";
import { diffParts, messageParts } from "../support/history-parts.js";
import { searchNaively, type NaiveCommit } from "../support/naive-history.js";

/** Of larger results not all is shown, so only their commits are compared. */
const contentUnitsMax = 1024 * 1024;
const rangeCountMax = 10_000;

/** The results of one kind, in their order, as the naive search prints them. */
export interface HistoryAnswer {
  readonly commit: readonly string[];
  readonly diff: readonly string[];
  /** Titles and descriptions of alerts, errors, and what was skipped. */
  readonly notices: readonly string[];
}

/** Asks for all results of a query in the keyword syntax. */
export async function askForHistory(url: string, query: string): Promise<HistoryAnswer> {
  const parameters = new URLSearchParams({ q: `${query} count:all`, t: "keyword", v: "V3", display: "-1" });
  const found = { commit: [] as string[], diff: [] as string[] };
  const notices: string[] = [];
  const decoder = new SseDecoder();
  for await (const chunk of await open(`${url}/.api/search/stream?${parameters}`)) {
    for (const { name, data } of decoder.push(chunk as Buffer)) {
      if (name === "matches")
        for (const match of JSON.parse(data) as StreamMatch[])
          found[match.type === "diff" ? "diff" : "commit"].push(resultLine(match));
      else if (name === "alert" || name === "error") notices.push(data);
    }
  }
  return { ...found, notices };
}

async function open(url: string): Promise<NodeJS.ReadableStream> {
  return await new Promise((resolve, reject) => {
    get(url, { agent: false }, (response) => {
      if (response.statusCode === 200) resolve(response);
      else reject(new RangeError(`${url} was answered with ${response.statusCode}`));
    }).on("error", reject);
  });
}

function resultLine({ type, oid = "", content = "", ranges = [] }: StreamMatch): string {
  if (content.length >= contentUnitsMax || ranges.length >= rangeCountMax) return oid;
  // The content is between two lines of a fence.
  const inside = ranges.map(([line, from, length]) => [line - 1, from, length] as const);
  if (type !== "diff") return `${oid} ${messageParts({ ranges: inside }).join(" | ")}`;
  const text = content.slice(content.indexOf("\n") + 1, content.lastIndexOf("```"));
  return `${oid} ${diffParts({ text, ranges: inside, matchCount: ranges.length, isCut: false }).join(" | ")}`;
}

/** A sentence about the first difference; undefined if the answer is that of the naive search. */
export function findDifference(
  answer: HistoryAnswer,
  plans: readonly HistoryPlan[],
  commits: readonly NaiveCommit[],
): string | undefined {
  if (answer.notices.length > 0) return answer.notices.join("; ");
  for (const kind of ["commit", "diff"] as const) {
    const plan = plans.find((one) => one.kind === kind);
    const wanted = plan === undefined ? [] : searchNaively(plan, commits);
    const got = answer[kind];
    for (let i = 0; i < Math.max(wanted.length, got.length); i++) {
      if (got[i] === wanted[i] || (got[i] !== undefined && got[i] === wanted[i]?.split(" ", 1)[0])) continue;
      return `${kind} ${i} of ${wanted.length} is not\n    ${wanted[i]?.slice(0, 600)}\n  but\n    ${got[i]?.slice(0, 600)}`;
    }
  }
  return undefined;
}

/** How many results the naive search has. */
export function countResults({ commit, diff }: HistoryAnswer): number {
  return commit.length + diff.length;
}
