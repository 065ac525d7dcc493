import "./names.css";
import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { PagePath } from "../../../model/page-path.js";
import { address, navigate } from "../../route/router.js";
import { callAfter, painted, type PendingCall } from "../../ui/delay.js";
import { addKeys } from "../../ui/keys.js";
import { readLineRange } from "../files/line-range.js";
import { keptDefinitions, readDefinitions } from "./name-answers.js";
import { NameCard, type PanelPart, type ShownCard, targetText } from "./name-card.js";
import { closePanel, NamePanel, openPanel, panel } from "./name-panel.js";
import {
  codeOfLine,
  markName,
  nameAtPoint,
  namesOfLine,
  type NamePlace,
  rangeOfName,
  usesInSight,
} from "./name-place.js";

/** A pointer that only passes asks for nothing. */
const restMs = 20;

/** So long a pointer may be on its way from the name to the card. */
const leaveMs = 250;

/** A second click within this time selects the word instead. */
const doubleClickMs = 250;

export { NamePanel };

interface NamesProps {
  readonly path: PagePath;
  /** The element with the lines. */
  readonly host: HTMLElement;
  /** Shows a line that may be out of sight, or not made yet. Lines count from 0. */
  readonly reveal: (line: number) => void;
  readonly lineCount: number;
}

/** What names mean: a card at the name under the pointer or chosen by keys, and the way to its definition and uses. */
export function Names({ path, host, reveal, lineCount }: NamesProps) {
  const card = useSignal<ShownCard | undefined>(undefined);
  const said = useSignal("");
  const names = useRef<NameReader | undefined>(undefined);
  useLayoutEffect(() => {
    const reader = new NameReader(path, host, card, said, reveal, lineCount);
    names.current = reader;
    return () => reader.close();
  }, [path.name, path.revision, path.path, host, lineCount]);
  useLayoutEffect(
    () =>
      addKeys([
        { key: "]", what: "Next name in the file", act: () => names.current?.step(1) },
        { key: "[", what: "Previous name in the file", act: () => names.current?.step(-1) },
        { key: "d", what: "Go to the definition of the name", act: () => names.current?.go() },
        { key: "r", what: "Show where the name is used", act: () => names.current?.showPart("references") },
        { key: "i", what: "Show what implements the name", act: () => names.current?.showPart("implementations") },
      ]),
    [],
  );
  const shown = card.value;
  return (
    <>
      <p class="unseen" role="status">
        {said.value}
      </p>
      {shown !== undefined && (
        <NameCard
          card={shown}
          page={path}
          enter={() => names.current?.stay()}
          leave={() => names.current?.leave()}
          go={() => names.current?.go(shown.place)}
          show={(part) => names.current?.showPart(part, shown.place)}
        />
      )}
    </>
  );
}

class NameReader {
  readonly #path: PagePath;
  readonly #host: HTMLElement;
  readonly #card: Signal<ShownCard | undefined>;
  readonly #said: Signal<string>;
  readonly #reveal: (line: number) => void;
  readonly #lineCount: number;
  readonly #closed = new AbortController();
  #request = new AbortController();
  /** The name that keys have chosen. */
  #cursor: NamePlace | undefined;
  #under: NamePlace | undefined;
  #rest: PendingCall | undefined;
  #leaving: PendingCall | undefined;
  #clicked: PendingCall | undefined;

