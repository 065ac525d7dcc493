import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { PagePath } from "../../../model/page-path.js";
import { address, navigate } from "../../route/router.js";
import { painted } from "../../ui/delay.js";
import { addKeys } from "../../ui/keys.js";
import { readChoice, storeChoice } from "../../ui/kept-list.js";
import { loadPart } from "../../route/load-part.js";
import { readBlame, FileView, readHighlighting } from "./file-view.js";
import { blameSwitch, hasSwitch, lineRangeText, readLineRange, withSwitch } from "./line-range.js";
import { addressOfLines } from "./rendered/file-kind.js";

export interface FileState {
  /** Undefined before the text is in the document. */
  readonly view: Signal<FileView | undefined>;
  readonly error: Signal<unknown>;
  /** The name that was double-clicked; "" if none was. */
  readonly word: Signal<string>;
}

/** Shows the text in `host` with the lines of the address selected, then highlights it. */
export function useFileView(path: PagePath, text: string, host: RefObject<HTMLDivElement | null>): FileState {
  const view = useSignal<FileView | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const word = useSignal("");
  const { name, revision, path: file } = path;
  useLayoutEffect(() => {
    if (host.current === null) return undefined;
    const stop = new AbortController();
    const shown = new FileView(host.current, text, {
      select: (range) => navigate(addressOfLines(address.peek(), file, range), "replace"),
      choose: (chosen) => {
        word.value = chosen;
      },
    });
    const range = readLineRange(address.peek());
    shown.select(range);
    if (range !== undefined) shown.scrollTo(range.from);
    view.value = shown;
    painted()
      .then(() => readHighlighting(path, shown.lineCount, stop.signal))
      .then(
        (highlighting) => shown.highlight(highlighting),
        // Without highlighting the text is readable as well.
        () => undefined,
      );
    return () => {
      stop.abort();
      shown.close();
    };
  }, [name, revision, file, text, view, error, word, host]);
  const at = address.value;
  const before = useRef(at);
  useLayoutEffect(() => {
    const range = readLineRange(at);
    view.value?.select(range);
    // What else has changed in the address, such as blame, leaves the text where it is.
    const isOther =
      at.href !== before.current.href && lineRangeText(range) === lineRangeText(readLineRange(before.current));
    before.current = at;
    if (range !== undefined && !isOther) view.value?.reveal(range.from);
  }, [at, view.value]);
  return { view, error, word };
}

/** What a name means is shown once the text is: the part that does it is loaded then, and without it the text is read as well. */
export function useNames(view: Signal<FileView | undefined>): Signal<NameParts | undefined> {
  const parts = useSignal<NameParts | undefined>(undefined);
  const isShown = view.value !== undefined;
  useLayoutEffect(() => {
    if (!isShown) return;
    void painted()
      .then(() => loadPart(() => import("../names/names.js")))
      .then(
        (loaded) => {
          parts.value = loaded;
        },
        () => undefined,
      );
  }, [isShown, parts]);
  return parts;
}

const scopesKey = "code-scopes";

/** Whether the first lines of what is around the text stay in sight: in all files, unless someone chose otherwise. */
export function useScopesChoice(): { readonly isOn: boolean; readonly toggle: () => void } {
  const isOn = useSignal(readChoice(scopesKey) !== "off");
  const toggle = (): void => {
    isOn.value = !isOn.peek();
    storeChoice(scopesKey, isOn.peek() ? "on" : "off");
  };
  return { isOn: isOn.value, toggle };
}

type NameParts = typeof import("../names/names.js");

export interface BlameState {
  readonly state: Signal<"off" | "waiting" | "on">;
  readonly toggle: () => void;
}

/** Whether the commit of each line is shown, which the address says. */
export function useBlame(path: PagePath, view: Signal<FileView | undefined>, error: Signal<unknown>): BlameState {
  const state = useSignal<"off" | "waiting" | "on">("off");
  const set = (isOn: boolean): void => navigate(withSwitch(address.peek(), blameSwitch, isOn), "replace");
  const isWanted = hasSwitch(address.value, blameSwitch);
  const shown = view.value;
  useLayoutEffect(() => {
    if (!isWanted || shown === undefined) return undefined;
    let isLeft = false;
    error.value = undefined;
    state.value = "waiting";
    readBlame(path, shown.lineCount).then(
      (hunks) => {
        if (isLeft) return;
        state.value = "on";
        shown.showBlame(hunks, path);
      },
      (reason: unknown) => {
        if (isLeft) return;
        error.value = reason;
        set(false);
      },
    );
    return () => {
      isLeft = true;
      state.value = "off";
      shown.showBlame(undefined, path);
    };
  }, [isWanted, shown, path.name, path.revision, path.path]);
  // By the address, and not by what was rendered: keys keep the function that they were given first.
  const toggle = (): void => set(!hasSwitch(address.peek(), blameSwitch));
  return { state, toggle };
}

export interface FileActions {
  readonly wrap: () => void;
  readonly outline: () => void;
  readonly scopes: () => void;
  readonly menu: () => void;
  readonly blame: () => void;
  readonly permalink: () => void;
}

/** The keys of a file; `file` changes with it. */
export function useFileKeys(actions: FileActions, file: string): void {
  useLayoutEffect(
    () =>
      addKeys([
        { key: "y", what: "Go to the permanent address of the file", act: actions.permalink },
        { key: "b", what: "Show or hide who changed each line last", act: actions.blame },
        { key: "m", what: "Open the menu of the selected lines", act: actions.menu },
        { key: "w", what: "Wrap long lines", act: actions.wrap },
        {
          key: "s",
          what: "Keep the lines that begin the function and the class in sight, or not",
          act: actions.scopes,
        },
        { key: "o", what: "Show or hide the outline of the file", act: actions.outline },
      ]),
    [file],
  );
}
