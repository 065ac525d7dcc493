import type { Viewer } from "../model/viewer.js";

/** Traces of the latest searches are kept, so many of them. */
const traceCountMax = 256;

/** What recent searches did, as text, by search id. Each is for those who searched, and for site admins. */
export class TraceStore {
  readonly #traces = new Map<number, { readonly text: string; readonly userId: number | undefined }>();

  add(id: number, text: string, { userId }: Viewer): void {
    this.#traces.set(id, { text, userId });
    if (this.#traces.size <= traceCountMax) return;
    const [oldest] = this.#traces.keys();
    this.#traces.delete(oldest);
  }

  get(id: number, viewer: Viewer): string | undefined {
    const trace = this.#traces.get(id);
    return trace !== undefined && (viewer.isSiteAdmin || viewer.userId === trace.userId) ? trace.text : undefined;
  }
}
