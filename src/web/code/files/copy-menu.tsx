import "./copy-menu.css";
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { copyRefusal, copyText } from "../../ui/copy.js";
import { callAfter } from "../../ui/delay.js";
import { useDropDown } from "../../ui/drop-down.js";

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
