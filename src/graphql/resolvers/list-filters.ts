import { TrawlError } from "../../base/errors.js";

/** Tests whether a name or display name contains a text, ignoring case; without a text, all do. */
export function namesHold(
  text: string | null | undefined,
): (named: { readonly name: string; readonly displayName: string }) => boolean {
  if (text === undefined || text === null || text === "") return () => true;
  const lower = text.toLowerCase();
  return ({ name, displayName }) => name.toLowerCase().includes(lower) || displayName.toLowerCase().includes(lower);
}

/** Milliseconds of the wall clock. Throws `bad-request` for an invalid date. */
export function parseTime(text: string): number {
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new TrawlError(
      "bad-request",
      `${JSON.stringify(text.slice(0, 100))} is not a date as in 2026-01-31T00:00:00Z`,
    );
  return ms;
}
