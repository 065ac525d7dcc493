import { type Signal, useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { copyRefusal, copyText } from "../../ui/copy.js";
import { callAfter } from "../../ui/delay.js";
import { useDropDown } from "../../ui/drop-down.js";
import { address, navigate } from "../../route/router.js";
import { addKeys } from "../../ui/keys.js";
import { withLineRange } from "./line-range.js";

const confirmationMs = 1500;

interface CopyMenuProps {
  /** What can be copied, by its name; undefined for what is not known yet. */
  readonly forms: Readonly<Record<string, string | undefined>>;
}

/** A button that opens a list of what can be copied. */
export function CopyMenu({ forms }: CopyMenuProps) {
  const host = useRef<HTMLSpanElement>(null);
  const isOpen = useSignal(false);
  const copied = useSignal("");
  useDropDown(host, isOpen);
  const say = (what: string): void => {
    copied.value = what;
    isOpen.value = false;
    host.current?.querySelector("button")?.focus();
    callAfter(confirmationMs, () => {
      copied.value = "";
    });
  };
  return (
    <span ref={host} class="copy-menu">
      <button
        type="button"
        class="button quiet"
        aria-expanded={isOpen.value}
        onClick={() => {
          isOpen.value = !isOpen.value;
        }}
      >
        {copied.value === "" ? "Copy" : copied.value}
      </button>
      <span class="unseen" role="status">
        {copied.value}
      </span>
      {isOpen.value && (
        <span class="panel copy-forms">
          {Object.entries(forms).map(([name, text]) => (
            <button
              key={name}
              type="button"
              class="button quiet"
              disabled={text === undefined}
              onClick={async () => say((await copyText(text ?? "")) ? `Copied: ${name.toLowerCase()}` : copyRefusal())}
            >
              {name}
            </button>
          ))}
        </span>
      )}
    </span>
  );
}

/** The key that asks for the number of a line, and selects it. */
export function GoToLine({ lineCount }: { readonly lineCount: number }) {
  const isOpen = useSignal(false);
  useLayoutEffect(
    () => addKeys([{ key: "l", what: "Go to a line of the file", act: () => (isOpen.value = true) }]),
    [isOpen],
  );
  return isOpen.value ? <LineDialog lineCount={lineCount} isOpen={isOpen} /> : null;
}

interface DialogProps {
  readonly lineCount: number;
  readonly isOpen: Signal<boolean>;
}

function LineDialog({ lineCount, isOpen }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = (): void => {
    isOpen.value = false;
  };
  return (
    <dialog ref={dialog} class="line-dialog" aria-label="Go to a line" onClose={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          const line = Number(field.current?.value);
          // The focus goes back to where it was.
          dialog.current?.close();
          if (line >= 1) navigate(withLineRange(address.peek(), { from: line, to: line }), "replace");
        }}
      >
        <label>
          Line
          <input ref={field} class="field" type="number" min="1" max={lineCount} required />
        </label>
        <button type="submit" class="button main">
          Go
        </button>
      </form>
    </dialog>
  );
}
