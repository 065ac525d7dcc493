import type { Addon } from "../../src/native/kernel/addon.js";

/**
 * What the server reads of the bytes of one connection that arrive in pieces of this size, in latin1. Behind them the
 * receiver's buffer holds `rest`, which was received earlier and must not be read.
 */
export function filteredRequests(addon: Addon, input: Uint8Array, step: number, secret: string, rest = ""): string {
  const sizes = Uint32Array.from({ length: Math.ceil(input.length / step) }, (_, at) =>
    Math.min(step, input.length - step * at),
  );
  const out = Buffer.alloc(input.length + 1024, rest);
  addon.filterRequests(input, sizes, Buffer.from(secret), out);
  return out.toString(
    "latin1",
    0,
    sizes.reduce((sum, size) => sum + size, 0),
  );
}
