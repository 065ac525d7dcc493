/** A part of a message; `commit` and `issue` are what a link leads to. */
export type MessagePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "address"; readonly text: string }
  | { readonly kind: "commit"; readonly text: string }
  | { readonly kind: "issue"; readonly text: string; readonly number: string };

/** An address, the beginning of a commit's id, or the number of an issue. */
const link = /\bhttps?:\/\/[^\s<>"'`]+|\b[0-9a-f]{7,64}\b|#[1-9]\d{0,8}\b/g;

/** What follows in a longer message has no links: each is an element of the page. */
const linkedLengthMax = 20_000;

/** The text of a message, split where it names an address, a commit or an issue. */
export function splitMessage(message: string): readonly MessagePart[] {
  const parts: MessagePart[] = [];
  let at = 0;
  const linked = message.slice(0, linkedLengthMax);
  for (const { 0: found, index } of linked.matchAll(link)) {
    // It may go on behind the limit.
    if (index + found.length < message.length && index + found.length === linkedLengthMax) break;
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

function countIn(text: string, character: string): number {
  return text.split(character).length - 1;
}

/** Without what ends the sentence around it. */
function withoutEnd(address: string): string {
  let unopened = countIn(address, ")") - countIn(address, "(");
  let end = address.length;
  for (; end > 0; end--) {
    const last = address.charAt(end - 1);
    if (".,;:!?".includes(last)) continue;
    if (last !== ")" || unopened <= 0) break;
    unopened--;
  }
  return address.slice(0, end);
}
