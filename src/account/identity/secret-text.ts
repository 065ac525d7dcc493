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

const tokenBytes = 20;

const tokenPattern = /^(?:sgp_|sgph_)?(?:[0-9a-fA-F]{16}_|local_)?([0-9a-fA-F]{40})$/;

/** A new token, as it is shown once. */
export function newTokenText(): string {
  return `sgp_local_${randomBytes(tokenBytes).toString("hex")}`;
}

/**
 * SHA-256, in hex, of the secret in a token; undefined if the text does not have the format of a token. Only this hash
 * is ever stored.
 */
export function hashOfToken(text: string): string | undefined {
  const secret = tokenPattern.exec(text)?.[1];
  // The secret is random and 160 bits long, so a slow hash would add no protection.
  return secret === undefined ? undefined : hash("sha256", Buffer.from(secret, "hex"), "hex");
}
