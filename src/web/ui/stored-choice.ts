/** What someone has chosen for all pages in this browser. Undefined also where it keeps nothing: it may refuse the storage itself. */
export function readChoice(key: string): string | undefined {
  try {
    return localStorage.getItem(key) ?? undefined;
  } catch {
    return undefined;
  }
}

export function storeChoice(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    // It is full or switched off: the choice is then forgotten with the page.
  }
}
