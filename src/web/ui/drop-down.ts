import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useLayoutEffect } from "preact/hooks";

/**
 * What opens below a button: Escape closes it and goes back to the button, a click or the focus elsewhere closes it, and the
 * arrow keys lead through its fields, links and buttons. `host` holds both the button, which is first, and what opens.
 */
export function useDropDown(host: RefObject<HTMLElement | null>, isOpen: Signal<boolean>): void {
  const isOpenNow = isOpen.value;
  // As soon as it is seen: what a user presses before the next frame is meant for it.
  useLayoutEffect(() => {
    if (!isOpenNow) return undefined;
    const leave = ({ target }: Event): void => {
      if (target instanceof Node && host.current?.contains(target) !== true) isOpen.value = false;
    };
    const press = (event: KeyboardEvent): void => {
      const items = [...(host.current?.querySelectorAll<HTMLElement>("button, input, a[href]") ?? [])];
      const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      const at = items.indexOf(document.activeElement as HTMLElement);
      if (event.key === "Escape") {
        isOpen.value = false;
        items[0]?.focus();
      } else if (step !== 0 && at >= 0) items[Math.max(1, at + step)]?.focus();
      else return;
      event.preventDefault();
    };
    document.addEventListener("pointerdown", leave);
    document.addEventListener("focusin", leave);
    document.addEventListener("keydown", press);
    return () => {
      document.removeEventListener("pointerdown", leave);
      document.removeEventListener("focusin", leave);
      document.removeEventListener("keydown", press);
    };
  }, [isOpenNow, host, isOpen]);
}
