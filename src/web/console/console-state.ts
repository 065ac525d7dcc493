import { isObject } from "../../base/is-object.js";
import { KeptList } from "../ui/kept-list.js";

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

const kept = new KeptList<ConsoleState>("console", { count: 40, length: 200_000 }, isState);

/** What was run in this browser, the newest first. */
export function readHistory(): readonly ConsoleState[] {
  return kept.read();
}

/** Adds a state, without its older copies, and returns the history. What is longer than its limit is not kept. */
export function addToHistory(state: ConsoleState): readonly ConsoleState[] {
  return kept.add(state, ({ query, variables }) => query === state.query && variables === state.variables);
}

export function clearHistory(): readonly ConsoleState[] {
  return kept.write([]);
}

function isState(value: unknown): value is ConsoleState {
  if (!isObject(value)) return false;
  const { query, variables, operationName } = value;
  return typeof query === "string" && typeof variables === "string" && typeof operationName === "string";
}
