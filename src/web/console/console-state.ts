/** What the console holds; the part of its address after `#` names it, so that a link can be shared. */
export interface ConsoleState {
  readonly query: string;
  /** JSON with comments, or "". */
  readonly variables: string;
  /** "" if the document has one operation. */
  readonly operationName: string;
}

/** A longer state is not in the address: browsers and programs that pass links on cut them. */
const hashLengthMax = 32_000;

/** The state in an address; undefined if it has none. */
export function readConsoleHash(hash: string): ConsoleState | undefined {
  const given = new URLSearchParams(hash.replace(/^#/, ""));
  const query = given.get("query");
  if (query === null) return undefined;
  return { query, variables: given.get("variables") ?? "", operationName: given.get("operationName") ?? "" };
}

/** "" for a state that is too long. */
export function writeConsoleHash({ query, variables, operationName }: ConsoleState): string {
  const parameters = new URLSearchParams({ query });
  if (variables.trim() !== "") parameters.set("variables", variables);
  if (operationName !== "") parameters.set("operationName", operationName);
  const hash = `#${parameters}`;
  return hash.length > hashLengthMax ? "" : hash;
}

const historyKey = "trawl-console-history";
const historyCountMax = 40;
const historyLengthMax = 200_000;

/** What was run in this browser, the newest first. */
export function readHistory(): readonly ConsoleState[] {
  try {
    const found: unknown = JSON.parse(localStorage.getItem(historyKey) ?? "[]");
    return Array.isArray(found) ? found.filter(isState) : [];
  } catch {
    // Storage may be switched off, and holds what other programs left there.
    return [];
  }
}

/** Adds a state, without its older copies, and returns the history. What is longer than its limit is not kept. */
export function addToHistory(state: ConsoleState): readonly ConsoleState[] {
  const isSame = ({ query, variables }: ConsoleState): boolean =>
    query === state.query && variables === state.variables;
  const all = [state, ...readHistory().filter((other) => !isSame(other))].slice(0, historyCountMax);
  while (all.length > 0 && JSON.stringify(all).length > historyLengthMax) all.pop();
  return writeHistory(all);
}

export function clearHistory(): readonly ConsoleState[] {
  return writeHistory([]);
}

function writeHistory(all: readonly ConsoleState[]): readonly ConsoleState[] {
  try {
    localStorage.setItem(historyKey, JSON.stringify(all));
  } catch {
    // It is then kept for as long as the page is.
  }
  return all;
}

function isState(value: unknown): value is ConsoleState {
  if (typeof value !== "object" || value === null) return false;
  const { query, variables, operationName } = value as Partial<Record<keyof ConsoleState, unknown>>;
  return typeof query === "string" && typeof variables === "string" && typeof operationName === "string";
}
