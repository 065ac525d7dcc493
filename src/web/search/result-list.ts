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

/** Where someone was in the list, by a result: heights above it are guesses again when the list is made again. */
export interface ListPlace {
  readonly group: number;
  /** Of the result in its group. */
  readonly index: number;
  /** Pixels from the top of the window to that of the result; it may be negative. */
  readonly offset: number;
}

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
  readonly #onPlace: (place: ListPlace | undefined) => void;
  readonly #above = element("div", { "aria-hidden": "true" });
  readonly #below = element("div", { "aria-hidden": "true" });
  readonly #shown = new Map<number, ShownGroup>();
  readonly #heights = new Map<number, number>();
  readonly #sizes: ResizeObserver;
  readonly #onScroll = (): void => this.refresh();
  #measuredHeight = 0;
  #measuredCount = 0;
  #frame = 0;
  /** The place that is held until the results around it are there, or someone scrolls. */
  #held: ListPlace | undefined;
  readonly #release = (): void => {
    this.#held = undefined;
  };

  /**
   * The list ends with `close`. It begins at `place`, undefined for its top, as soon as the store has that result.
   * `onPlace` is told the place of each frame.
   */
  constructor(
    host: HTMLElement,
    store: ResultStore,
    view: ResultView,
    place: ListPlace | undefined,
    onPlace: (place: ListPlace | undefined) => void,
  ) {
    this.#host = host;
    this.#store = store;
    this.#view = view;
    this.#held = place;
    this.#onPlace = onPlace;
    host.replaceChildren(this.#above, this.#below);
    this.#sizes = new ResizeObserver((entries) => {
      for (const { target } of entries) this.#measure(target as HTMLElement);
    });
    window.addEventListener("scroll", this.#onScroll, { passive: true });
    window.addEventListener("resize", this.#onScroll);
    for (const name of scrollingEvents) window.addEventListener(name, this.#release, { passive: true });
    this.update();
  }

  close(): void {
    cancelAnimationFrame(this.#frame);
    this.#sizes.disconnect();
    window.removeEventListener("scroll", this.#onScroll);
    window.removeEventListener("resize", this.#onScroll);
    for (const name of scrollingEvents) window.removeEventListener(name, this.#release);
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
    const held = this.#held !== undefined && this.#held.group < this.#store.groupCount ? this.#held : undefined;
    if (held !== undefined) return this.#updateAt(held);
    // For the first frame, where the list is must not be measured: the browser would lay out the page twice.
    const isFirst = this.#shown.size === 0;
    if (!isFirst && this.#held === undefined) this.#onPlace(this.#findPlace());
    const top = isFirst ? 0 : -this.#host.getBoundingClientRect().top;
    if (this.#showAround(top, isFirst ? firstResultsMax : resultsPerFrameMax)) this.refresh();
    this.#setSpaces();
  }

  /** Shows the results around a place, first of all the one that it names, and scrolls to it. */
  #updateAt(held: ListPlace): void {
    const { group, index, offset } = held;
    const missing = index + 1 - (this.#shown.get(group)?.count ?? 0);
    let top = -offset;
    for (let at = 0; at < group; at++) top += this.#heightOf(at);
    const isMade = missing > 0 && this.#show(group, missing) > 0;
    const hasMore = this.#showAround(top, resultsPerFrameMax) || isMade;
    this.#setSpaces();
    const shown = this.#shown.get(group)?.element;
    const result = shown?.children[index];
    const distance = ((result ?? shown)?.getBoundingClientRect().top ?? offset) - offset;
    const before = window.scrollY;
    if (Math.abs(distance) >= 1) window.scrollBy({ top: distance, behavior: "instant" });
    // At an end of the page it stays where it is.
    const isThere = window.scrollY === before;
    if (isThere && !hasMore && result !== undefined) this.#release();
    // A result that is still to be read, or to be found, comes with an update of its own.
    if (!isThere || hasMore || this.#held === undefined) this.refresh();
  }

  /** The first result in sight; undefined at the top of the page. */
  #findPlace(): ListPlace | undefined {
    if (window.scrollY <= 0) return undefined;
    for (const [group, { element: shown }] of [...this.#shown].sort(([one], [other]) => one - other)) {
      if (shown.getBoundingClientRect().bottom <= headerHeight) continue;
      const index = [...shown.children].findIndex((child) => child.getBoundingClientRect().bottom > headerHeight);
      const offset = shown.children[index]?.getBoundingClientRect().top;
      if (offset !== undefined) return { group, index, offset };
    }
    return undefined;
  }

  /** Shows the groups near the visible part, which begins at `top`. Returns whether more remains than this many results. */
  #showAround(top: number, countMax: number): boolean {
    const [first, last] = this.#visibleGroups(top);
    for (const [index, { element: old }] of this.#shown) {
      if (index >= first && index <= last) continue;
      this.#sizes.unobserve(old);
      old.remove();
      this.#shown.delete(index);
    }
    let left = countMax;
    for (let index = first; index <= last; index++) left -= this.#show(index, left);
    return left <= 0;
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
        if (this.#held !== undefined) this.refresh();
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

/** Pixels that the header covers. */
export const headerHeight = 60;

/** What someone does to scroll. */
const scrollingEvents = ["wheel", "touchmove", "keydown", "pointerdown"] as const;

/** Browsers limit the height of a page to about 33 million pixels. */
const spaceMax = 15_000_000;
