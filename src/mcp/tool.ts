import type { RequestContext } from "../browse/request-context.js";
import { bytesDefault, bytesMax, bytesMin, type Answer } from "./answer.js";
import { readArguments, type Arguments, type Field, type Fields } from "./fields.js";

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
