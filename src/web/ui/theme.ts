import { signal } from "@preact/signals";
import { themeCookie } from "../../model/web-page.js";

export type Theme = "system" | "light" | "dark";

const themes: readonly Theme[] = ["system", "light", "dark"];
const yearSeconds = 31_536_000;

/** The chosen colours. The daemon sends the same choice in the document, so that no page appears in the wrong ones. */
export const theme = signal<Theme>(currentTheme());

function currentTheme(): Theme {
  const chosen = document.documentElement.dataset["theme"];
  return chosen === "light" || chosen === "dark" ? chosen : "system";
}

/** System, light, dark, and again. */
export function switchTheme(): void {
  const next = themes[(themes.indexOf(theme.value) + 1) % themes.length] ?? "system";
  theme.value = next;
  if (next === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = next;
  const seconds = next === "system" ? 0 : yearSeconds;
  // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing from some supported browsers.
  document.cookie = `${themeCookie}=${next}; Path=/; Max-Age=${seconds}; SameSite=Lax`;
}
