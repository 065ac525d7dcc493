/** Moves the focus to the title of the next or the previous result. */
export function stepToResult(direction: 1 | -1): void {
  const titles = [...document.querySelectorAll<HTMLElement>(".result h2 a:last-of-type")];
  const current = titles.findIndex((title) => title.closest(".result")?.contains(document.activeElement) === true);
  const seen = titles.findIndex((title) => title.getBoundingClientRect().top > headerHeight);
  const next = current >= 0 ? current + direction : seen;
  const target = titles[Math.max(0, Math.min(next, titles.length - 1))];
  target?.focus({ preventScroll: true });
  target?.scrollIntoView({ block: "nearest" });
}

/** Pixels that the header covers. */
const headerHeight = 60;
