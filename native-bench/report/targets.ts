import { grouped, short } from "./numbers.js";
import type { SuiteReport, Table, Target } from "./run-report.js";

export type Verdict = "meets aim" | "meets must" | "MISSES MUST" | "misses aim" | "not measured" | "";

/** "" for a figure without limits. */
export function judge({ value, better, must, aim }: Target): Verdict {
  if (must === undefined && aim === undefined) return "";
  if (value === undefined || Number.isNaN(value)) return "not measured";
  const reaches = (limit: number): boolean => (better === "less" ? value <= limit : value >= limit);
  if (must !== undefined && !reaches(must)) return "MISSES MUST";
  if (aim !== undefined && reaches(aim)) return "meets aim";
  return must !== undefined ? "meets must" : "misses aim";
}

export function targetsTable(suites: readonly SuiteReport[]): Table {
  const toRow = (suite: string, target: Target): string[] => [
    suite,
    target.what,
    target.value === undefined ? "–" : withUnit(short(target.value), target.unit),
    limitText(target, target.must),
    limitText(target, target.aim),
    judge(target),
    target.note,
  ];
  return {
    title: "Figures and their targets",
    head: ["suite", "what", "measured", "must", "aim", "", "note"],
    rows: suites.flatMap(({ suite, targets }) => targets.map((target) => toRow(suite, target))),
  };
}

/** One sentence about all of them. */
export function targetsSummary(suites: readonly SuiteReport[]): string {
  const verdicts = suites.flatMap(({ targets }) => targets.map(judge)).filter((verdict) => verdict !== "");
  if (verdicts.length === 0) return "No figure of this run has a target.";
  const count = (...wanted: Verdict[]): number => verdicts.filter((verdict) => wanted.includes(verdict)).length;
  const [aims, musts] = [count("meets aim"), count("meets must", "misses aim")];
  const [misses, missing] = [count("MISSES MUST"), count("not measured")];
  return `Of ${grouped(verdicts.length)} figures with a target, ${aims} meet the aim, ${musts} the must, ${misses} miss it, ${missing} could not be measured.`;
}

function limitText({ better, unit }: Target, limit: number | undefined): string {
  return limit === undefined ? "" : withUnit(`${better === "less" ? "≤" : "≥"} ${limit}`, unit);
}

/** `3x` and `90%`, but `3 ms`. */
function withUnit(value: string, unit: string): string {
  return unit === "x" || unit === "%" ? `${value}${unit}` : `${value} ${unit}`;
}
