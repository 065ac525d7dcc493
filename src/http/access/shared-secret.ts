/** Senders that prove who they are by a secret of the configuration, such as code hosts and directories. */
import { createHash, timingSafeEqual } from "node:crypto";
import type { HttpRequest } from "../server/request.js";

/** The token of `Authorization: Bearer`; undefined if there is none. */
export function bearerToken({ headers }: Pick<HttpRequest, "headers">): string | undefined {
  return /^Bearer (.*)$/i.exec(headers.get("authorization") ?? "")?.[1];
}

/** Both sides are hashed to the same length first, so the comparison reveals nothing about the secret. */
export function isSameSecret(one: string, other: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(one), hash(other));
}
