import { createHmac } from "node:crypto";
import type { SearchNotification } from "../account/settings/saved-searches.js";
import { announce } from "./announcement.js";
import { toDiscord, toSlack, toTeams } from "./chat-formats.js";
import { type BodyHeader, type StoredPayload, toBody } from "./payload.js";
import type { Message } from "./post.js";

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

/** What a secret in the form of Standard Webhooks begins with; base64 follows. */
export const secretPrefix = "whsec_";

/** The value of `X-Trawl-Signature-256`, by which a receiver recognizes that the body is ours. */
export function sign(secret: string, body: Buffer): string {
  return `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
}

/**
 * The headers of Standard Webhooks. The signature covers the id and the time of the attempt, so that a receiver which refuses old
 * times and ids that it has cannot be given the same message again. The id is the same in each attempt, the time is not.
 */
export function standardHeaders(
  secret: string,
  id: string,
  body: Buffer,
  nowMs: number,
): Readonly<Record<"webhook-id" | "webhook-timestamp" | "webhook-signature", string>> {
  const time = String(Math.floor(nowMs / 1000));
  const signature = createHmac("sha256", signingKey(secret)).update(`${id}.${time}.`).update(body).digest("base64");
  return { "webhook-id": id, "webhook-timestamp": time, "webhook-signature": `v1,${signature}` };
}

/** A secret without the prefix, which earlier versions made, is the key itself. */
function signingKey(secret: string): Buffer {
  return secret.startsWith(secretPrefix)
    ? Buffer.from(secret.slice(secretPrefix.length), "base64")
    : Buffer.from(secret);
}
