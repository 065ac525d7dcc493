import type { HistoryText } from "../../src/eval/history/diff-text.js";
import { Analyses } from "../../src/query/fields/analyses.js";
import { basicQueries } from "../../src/query/syntax/basic.js";
import type { HistoryPlan } from "../../src/query/plan/plan.js";
import { planHistory } from "../../src/query/plan/plan-history.js";
import { parseQuery } from "../../src/query/syntax/parse.js";
import { showMatch } from "./naive-history.js";

/** The matches of a message as the naive search prints them. */
export function messageParts({ ranges }: Pick<HistoryText, "ranges">): string[] {
  return ranges.map(([line, character, length]) => `${line}:${character}+${length}`);
}

/** Per shown file its heading and matches. Checks that the numbers of each hunk agree with its lines. */
export function diffParts({ text, ranges, matchCount }: HistoryText): string[] {
  const files: string[][] = [];
  const lines = text.split("\n").slice(0, -1);
  let [oldLeft, newLeft, oldNumber, newNumber, range] = [0, 0, 0, 0, 0];
  lines.forEach((line, i) => {
    const header = oldLeft + newLeft > 0 ? null : /^@@ -(\d+),(\d+) \+(\d+),(\d+) @@/.exec(line);
    if (header !== null) {
      [oldNumber, oldLeft, newNumber, newLeft] = header.slice(1).map(Number);
      if (oldLeft === 0) oldNumber++;
      if (newLeft === 0) newNumber++;
      return;
    }
    if (oldLeft + newLeft === 0) {
      files.push([line]);
      return;
    }
    for (; range < ranges.length && ranges[range][0] === i; range++) {
      const [, character, length] = ranges[range];
      files[files.length - 1].push(
        showMatch(line[0], line[0] === "-" ? oldNumber : newNumber, line.slice(1), character, length),
      );
    }
    if (line[0] !== "+") [oldLeft, oldNumber] = [oldLeft - 1, oldNumber + 1];
    if (line[0] !== "-") [newLeft, newNumber] = [newLeft - 1, newNumber + 1];
  });
  if (oldLeft !== 0 || newLeft !== 0 || range !== ranges.length || matchCount !== ranges.length)
    files.push(["the text is not a diff"]);
  return files.map((file) => file.join(" "));
}

/** The plans of a query in the keyword syntax. */
export function plansOf(text: string): readonly HistoryPlan[] {
  return basicQueries(parseQuery(text, "keyword")).flatMap((query) => planHistory(query, new Analyses(text), 0));
}
