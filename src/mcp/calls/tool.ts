import { TrawlError } from "../../base/errors.js";
import type { RequestContext } from "../../browse/request-context.js";
import { type Arguments, type Field, type Fields, readArguments } from "./tool-fields.js";

/** Something that an answer does not contain, although it belongs to what was asked for. */
export interface Exclusion {
  /** For programs: `max_bytes`, `limit`, `index`, or the reason of a search. */
  readonly reason: string;
  /** What is left out, and how to get it. */
  readonly message: string;
}

/** What a tool found. */
export interface Answer {
  /** Members of the answer before the list. */
  readonly head: Readonly<Record<string, unknown>>;
  /** Name of the list, such as `results`; undefined if the answer has none. */
  readonly listName?: string;
  readonly items?: readonly unknown[];
  readonly excluded: readonly Exclusion[];
  /** Whether the same call has the same answer as long as the catalog does not change. */
  readonly isRepeatable?: boolean;
}

/** Bounds of `max_bytes`: the text is written on the main thread, and once more as a part of the response. */
export const bytesMin = 1_000;
export const bytesMax = 256 << 10;
const bytesDefault = 64 << 10;

/** Kept for what is left out, and for punctuation. */
const restBytes = 300;

/** Items written in one step. */
const itemsOfStep = 50;

/**
 * The answer as JSON of at most `maxBytes`, except for a long head or list of what is left out: the first items that fit,
 * and in `completeness` everything that is missing.
 */
export function* writeAnswerInSteps(
  { head, listName, items = [], excluded }: Answer,
  maxBytes: number,
): Generator<void, string> {
  const headText = JSON.stringify(head).slice(1, -1);
  const left = [...excluded];
  let room = maxBytes - Buffer.byteLength(headText) - Buffer.byteLength(JSON.stringify(left)) - restBytes;
  const texts: string[] = [];
  for (const item of items) {
    const text = JSON.stringify(item);
    room -= Buffer.byteLength(text) + 1;
    if (room < 0) break;
    texts.push(text);
    if (texts.length % itemsOfStep === 0) yield;
  }
  if (texts.length < items.length)
    left.push({
      reason: "max_bytes",
      message: `${items.length - texts.length} of ${items.length} ${listName} are left out, because the answer would have more than ${maxBytes} bytes: ask for less, or raise max_bytes`,
    });
  const completeness = JSON.stringify({ complete: left.length === 0, excluded: left });
  const list = listName === undefined ? [] : [`"${listName}":[${texts.join(",")}]`];
  return `{${[...(headText === "" ? [] : [headText]), ...list, `"completeness":${completeness}`].join(",")}}`;
}

/** A tool. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly fields: Fields;
  /** Checks the arguments of a call. This and `run` throw a `TrawlError` whose message the assistant reads. */
  read(given: Readonly<Record<string, unknown>>): CheckedArguments;
  run(args: CheckedArguments, context: RequestContext): Promise<Answer>;
}

/** The arguments of a call, those that were not given too, in the order of the fields. */
export type CheckedArguments = Arguments<Fields> & { readonly max_bytes: number };

const maxBytesField = {
  kind: "integer",
  min: bytesMin,
  max: bytesMax,
  default: bytesDefault,
  description: "Limit on the size of the answer in bytes. What does not fit is counted in completeness.",
} as const satisfies Field;

interface ToolParts<F extends Fields> {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly fields: F;
  readonly run: (args: Arguments<F>, context: RequestContext, maxBytes: number) => Promise<Answer>;
}

/** A tool, with the argument `max_bytes` that all tools have. */
export function defineTool<F extends Fields>({ run, fields, ...tool }: ToolParts<F>): Tool {
  const all = { ...fields, max_bytes: maxBytesField };
  return {
    ...tool,
    fields: all,
    read: (given) => readArguments<Fields>(all, given) as CheckedArguments,
    run: (args, context) => run(args as unknown as Arguments<F>, context, args.max_bytes),
  };
}

export const text = (description: string) => ({ kind: "text", isRequired: false, description }) as const;

export const requiredText = (description: string) => ({ kind: "text", isRequired: true, description }) as const;

export const texts = (countMax: number, description: string) =>
  ({ kind: "texts", countMax, isRequired: false, description }) as const;

export const integer = <D extends number | undefined>(min: number, max: number, value: D, description: string) =>
  ({ kind: "integer", min, max, default: value, description }) as const;

export const repo = requiredText("Name of the repository, exactly as list_repos and search results give it.");

export const revision = text("Branch, tag or commit. Without it, the default branch.");

export const after = text("The nextCursor of the answer before, for what follows.");

/** A cursor: the number of items that come before. */
const cursorPattern = /^\d{1,9}$/;

/** How many items a call skips, by its argument `after`. Throws `bad-request`. */
export function readCursor(cursor: string): number {
  if (cursor !== "" && !cursorPattern.test(cursor))
    throw new TrawlError("bad-request", "after must be the nextCursor of an answer");
  return Number(cursor);
}
