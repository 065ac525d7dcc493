import type { StreamMatch } from "../../model/stream-events.js";
import { element } from "../ui/element.js";
import type { ResultStore } from "./result-store.js";

/** Before any group was measured: what one result usually takes, in pixels. */
const resultHeightGuess = 110;

/**
 * Results made for one frame, which is what a screen shows. The browser lays out lines of code slowly: for the 40 results
 * within reach of a screen it took 90 ms, in which nothing else was painted.
 */
const resultsPerFrameMax = 8;

/** The first frame has fewer, because someone waits for it; they fill most screens. */
const firstResultsMax = 3;

/** Makes the element of a result. */
export type ResultView = (match: StreamMatch, key: string) => HTMLElement;

interface ShownGroup {
  readonly element: HTMLElement;
  /** Results that are in the element. */
  count: number;
}

/**
 * Shows the results of a store: the groups near the visible part of the page are in the document, and all others are
 * two empty spaces of their height. The document stays as small as it is for one screen of results, whatever their
 * number.
 */
export class ResultList {
  readonly #host: HTMLElement;
  readonly #store: ResultStore;
  readonly #view: ResultView;
  readonly #above = element("div", { "aria-hidden": "true" });
  readonly #below = element("div", { "aria-hidden": "true" });
  readonly #shown = new Map<number, ShownGroup>();
  readonly #heights = new Map<number, number>();
  readonly #sizes: ResizeObserver;
  readonly #onScroll = (): void => this.refresh();
  #measuredHeight = 0;
  #measuredCount = 0;
  #frame = 0;

  /** The list ends with `close`. */
  constructor(host: HTMLElement, store: ResultStore, view: ResultView) {
    this.#host = host;
    this.#store = store;
    this.#view = view;
    host.replaceChildren(this.#above, this.#below);
    this.#sizes = new ResizeObserver((entries) => {
      for (const { target } of entries) this.#measure(target as HTMLElement);
    });
    window.addEventListener("scroll", this.#onScroll, { passive: true });
    window.addEventListener("resize", this.#onScroll);
    this.update();
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#sizes.disconnect();
    window.removeEventListener("scroll", this.#onScroll);
    window.removeEventListener("resize", this.#onScroll);
    this.#host.replaceChildren();
  }

  /** Updates the list before the next frame. */
  refresh(): void {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.update();
    });
  }

  update(): void {
    if (this.#store.groupCount === 0) return;
    // For the first frame, where the list is must not be measured: the browser would lay out the page twice.
    const isFirst = this.#shown.size === 0;
    const [first, last] = this.#visibleGroups(isFirst ? 0 : -this.#host.getBoundingClientRect().top);
    for (const [index, { element: old }] of this.#shown) {
      if (index >= first && index <= last) continue;
      this.#sizes.unobserve(old);
      old.remove();
      this.#shown.delete(index);
    }
    let left = isFirst ? firstResultsMax : resultsPerFrameMax;
    for (let index = first; index <= last; index++) left -= this.#show(index, left);
    if (left <= 0) this.refresh();
    this.#setSpaces();
  }

  /** The first and the last group that are at most a screen and a half away from the visible part, which begins at `top`. */
  #visibleGroups(top: number): readonly [first: number, last: number] {
    const margin = window.innerHeight * 1.5;
    const count = this.#store.groupCount;
    let first = count;
    let last = -1;
    let at = 0;
    for (let index = 0; index < count && at < top + window.innerHeight + margin; index++) {
      at += this.#heightOf(index);
      if (at <= top - margin) continue;
      first = Math.min(first, index);
      last = index;
    }
    return [first, last];
  }

  #heightOf(index: number): number {
    const mean = this.#measuredCount === 0 ? resultHeightGuess : this.#measuredHeight / this.#measuredCount;
    return this.#heights.get(index) ?? this.#store.countOf(index) * mean;
  }

  /** Shows a group, with at most that many further results. Returns how many were made. */
  #show(index: number, countMax: number): number {
    const known = this.#shown.get(index);
    if (known !== undefined) return known.count < this.#store.countOf(index) ? this.#fill(index, known, countMax) : 0;
    const made = element("div", { class: "result-group", "data-group": index });
    const group = { element: made, count: 0 };
    const next = [...this.#shown].filter(([other]) => other > index).sort(([one], [other]) => one - other)[0];
    this.#host.insertBefore(made, next?.[1].element ?? this.#below);
    this.#shown.set(index, group);
    const count = this.#fill(index, group, countMax);
    this.#sizes.observe(made);
    return count;
  }

  #fill(index: number, group: ShownGroup, countMax: number): number {
    const results = this.#store.read(index, group.count, Math.max(0, countMax));
    if (!(results instanceof Promise)) return this.#append(index, group, results);
    group.element.style.minHeight = `${this.#heightOf(index)}px`;
    group.count = this.#store.countOf(index);
    results.then(
      (found) => {
        group.count = 0;
        group.element.replaceChildren();
        this.#append(index, group, found);
      },
      () => group.element.replaceChildren("These results could not be read again. Run the search once more."),
    );
    return 0;
  }

  /** A group that is not whole yet is as high as it is expected to become. */
  #append(index: number, group: ShownGroup, added: readonly StreamMatch[]): number {
    const made = added.map((match, at) => this.#view(match, `${index}:${group.count + at}`));
    group.element.append(...made);
    group.count += added.length;
    group.element.style.minHeight = group.count < this.#store.countOf(index) ? `${this.#heightOf(index)}px` : "";
    return added.length;
  }

  #measure(shown: HTMLElement): void {
    const index = Number(shown.dataset["group"]);
    const height = shown.offsetHeight;
    const group = this.#shown.get(index);
    if (height === 0 || group?.element !== shown || group.count < this.#store.countOf(index)) return;
    if (!this.#heights.has(index)) {
      this.#measuredHeight += height;
      this.#measuredCount += this.#store.countOf(index);
    }
    if (Math.abs((this.#heights.get(index) ?? 0) - height) < 1) return;
    this.#heights.set(index, height);
    this.refresh();
  }

  #setSpaces(): void {
    const indexes = [...this.#shown.keys()];
    const [first, last] = [Math.min(...indexes), Math.max(...indexes)];
    let [above, below] = [0, 0];
    for (let index = 0; index < this.#store.groupCount; index++) {
      if (index < first) above += this.#heightOf(index);
      else if (index > last) below += this.#heightOf(index);
    }
    this.#above.style.height = `${Math.min(above, spaceMax)}px`;
    this.#below.style.height = `${Math.min(below, spaceMax)}px`;
  }
}

/** Browsers limit the height of a page to about 33 million pixels. */
const spaceMax = 15_000_000;
