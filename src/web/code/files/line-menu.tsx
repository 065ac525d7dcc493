import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { copyRefusal, copyText } from "../../ui/copy.js";
import { callAfter } from "../../ui/delay.js";
import { lineMenuId } from "./file-view.js";
import type { LineRange } from "./line-range.js";

const confirmationMs = 1500;

/** The same lines at a code host. */
export interface HostLink {
  readonly name: string;
  readonly url: string;
}

interface LineMenuProps {
  readonly range: LineRange;
  /** Undefined as long as the commit is not known. */
  readonly permalink: string | undefined;
  /** The text of the lines. */
  readonly readText: () => string;
  readonly hasBlame: boolean;
  readonly toggleBlame: () => void;
  readonly hosts: readonly HostLink[];
}

/** What can be done with the selected lines; the button in the first of them opens it. */
export function LineMenu({ range, permalink, readText, hasBlame, toggleBlame, hosts }: LineMenuProps) {
  const host = useRef<HTMLElement>(null);
  const said = useSignal("");
  const close = (what = ""): void => {
    host.current?.hidePopover();
    said.value = what;
    if (what !== "") callAfter(confirmationMs, () => (said.value = ""));
  };
  const copy = async (text: string, what: string): Promise<void> =>
    close((await copyText(text)) ? `Copied: ${what}` : copyRefusal());
  const { from, to } = range;
  const isOne = from === to;
  return (
    <>
      <p class={said.value === "" ? "unseen" : "line-menu-said small"} role="status">
        {said.value}
      </p>
      <section
        ref={host}
        id={lineMenuId}
        popover="auto"
        class="panel line-menu"
        aria-label={isOne ? `Line ${from}` : `Lines ${from} to ${to}`}
        onToggle={place}
        onKeyDown={step}
      >
        <button
          type="button"
          class="button quiet"
          disabled={permalink === undefined}
          onClick={() => copy(permalink ?? "", "permalink")}
        >
          Copy permalink
        </button>
        <button type="button" class="button quiet" onClick={() => copy(readText(), isOne ? "line" : "lines")}>
          {isOne ? "Copy line" : "Copy lines"}
        </button>
        <button
          type="button"
          class="button quiet"
          onClick={() => {
            close();
            toggleBlame();
          }}
        >
          {hasBlame ? "Hide blame" : "Show blame"}
        </button>
        {hosts.map(({ name, url }) => (
          <a key={url} class="button quiet" href={url} rel="noreferrer">
            Open at {name}
          </a>
        ))}
      </section>
    </>
  );
}

/** Below the button, inside of the window; the first of its buttons is chosen. */
function place({ currentTarget, newState }: ToggleEvent & { readonly currentTarget: HTMLElement }): void {
  if (newState !== "open") return;
  const menu = currentTarget;
  const button = document.querySelector(`[popovertarget="${lineMenuId}"]`)?.getBoundingClientRect();
  const { width, height } = menu.getBoundingClientRect();
  const below = button?.bottom ?? 0;
  const top = below + height <= window.innerHeight ? below : (button?.top ?? 0) - height;
  menu.style.top = `${Math.max(0, top)}px`;
  menu.style.left = `${Math.max(0, Math.min(button?.left ?? 0, window.innerWidth - width - 8))}px`;
  menu.querySelector<HTMLElement>("button:enabled")?.focus({ preventScroll: true });
}

/** The arrows step through it. */
function step(event: KeyboardEvent & { readonly currentTarget: HTMLElement }): void {
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  if (by === 0) return;
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("button:enabled, a")];
  const at = items.findIndex((item) => item.matches(":focus"));
  event.preventDefault();
  items[Math.max(0, Math.min(items.length - 1, at + by))]?.focus();
}
