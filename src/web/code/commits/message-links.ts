/** A part of a message; `commit` and `issue` are what a link leads to. */
export type MessagePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "address"; readonly text: string }
  | { readonly kind: "commit"; readonly text: string }
  | { readonly kind: "issue"; readonly text: string; readonly number: string };

/** An address, the beginning of a commit's id, or the number of an issue. */
const link = /\bhttps?:\/\/[^\s<>"'`]+|\b[0-9a-f]{7,64}\b|#[1-9]\d{0,8}\b/g;

/** The text of a message, split where it names an address, a commit or an issue. */
export function splitMessage(message: string): readonly MessagePart[] {
  const parts: MessagePart[] = [];
  let at = 0;
  for (const { 0: found, index } of message.matchAll(link)) {
    const part = readLink(found, message.charAt(index - 1));
    if (part.kind === "text") continue;
    if (index > at) parts.push({ kind: "text", text: message.slice(at, index) });
    parts.push(part);
    at = index + part.text.length;
  }
  if (at < message.length) parts.push({ kind: "text", text: message.slice(at) });
  return parts;
}

function readLink(found: string, before: string): MessagePart {
  if (found.startsWith("#"))
    return /[\w/#&]/.test(before)
      ? { kind: "text", text: found }
      : { kind: "issue", text: found, number: found.slice(1) };
  if (found.startsWith("http")) return { kind: "address", text: withoutEnd(found) };
  // A word without a digit, or a number without a letter, is rather a word or a number.
  const isId = /\d/.test(found) && /[a-f]/.test(found);
  return isId ? { kind: "commit", text: found } : { kind: "text", text: found };
}

function countIn(text: string, character: string, end: number): number {
  return text.slice(0, end).split(character).length - 1;
}

/** Without what ends the sentence around it. */
function withoutEnd(address: string): string {
  let end = address.length;
  for (; end > 0; end--) {
    const last = address.charAt(end - 1);
    if (".,;:!?".includes(last)) continue;
    if (last === ")" && countIn(address, ")", end) > countIn(address, "(", end)) continue;
    break;
  }
  return address.slice(0, end);
}
