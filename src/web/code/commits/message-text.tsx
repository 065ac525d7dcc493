import { pageUrl } from "../../../model/page-path.js";

/** Where the numbers of issues lead: the pages of the repository at its code host. */
export interface HostLink {
  readonly url: string;
  readonly serviceKind: string | null;
}

/** Fields of the `HostLink`s of a repository, for queries. */
export const hostLinkFields = "{ url serviceKind }";

const issuePaths: Readonly<Record<string, string>> = { GITHUB: "/issues/", GITLAB: "/-/issues/" };

interface MessageTextProps {
  readonly name: string;
  readonly text: string;
  readonly hosts: readonly HostLink[];
}

/** A message with links to the addresses, commits and issues that it names. */
export function MessageText({ name, text, hosts }: MessageTextProps) {
  return (
    <>
      {splitMessage(text).map((part, i) => {
        const href = findTarget(part, name, hosts);
        return href === undefined ? (
          part.text
        ) : (
          <a key={i} href={href} rel="noreferrer nofollow">
            {part.text}
          </a>
        );
      })}
    </>
  );
}

function findTarget(part: MessagePart, name: string, hosts: readonly HostLink[]): string | undefined {
  switch (part.kind) {
    case "text":
      return undefined;
    case "address":
      return part.text;
    case "commit":
      return pageUrl({ name, revision: "" }, "commit", part.text);
    case "issue":
      return issueUrl(part.number, hosts);
  }
}

function issueUrl(number: string, hosts: readonly HostLink[]): string | undefined {
  for (const { url, serviceKind } of hosts) {
    const path = issuePaths[serviceKind ?? ""];
    if (path !== undefined) return url + path + number;
  }
  return undefined;
}

/** A part of a message; `commit` and `issue` are what a link leads to. */
type MessagePart =
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
