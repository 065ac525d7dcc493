/** Shows control characters as symbols: text from repositories and servers must not control the terminal. */
export function visible(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => {
      const code = character.charCodeAt(0);
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? "\u2421" : "\ufffd";
    },
  );
}

/** Like `visible`, but keeps line ends. */
export function visibleLines(text: string): string {
  return text.split("\n").map(visible).join("\n");
}

/** The same JSON with all characters escaped that `visible` would replace: JSON itself escapes only the first 32. */
export function visibleJson(json: string): string {
  return json.replace(
    /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
