import { randomUUID } from "node:crypto";
import { BoundedMap } from "../../base/bounded-map.js";
import type { Viewer } from "../../model/viewer.js";

/** Number of cached traces of recent searches. */
const traceCountMax = 256;

/**
 * Traces of recent searches. A trace is visible to the user who searched and to site admins; the trace of an
 * anonymous search is visible to anyone who knows its id, which cannot be guessed.
 */
export class TraceStore {
  readonly #traces = new BoundedMap<string, { readonly makeText: () => string; readonly userId: number | undefined }>(
    traceCountMax,
    () => 1,
  );

  newId(): string {
    return randomUUID();
  }

  /** `makeText` is called when somebody asks for the trace, and until then keeps what it refers to in memory. */
  add(id: string, makeText: () => string, { userId }: Viewer): void {
    this.#traces.set(id, { makeText, userId });
  }

  get(id: string, viewer: Viewer): string | undefined {
    const trace = this.#traces.get(id);
    if (trace === undefined) return undefined;
    const isOwn = trace.userId === undefined || trace.userId === viewer.userId;
    return isOwn || viewer.isSiteAdmin ? trace.makeText() : undefined;
  }
}