  constructor(
    path: PagePath,
    host: HTMLElement,
    card: Signal<ShownCard | undefined>,
    said: Signal<string>,
    reveal: (line: number) => void,
    lineCount: number,
  ) {
    this.#path = path;
    this.#host = host;
    this.#card = card;
    this.#said = said;
    this.#reveal = reveal;
    this.#lineCount = lineCount;
    const { signal } = this.#closed;
    host.addEventListener("pointermove", (event) => this.#move(event), { signal });
    host.addEventListener("pointerleave", () => this.leave(), { signal });
    host.addEventListener("click", (event) => this.#click(event), { signal });
    host.addEventListener("dblclick", () => this.#clicked?.cancel(), { signal });
    host.addEventListener("scroll", () => this.#hide(), { signal });
    window.addEventListener("scroll", () => this.#card.peek()?.isByPointer === true && this.#hide(), { signal });
    document.addEventListener("keydown", (event) => this.#escape(event), { signal });
  }

  close(): void {
    this.#closed.abort();
    this.#request.abort();
    for (const pending of [this.#rest, this.#leaving, this.#clicked]) pending?.cancel();
    this.#hide();
  }

  /** The pointer is on the card. */
  stay(): void {
    this.#leaving?.cancel();
  }

  /** The pointer is neither on the name nor on the card. */
  leave(): void {
    this.#rest?.cancel();
    this.#under = undefined;
    if (this.#card.peek()?.isByPointer !== true) return;
    this.#leaving?.cancel();
    this.#leaving = callAfter(leaveMs, () => this.#hide());
  }

  #hide(): void {
    this.#request.abort();
    this.#card.value = undefined;
    markName(undefined);
  }

  #move({ clientX, clientY, buttons, pointerType }: PointerEvent): void {
    // While something is being selected, nothing covers it.
    if (buttons !== 0 || pointerType === "touch") return;
    this.#rest?.cancel();
    this.#rest = callAfter(restMs, () => {
      const place = nameAtPoint(clientX, clientY);
      if (place === undefined) return this.leave();
      this.stay();
      if (isSame(place, this.#under)) return;
      this.#under = place;
      void this.#show(place, true);
    });
  }

  /** A click leads to the definition, unless it selects something. With a finger it shows what the pointer would. */
  #click(event: MouseEvent): void {
    if (event.button !== 0 || event.shiftKey || event.altKey) return;
    const place = nameAtPoint(event.clientX, event.clientY);
    if (place === undefined || window.getSelection()?.isCollapsed === false) return;
    this.#cursor = place;
    if (event instanceof PointerEvent && event.pointerType === "touch") {
      void this.#show(place, false);
    } else if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.go(place);
    } else if (event.detail === 1) {
      this.#clicked = callAfter(doubleClickMs, () => {
        if (window.getSelection()?.isCollapsed !== false) this.go(place);
      });
    } else this.#clicked?.cancel();
  }

  #escape(event: KeyboardEvent): void {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    if (this.#card.peek() !== undefined) this.#hide();
    else if (panel.peek() !== undefined) {
      closePanel();
      this.#host.focus({ preventScroll: true });
    }
  }

  /** Shows the card of a name, with what is known at once. */
  async #show(place: NamePlace, isByPointer: boolean): Promise<void> {
    const code = codeOfLine(this.#host, place.line);
    const range = code && rangeOfName(code, place);
    if (range === undefined) return;
    this.#request.abort();
    const request = new AbortController();
    this.#request = request;
    const rect = range.getBoundingClientRect();
    const known = keptDefinitions(this.#path, place);
    const show = (answer: ShownCard["answer"]): void => {
      if (request.signal.aborted) return;
      this.#card.value = { place, rect, answer, isByPointer };
      markName(range);
      // The card comes first.
      if (answer.kind === "ready")
        void painted().then(() => {
          if (!request.signal.aborted) markName(range, usesInSight(this.#host, place.name));
        });
    };
    if (known !== undefined) show({ kind: "ready", value: known });
    // The card of another name goes; this one comes with its answer, because an empty one would only flicker.
    else if (this.#card.peek() !== undefined) this.#card.value = undefined;
    try {
      const value = await readDefinitions(this.#path, place, request.signal);
      // Words of a text are no names: only a key asks for these.
      if (value.list.length > 0 || !isByPointer) show({ kind: "ready", value });
      if (!isByPointer && !request.signal.aborted) this.#said.value = targetText(place.name, value);
    } catch (error) {
      show({ kind: "failed", error });
    }
  }

  /** The next or previous name: from the one that was chosen last, else from the selected line, else from the first in view. */
  step(by: 1 | -1): void {
    const from = this.#cursor ?? this.#start();
    for (let line = from.line; line >= 0 && line < this.#lineCount; line += by) {
      if (codeOfLine(this.#host, line) === undefined) this.#reveal(line);
      const code = codeOfLine(this.#host, line);
      const found = code === undefined ? [] : namesOfLine(code);
      const next =
        line !== from.line
          ? found.at(by > 0 ? 0 : -1)
          : by > 0
            ? found.find((name) => name.from > from.from)
            : found.findLast((name) => name.from < from.from);
      if (next === undefined) continue;
      this.#cursor = next;
      this.#reveal(line);
      void this.#show(next, false);
      return;
    }
  }

  #start(): NamePlace {
    const selected = readLineRange(address.peek());
    const lines = [...this.#host.querySelectorAll<HTMLElement>(".line")];
    const top = lines.find((line) => line.getBoundingClientRect().top > 100);
    const line = selected?.from ?? Number(top?.dataset["line"] ?? 1);
    return { name: "", line: line - 1, character: -1, from: -1 };
  }

  /** Goes to the definition if one stands out, and shows all otherwise; from the definition itself, shows the uses. */
  go(place = this.#chosen()): void {
    if (place === undefined) return;
    this.#cursor = place;
    readDefinitions(this.#path, place, this.#closed.signal).then(
      (found) => {
        if (this.#closed.signal.aborted) return;
        const [first] = found.list;
        if (first !== undefined && found.isUnique && !first.isSelf) this.#goTo(place, first.url);
        else if (first?.isSelf === true) this.showPart("references", place);
        else this.showPart("definitions", place);
      },
      () => this.showPart("definitions", place),
    );
  }

  /** The way back leads to the line of the name. */
  #goTo({ line }: NamePlace, url: string): void {
    this.#hide();
    navigate(`${address.peek().pathname}?L${line + 1}`, "replace");
    navigate(url);
  }

  showPart(part: PanelPart, place = this.#chosen()): void {
    if (place === undefined) return;
    this.#hide();
    openPanel(this.#path, place, part);
  }

  /** What a key is about: the name of the card, else the one chosen last. */
  #chosen(): NamePlace | undefined {
    return this.#card.peek()?.place ?? this.#cursor;
  }
}

function isSame(one: NamePlace, other: NamePlace | undefined): boolean {
  return one.line === other?.line && one.from === other.from;
}
