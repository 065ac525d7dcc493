import { hash, randomBytes } from "node:crypto";

const secretBytes = 32;

/** A random identifying text for a cookie or a link: 64 hex digits. */
export function newSecretText(): string {
  return randomBytes(secretBytes).toString("hex");
}

/** The stored form of such a text. It is random and 256 bits long, so a slow hash would add no protection. */
export function hashOfSecretText(text: string): string {
  return hash("sha256", text, "hex");
}
