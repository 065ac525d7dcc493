import { BoundedMap } from "../base/bounded-map.js";
import type { Viewer } from "../model/viewer.js";

/** Traces of the latest searches are kept, so many of them. */
const traceCountMax = 256;

/** What recent searches did, as text, by search id. Each is for those who searched, and for site admins. */
export class TraceStore {
  readonly #traces = new BoundedMap<number, { readonly text: string; readonly userId: number | undefined }>(traceCountMax, () => 1);

  add(id: number, text: string, { userId }: Viewer): void {
    this.#traces.set(id, { text, userId });
  }

  get(id: number, viewer: Viewer): string | undefined {
    const trace = this.#traces.get(id);
    return trace !== undefined && (viewer.isSiteAdmin || viewer.userId === trace.userId) ? trace.text : undefined;
  }
}
