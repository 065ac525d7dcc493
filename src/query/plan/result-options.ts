import type { BasicQuery } from "./basic.js";
import type { FieldName } from "../fields/fields.js";
import type { ResultOptions } from "./plan.js";
import { findField } from "../fields/validate.js";
import { readCount, readTimeoutMs } from "../fields/values.js";

/**
 * The result options of valid basic queries, and the index of the options of each.
 *
 * If all have the same `count:`, the limit of the whole search enforces it, and equal options are shared. Otherwise
 * each query has its own options, so that its matches are counted separately.
 */
export function planResultOptions(queries: readonly BasicQuery[]): {
  readonly resultOptions: readonly ResultOptions[];
  readonly indexes: readonly number[];
} {
  const typed = queries.map(planOptions);
  if (typed.some(({ count }) => count !== typed[0].count)) return { resultOptions: typed, indexes: [...typed.keys()] };
  const numberOf = new Map<string, number>();
  const resultOptions: ResultOptions[] = [];
  const indexes = typed.map((one) => {
    const key = `${one.select} ${one.timeoutMs}`;
    const number = numberOf.get(key) ?? resultOptions.push(one) - 1;
    numberOf.set(key, number);
    return number;
  });
  return { resultOptions, indexes };
}

function planOptions(query: BasicQuery): ResultOptions {
  const fieldValue = (name: FieldName): string | undefined => findField(query, name)?.value;
  const [count, timeout] = [fieldValue("count"), fieldValue("timeout")];
  return {
    select: fieldValue("select"),
    count: count === undefined ? undefined : readCount(count),
    timeoutMs: timeout === undefined ? undefined : readTimeoutMs(timeout),
  };
}
