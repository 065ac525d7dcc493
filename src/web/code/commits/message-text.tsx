import { pageUrl } from "../../../model/page-path.js";
import { type MessagePart, splitMessage } from "./message-links.js";

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
