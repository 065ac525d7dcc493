import { signal } from "@preact/signals";

/** A key that does something wherever the focus is, except in a field that takes text. */
export interface PageKey {
  /** As `KeyboardEvent.key`. */
  readonly key: string;
  /** A sentence without a full stop, for the list under `?`. */
  readonly what: string;
  readonly act: () => void;
}

/** The keys that now do something, in the order in which they were added. */
export const pageKeys = signal<readonly PageKey[]>([]);

/** Whether the list of keys is open. */
export const keyListOpen = signal(false);

/** Adds keys, for as long as the returned function has not been called. A later key takes precedence. */
export function addKeys(keys: readonly PageKey[]): () => void {
  pageKeys.value = [...pageKeys.peek(), ...keys];
  return () => {
    pageKeys.value = pageKeys.peek().filter((key) => !keys.includes(key));
  };
}

/** Starts listening. Called once. */
export function listenForKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || takesText(event.composedPath()[0]))
      return;
    const found = pageKeys.peek().findLast(({ key }) => key === event.key);
    if (found === undefined || document.querySelector("dialog[open]") !== null) return;
    event.preventDefault();
    found.act();
  });
}

/** `target` is the innermost element, which may be in a shadow tree. */
function takesText(target: EventTarget | undefined): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}
