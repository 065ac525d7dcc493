import { batch, signal } from "@preact/signals";
import { loadPart } from "../../route/load-part.js";
import { callAfter, type PendingCall, typingPauseMs } from "../../ui/delay.js";
import { fieldAt, type FieldName } from "../../../query/syntax/fields.js";
import { keptSearches } from "../kept-searches.js";
import type { FilterHelp } from "../query-help.js";
import type { PatternType, QueryState } from "../query-state.js";
import { type Completion, type CompletionPlace, findPlace, proposeAtOnce } from "./completion-words.js";

/** Searches that are proposed at once. */
const historyMax = 12;

/** The proposals under the search field. */
export class CompletionState {
  readonly list = signal<readonly Completion[]>([]);
  /** Index in the list; -1 if none is chosen. */
  readonly chosen = signal(-1);
  /** What the filter at the cursor, or the chosen one, does; empty for none. */
  readonly help = signal<readonly FilterHelp[]>([]);
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
    if (place.kind === "value") this.#showHelp(place.field);
    const { signal: stopped } = this.#stop;
    this.#pending = callAfter(typingPauseMs, () => {
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

  /** Proposes what was searched before, of which the text is a part. */
  openHistory(text: string): void {
    this.close();
    this.list.value = keptSearches(text)
      .filter((search) => search.text !== text.trim())
      .slice(0, historyMax)
      .map((search) => ({
        label: search.text,
        note: `${search.patternType}${search.caseSensitive ? ", case counts" : ""}`,
        insert: search.text,
        search,
      }));
  }

  close(): void {
    this.#pending?.cancel();
    this.#stop.abort();
    this.#stop = new AbortController();
    batch(() => {
      this.list.value = [];
      this.chosen.value = -1;
      this.help.value = [];
    });
  }

  /** Chooses the next or the previous proposal, or none before the first. */
  step(direction: 1 | -1): void {
    const count = this.list.peek().length;
    if (count === 0) return;
    this.chosen.value = ((this.chosen.peek() + 1 + direction + count + 1) % (count + 1)) - 1;
    if (this.#place?.kind !== "word") return;
    const field = fieldAt(this.list.peek()[this.chosen.peek()]?.insert ?? "", 0)?.name;
    if (field === undefined) this.help.value = [];
    else this.#showHelp(field);
  }

  /** The texts are loaded when they are first needed. */
  #showHelp(field: FieldName): void {
    const { signal: stopped } = this.#stop;
    loadPart(() => import("../query-help.js")).then(
      ({ findHelp }) => {
        if (!stopped.aborted) this.help.value = findHelp(field);
      },
      () => undefined,
    );
  }

  /** The query with a proposal, and where the cursor is then; undefined if there is no such proposal. */
  accept(query: QueryState, index: number): { readonly query: QueryState; readonly cursor: number } | undefined {
    const found = this.list.peek()[index];
    if (found?.search !== undefined) return { query: found.search, cursor: found.search.text.length };
    if (found === undefined || this.#place === undefined) return undefined;
    const { text } = query;
    const rest = text.slice(this.#cursor);
    const insert = rest.startsWith(" ") ? found.insert.trimEnd() : found.insert;
    const before = text.slice(0, this.#place.from) + insert;
    return { query: { ...query, text: before + rest }, cursor: before.length };
  }
}
