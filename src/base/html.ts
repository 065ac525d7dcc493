/** Escapes a text for HTML content and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/**
 * Whether a link of text from somebody else may lead to this address, or an image be loaded from it: relative ones, and
 * with these schemes. Browsers leave out blanks and control characters. Whatever becomes HTML uses this check.
 */
export function isSafeAddress(address: string, schemes: readonly string[] = linkSchemes): boolean {
  const plain = address.replace(/[\x00-\x20\x7f-\x9f]+/g, "");
  if (/^[/\\]{2}/.test(plain)) return false;
  const scheme = /^([^/?#]*?):/.exec(plain)?.[1];
  return scheme === undefined || schemes.includes(scheme.toLowerCase());
}

export const linkSchemes: readonly string[] = ["http", "https", "mailto"];

/** Lines of HTML as table rows, numbered from `firstLine`. Clients look for these classes and `data-line`. */
export function tableRows(lines: readonly string[], firstLine: number): string {
  return lines
    .map(
      (line, at) =>
        `<tr><td class="line" data-line="${firstLine + at}"></td><td class="code"><span>${line}\n</span></td></tr>`,
    )
    .join("");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&#34;",
  "'": "&#39;",
};
