import { batch, signal } from "@preact/signals";
import { loadPart } from "../../route/load-part.js";
import { callAfter, type PendingCall } from "../../ui/delay.js";
import type { PatternType } from "../query-state.js";
import { findPlace, type CompletionPlace } from "./completion-place.js";
import { proposeAtOnce, type Completion } from "./completion-words.js";

/** Requests wait until nothing was typed for this long. */
const pauseMs = 120;

/** The proposals under the search field. */
export class CompletionState {
  readonly list = signal<readonly Completion[]>([]);
  /** Index in the list; -1 if none is chosen. */
  readonly chosen = signal(-1);
  #place: CompletionPlace | undefined;
  #cursor = 0;
  #pending: PendingCall | undefined;
  #stop = new AbortController();

  /** The text or the cursor has changed. */
  update(text: string, cursor: number, type: PatternType): void {
    this.close();
    const place = findPlace(text, cursor, type);
    if (place === undefined || (place.kind === "word" && place.prefix === "")) return;
    this.#place = place;
    this.#cursor = cursor;
    const first = proposeAtOnce(place);
    this.list.value = first;
    const { signal: stopped } = this.#stop;
    this.#pending = callAfter(pauseMs, () => {
      // What asks the server is loaded when it is first needed.
      loadPart(() => import("./completion-sources.js"))
        .then(({ proposeLater }) => proposeLater(place, text, stopped))
        .then(
          (later) => {
            if (!stopped.aborted) this.list.value = [...first, ...later];
          },
          // Without proposals the query can be typed as well.
          () => undefined,
        );
    });
  }

  close(): void {
    this.#pending?.cancel();
    this.#stop.abort();
    this.#stop = new AbortController();
    batch(() => {
      this.list.value = [];
      this.chosen.value = -1;
    });
  }

  /** Chooses the next or the previous proposal, or none before the first. */
  step(direction: 1 | -1): void {
    const count = this.list.peek().length;
    if (count === 0) return;
    this.chosen.value = ((this.chosen.peek() + 1 + direction + count + 1) % (count + 1)) - 1;
  }

  /** The query with a proposal, and where the cursor is then; undefined if there is no such proposal. */
  accept(text: string, index: number): { readonly text: string; readonly cursor: number } | undefined {
    const found = this.list.peek()[index];
    if (found === undefined || this.#place === undefined) return undefined;
    const rest = text.slice(this.#cursor);
    const insert = rest.startsWith(" ") ? found.insert.trimEnd() : found.insert;
    const before = text.slice(0, this.#place.from) + insert;
    return { text: before + rest, cursor: before.length };
  }
}
