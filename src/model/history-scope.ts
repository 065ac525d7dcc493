/**
 * Which commits of a history are indexed: the newest `commitCountMax` of those that were committed at `since`, in Unix
 * seconds, or later.
 */
export interface HistoryScope {
  readonly commitCountMax: number;
  readonly since: number;
}

/** What a repository's `history` may be. */
export const historyScopePattern = "^(?:all|off|since [0-9]{4}-[0-9]{2}-[0-9]{2}|[1-9][0-9]{0,8} commits?)$";

/** Whether a text that matches the pattern names a day that exists, if it names one. */
export function isHistoryScope(text: string): boolean {
  const day = /^since (.*)$/.exec(text)?.[1];
  if (day === undefined) return true;
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(`${day}T`);
}

/** Parses the attribute `history` of a repository. */
export function parseHistoryScope(text: string): HistoryScope {
  if (text === "off") return { commitCountMax: 0, since: -Infinity };
  const [word, value] = text.split(" ");
  if (word === "since") return { commitCountMax: Infinity, since: Date.parse(`${value}T00:00:00Z`) / 1000 };
  return { commitCountMax: word === "all" ? Infinity : Number(word), since: -Infinity };
}
