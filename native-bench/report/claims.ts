import { grouped, short } from "./numbers.js";
import type { Claim, PartRecord, Table } from "./record.js";

export type Verdict = "meets aim" | "meets must" | "MISSES MUST" | "misses aim" | "not measured" | "";

/** "" where nothing is asked of the figure. */
export function verdictOf(claim: Claim): Verdict {
  const { value, better, must, aim } = claim;
  if (must === undefined && aim === undefined) return "";
  if (value === undefined || Number.isNaN(value)) return "not measured";
  const reaches = (limit: number): boolean => (better === "less" ? value <= limit : value >= limit);
  if (must !== undefined && !reaches(must)) return "MISSES MUST";
  if (aim !== undefined && reaches(aim)) return "meets aim";
  return must !== undefined ? "meets must" : "misses aim";
}

export function claimsTable(parts: readonly PartRecord[]): Table {
  const rows = parts.flatMap(({ part, claims }) =>
    claims.map((claim) => [
      part,
      claim.what,
      claim.value === undefined ? "–" : withUnit(short(claim.value), claim.unit),
      limitText(claim, claim.must),
      limitText(claim, claim.aim),
      verdictOf(claim),
      claim.note,
    ]),
  );
  return {
    title: "Figures, and what each is held to",
    head: ["part", "what", "measured", "must", "aim", "", "note"],
    rows,
  };
}

/** One sentence about all of them. */
export function claimsSummary(parts: readonly PartRecord[]): string {
  const verdicts = parts.flatMap(({ claims }) => claims.map(verdictOf)).filter((verdict) => verdict !== "");
  if (verdicts.length === 0) return "No figure of this run is held to anything.";
  const count = (wanted: Verdict): number => verdicts.filter((verdict) => verdict === wanted).length;
  const counts = [
    `${count("meets aim")} meet the aim`,
    `${count("meets must") + count("misses aim")} the must`,
    `${count("MISSES MUST")} miss it`,
    `${count("not measured")} could not be measured`,
  ];
  return `Of ${grouped(verdicts.length)} figures that are held to something, ${counts.join(", ")}.`;
}

function limitText({ better, unit }: Claim, limit: number | undefined): string {
  return limit === undefined ? "" : withUnit(`${better === "less" ? "≤" : "≥"} ${limit}`, unit);
}

/** `3x` and `90%`, but `3 ms`. */
function withUnit(value: string, unit: string): string {
  return unit === "x" || unit === "%" ? `${value}${unit}` : `${value} ${unit}`;
}

type Limits = Pick<Claim, "must" | "aim">;

export function atMost(what: string, unit: string, value: number, { must, aim }: Limits, note: string): Claim {
  return { what, unit, value, better: "less", must, aim, note };
}

export function atLeast(what: string, unit: string, value: number, { must, aim }: Limits, note: string): Claim {
  return { what, unit, value, better: "more", must, aim, note };
}
