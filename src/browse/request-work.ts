import { TrawlError } from "../base/errors.js";
import { resultWhileYielding } from "../base/yielding.js";

/**
 * Records that one request may look at, however it asks: a second of the main thread, if each is tried by a regular
 * expression.
 */
const recordsMax = 1_500_000;

/**
 * What the fields of one request have to look through: repositories, users, contexts. It is done in steps, with other
 * work between them; fields that ask the same share the result; and all of them together look at `recordsMax` records
 * at most.
 */
export class RequestWork {
  readonly #isWanted: () => boolean;
  readonly #results = new Map<string, Promise<unknown>>();
  readonly #numberOfList = new Map<object, number>();
  #recordCount = 0;

  /** Work ends with `cancelled` when nobody wants it any more. */
  constructor(isWanted: () => boolean) {
    this.#isWanted = isWanted;
  }

  /**
   * What the work returns, which looks at so many records. Each `yield` ends a step. Rejects with `bad-request` when
   * they are too many.
   */
  run<T>(recordCount: number, work: Iterator<unknown, T>): Promise<T> {
    this.#recordCount += recordCount;
    if (this.#recordCount <= recordsMax) return resultWhileYielding(this.#whileWanted(work));
    return Promise.reject(
      new TrawlError(
        "bad-request",
        `this request looks at more than ${recordsMax} repositories, users and the like; send its fields in several requests`,
      ),
    );
  }

  /** The same, done once for all that ask by this key. */
  once<T>(key: string, recordCount: number, work: () => Iterator<unknown, T>): Promise<T> {
    const known = this.#results.get(key) as Promise<T> | undefined;
    if (known !== undefined) return known;
    const result = this.run(recordCount, work());
    this.#results.set(key, result);
    return result;
  }

  /**
   * A key for a field's arguments. A list counts as the same only where a variable gives it, so that it need not be
   * compared.
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
      if (!this.#isWanted())
        throw new TrawlError("cancelled", "the time of this request is over, or its client has left");
      const step = work.next();
      if (step.done === true) return step.value;
      yield;
    }
  }
}
