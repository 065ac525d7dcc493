/** Attributes of a part that scrolls by itself: the keyboard reaches it, and it has a name. */
export function scrollable(label: string) {
  return { tabIndex: 0, role: "region", "aria-label": label } as const;
}
