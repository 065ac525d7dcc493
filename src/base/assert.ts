import { TrawlError } from "./errors.js";

/**
 * Stops on a bug of ours; stays on in production. For anything the world can cause (input, disk, git), throw
 * a `TrawlError` of the fitting code instead.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new TrawlError("internal", `assertion failed: ${message}`);
}

/** Ends an exhaustive `switch`: the compiler refuses the call while a case is missing. */
export function unreachable(value: never): never {
  throw new TrawlError("internal", `unreachable value: ${JSON.stringify(value)}`);
}
