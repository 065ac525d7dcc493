import { computed, signal } from "@preact/signals";
import { findWebPage } from "../../model/web-page.js";

/** The address of what is shown; it changes with each navigation, and pages read their state from it. */
export const address = signal(new URL(window.location.href));

/** How the address was reached: the back and forward buttons of the browser, or anything else. */
export const arrival = signal<"history" | "other">("other");

/** The page at the address; undefined for one that the daemon renders. */
export const page = computed(() => findWebPage(address.value.pathname));

/** Goes to a path of this site. `replace` leaves no entry in the history of the browser. */
export function navigate(to: string, how: "push" | "replace" = "push"): void {
  const target = new URL(to, address.peek());
  if (target.origin !== window.location.origin || findWebPage(target.pathname) === undefined) {
    window.location.assign(target);
    return;
  }
  const from = address.peek();
  arrival.value = "other";
  // Requests begin with this, before the browser's own work for an entry of its history.
  address.value = target;
  if (how === "push" && target.href !== from.href) history.pushState(null, "", target);
  else history.replaceState(null, "", target);
  const isOtherPage = target.pathname !== from.pathname;
  if (isOtherPage) window.scrollTo(0, 0);
}

/** Starts following the browser's history and the links of all pages. Called once. */
export function followLinks(): void {
  window.addEventListener("popstate", () => {
    arrival.value = "history";
    address.value = new URL(window.location.href);
  });
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link === null || link.target !== "" || link.hasAttribute("download") || link.origin !== location.origin) return;
    // A link to a part of this page is the browser's own.
    if (link.hash !== "" && link.pathname === location.pathname && link.search === location.search) return;
    if (findWebPage(link.pathname) === undefined) return;
    event.preventDefault();
    navigate(link.href);
  });
}
