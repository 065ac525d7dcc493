import type { Operations } from "../../api/operation-types.js";

type Blob = NonNullable<NonNullable<NonNullable<Operations["FileOutline"]["data"]["repository"]>["commit"]>["blob"]>;

/** A symbol of a file with how deeply it is nested, as the server tells. */
export type OutlineItem = NonNullable<Blob["outline"]>[number];

const values: ReadonlySet<string> = new Set(["VARIABLE", "CONSTANT"]);
const functions: ReadonlySet<string> = new Set(["FUNCTION", "METHOD", "CONSTRUCTOR"]);

/**
 * The symbols that make up a file: without the variables of its functions, and without the names that it imports. A variable
 * whose container is not known is one of a function if its line is indented.
 */
export function leaveOutLocals(items: readonly OutlineItem[], lines: readonly string[]): readonly OutlineItem[] {
  const kinds = new Map<string, string>();
  return items.filter(({ symbol: { name, kind, containerName, location } }) => {
    const line = lines[location.range?.start.line ?? 0] ?? "";
    const container = containerName?.split(/\.|::|\//).at(-1) ?? "";
    const isInFunction = container === "" ? /^[ \t]/.test(line) : functions.has(kinds.get(container) ?? "");
    kinds.set(name, kind);
    return !values.has(kind) || !(isInFunction || /^[ \t]*(?:import|from|use|using|require)\b/.test(line));
  });
}

/** The index of the item that a line belongs to: the last one that begins at it or before; -1 before the first. */
export function itemAtLine(items: readonly OutlineItem[], line: number): number {
  return items.findLastIndex(({ symbol: { location } }) => (location.range?.start.line ?? 0) < line);
}
