/** Escapes a text for HTML content and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

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
