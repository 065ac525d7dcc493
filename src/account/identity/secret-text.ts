import { hash, randomBytes } from "node:crypto";

const secretBytes = 32;

/** A random text that stands for somebody, in a cookie or a link: 64 hex digits. */
export function newSecretText(): string {
  return randomBytes(secretBytes).toString("hex");
}

/** What is kept of such a text. It is random and 256 bits long: there is nothing that a slow hash would protect. */
export function hashOfSecretText(text: string): string {
  return hash("sha256", text, "hex");
}
