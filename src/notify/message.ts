import type { SearchNotification } from "../account/settings/saved-searches.js";
import { announce } from "./announcement.js";
import { toDiscord, toSlack, toTeams } from "./chat-formats.js";
import { type BodyHeader, type StoredPayload, toBody } from "./payload.js";
import type { Message } from "./post.js";
import { sign, standardHeaders } from "./signature.js";

const chatFormats = { SLACK: toSlack, TEAMS: toTeams, DISCORD: toDiscord } as const;

/** What is posted to the URL of a notification. A chat looks at no signature; whoever knows the URL may write to it. */
export function toMessage(
  { secret, format = "WEBHOOK" }: SearchNotification,
  header: BodyHeader,
  payload: StoredPayload,
  nameOf: (repositoryId: number) => string,
): Message {
  if (format !== "WEBHOOK" && format !== "MAIL") {
    const body = Buffer.from(JSON.stringify(chatFormats[format](announce(header, payload))));
    return { headers: {}, body, isChat: true };
  }
  const body = toBody(header, payload, nameOf);
  const headers = {
    "X-Trawl-Event": payload.event,
    "X-Trawl-Delivery": header.id,
    "X-Trawl-Signature-256": sign(secret, body),
    ...standardHeaders(secret, header.id, body, new Date().getTime()),
  };
  return { headers, body, isChat: false };
}
