import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { address, navigate } from "../../route/router.js";
import { addKeys } from "../../ui/keys.js";
import { withLineRange } from "./line-range.js";

/** The key that asks for the number of a line, and selects it. */
export function GoToLine({ lineCount }: { readonly lineCount: number }) {
  const isOpen = useSignal(false);
  useEffect(
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
