import { withoutReordering } from "../../base/text.js";

/** Elements without a component, for the long lists of results, where a component for each line costs too much. */

type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;
type Child = Node | string | undefined;

/** An element; attributes that are false or undefined are left out, and true ones are empty. Strings become text. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes,
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : String(value));
  for (const child of children)
    if (child !== undefined) made.append(typeof child === "string" ? withoutReordering(child) : child);
  return made;
}

/** A button that looks like one of `base.css`, with an action. */
export function button(className: string, label: string, act: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", class: className }, label);
  made.addEventListener("click", act);
  return made;
}

/** Attributes of a part that scrolls by itself: the keyboard reaches it, and it has a name. */
export function scrollable(label: string) {
  return { tabIndex: 0, role: "region", "aria-label": label } as const;
}
