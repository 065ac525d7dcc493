import { type Signal, useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect } from "preact/hooks";
import type { PagePath } from "../../../model/page-path.js";
import { request } from "../../api/api-error.js";
import { address, navigate } from "../../route/router.js";
import { addKeys } from "../../ui/keys.js";
import { pageUrl } from "../urls.js";
import { readBlame } from "./blame.js";
import { FileView } from "./file-view.js";
import { readHighlighting } from "./highlighting.js";
import { readLineRange, lineRangeText } from "./line-range.js";

export interface FileState {
  /** Undefined before the text has arrived. */
  readonly view: Signal<FileView | undefined>;
  readonly error: Signal<unknown>;
  readonly isBinary: Signal<boolean>;
  /** The name that was double-clicked; "" if none was. */
  readonly word: Signal<string>;
}

/** The daemon decides by the same bytes whether a file is text. */
const headBytes = 8192;

/** Reads the text, shows it in `host` with the lines of the address selected, then highlights it. */
export function useFileView(path: PagePath, host: RefObject<HTMLDivElement | null>): FileState {
  const view = useSignal<FileView | undefined>(undefined);
  const error = useSignal<unknown>(undefined);
  const isBinary = useSignal(false);
  const word = useSignal("");
  const { name, revision, path: file } = path;
  useLayoutEffect(() => {
    const stop = new AbortController();
    const show = async (): Promise<void> => {
      const response = await request(pageUrl(path, "raw", file), { signal: stop.signal });
      const text = await response.text();
      if (host.current === null || stop.signal.aborted) return;
      if (text.slice(0, headBytes).includes("\0")) {
        isBinary.value = true;
        return;
      }
      const shown = new FileView(host.current, text, {
        select: (range) => navigate(`${address.peek().pathname}${lineRangeText(range)}`, "replace"),
        choose: (chosen) => {
          word.value = chosen;
        },
      });
      stop.signal.addEventListener("abort", () => shown.close());
      const range = readLineRange(address.peek());
      shown.select(range);
      if (range !== undefined) shown.scrollTo(range.from);
      view.value = shown;
      // Without highlighting the text is still readable.
      shown.highlight(await readHighlighting(path, shown.lineCount, stop.signal).catch(() => []));
    };
    show().catch((reason: unknown) => {
      if (!stop.signal.aborted) error.value = reason;
    });
    return () => stop.abort();
  }, [name, revision, file, view, error, isBinary, word, host]);
  const at = address.value;
  useEffect(() => view.value?.select(readLineRange(at)), [at, view.value]);
  return { view, error, isBinary, word };
}

export interface BlameState {
  readonly state: Signal<"off" | "waiting" | "on">;
  readonly toggle: () => void;
}

/** Whether the commit of each line is shown. */
export function useBlame(path: PagePath, view: Signal<FileView | undefined>, error: Signal<unknown>): BlameState {
  const state = useSignal<"off" | "waiting" | "on">("off");
  const toggle = (): void => {
    const shown = view.peek();
    if (shown === undefined) return;
    if (state.peek() !== "off") {
      state.value = "off";
      shown.showBlame(undefined);
      return;
    }
    state.value = "waiting";
    readBlame(path, shown.lineCount).then(
      (hunks) => {
        if (state.peek() !== "waiting") return;
        state.value = "on";
        shown.showBlame(hunks);
      },
      (reason: unknown) => {
        state.value = "off";
        error.value = reason;
      },
    );
  };
  return { state, toggle };
}

export interface FileActions {
  readonly wrap: () => void;
  readonly outline: () => void;
  readonly blame: () => void;
  readonly permalink: () => void;
}

/** The keys of a file; `file` changes with it. */
export function useFileKeys(actions: FileActions, file: string): void {
  useEffect(
    () =>
      addKeys([
        { key: "y", what: "Go to the permanent address of the file", act: actions.permalink },
        { key: "b", what: "Show or hide who changed each line last", act: actions.blame },
        { key: "w", what: "Wrap long lines", act: actions.wrap },
        { key: "o", what: "Show or hide the outline of the file", act: actions.outline },
      ]),
    [file],
  );
}
