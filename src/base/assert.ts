import { TrawlError } from "./errors.js";

/**
 * Throws if a condition that only a bug can violate is false; enabled in production. For conditions that users or the
 * environment can cause (input, disk, git), throw a `TrawlError` with a suitable code instead.
 */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new TrawlError("internal", `assertion failed: ${message}`);
}

/** Ends an exhaustive `switch`: the compiler rejects the call if a case is missing. */
export function unreachable(value: never): never {
  throw new TrawlError("internal", `unreachable value: ${JSON.stringify(value)}`);
}
