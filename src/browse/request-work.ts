import { TrawlError } from "../base/errors.js";
import { resultWhileYielding } from "../base/yielding.js";

/**
 * Limit on the records that one request may examine in all: one second of the main thread, if each is matched against a
 * regular expression.
 */
const recordsMax = 1_500_000;

/**
 * Iteration of the fields of one request over repositories, users or contexts. It is done in steps, interleaved with
 * other work; fields with the same work share its result; and all of them together examine at most `recordsMax`
 * records.
 */
export class RequestWork {
  readonly #isWanted: () => boolean;
  readonly #results = new Map<string, Promise<unknown>>();
  readonly #numberOfList = new Map<object, number>();
  #recordCount = 0;

  /** Work ends with `cancelled` if it is no longer wanted. */
  constructor(isWanted: () => boolean) {
    this.#isWanted = isWanted;
  }

  /**
   * Does work that examines this many records, and resolves with its result. Each `yield` ends a step. Rejects with
   * `bad-request` if there are too many records.
   */
  run<T>(recordCount: number, work: Iterator<unknown, T>): Promise<T> {
    this.#recordCount += recordCount;
    if (this.#recordCount <= recordsMax) return resultWhileYielding(this.#whileWanted(work));
    return Promise.reject(
      new TrawlError(
        "bad-request",
        `this request examines more than ${recordsMax} repositories, users or similar records; split its fields into several requests`,
      ),
    );
  }

  /** Like `run`, but done once for all fields with this key. */
  once<T>(key: string, recordCount: number, work: () => Iterator<unknown, T>): Promise<T> {
    const known = this.#results.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const result = this.run(recordCount, work());
    this.#results.set(key, result);
    return result;
  }

  /**
   * A key for the arguments of a field. Lists are considered equal only if they come from the same variable, so that
   * they need not be compared.
   */
  cacheKey(kind: string, args: object): string {
    return JSON.stringify([
      kind,
      ...Object.entries(args).map(([name, value]) => [
        name,
        Array.isArray(value) ? this.#keyOfList(value) : (value as unknown),
      ]),
    ]);
  }

  #keyOfList(list: object): { readonly list: number } {
    const number = this.#numberOfList.get(list) ?? this.#numberOfList.size;
    this.#numberOfList.set(list, number);
    return { list: number };
  }

  *#whileWanted<T>(work: Iterator<unknown, T>): Generator<void, T> {
    for (;;) {
      if (!this.#isWanted()) throw new TrawlError("cancelled", "the request timed out, or its client disconnected");
      const step = work.next();
      if (step.done === true) return step.value;
      yield;
    }
  }
}
