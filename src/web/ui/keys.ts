import { signal } from "@preact/signals";

/** A key that does something wherever the focus is, except in a field that takes text. */
export interface PageKey {
  /** As `KeyboardEvent.key`; `Ctrl-K` is with the control key or the command key, and also works in a field. */
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

let isOpening = (): boolean => false;

/** Whether a dialog was asked for: until it is open, what is typed for it goes nowhere else. */
export function holdKeysWhile(isAskedFor: () => boolean): void {
  isOpening = isAskedFor;
}

function hold(event: KeyboardEvent): void {
  const isTyped = event.key.length === 1 || event.key === "Enter";
  if (!isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!isOpening() || document.querySelector("dialog[open]") !== null) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}

/** Starts listening. Called once. */
export function listenForKeys(): void {
  document.addEventListener("keydown", hold, { capture: true });
  document.addEventListener("keydown", (event) => {
    const withControl = event.ctrlKey || event.metaKey;
    if (event.defaultPrevented || event.altKey || (!withControl && takesText(event.composedPath()[0]))) return;
    const pressed = withControl ? `Ctrl-${event.key.toUpperCase()}` : event.key;
    const found = pageKeys.peek().findLast(({ key }) => key === pressed);
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
