import { hash, randomBytes } from "node:crypto";

const secretBytes = 20;

const tokenPattern = /^(?:sgp_|sgph_)?(?:[0-9a-fA-F]{16}_|local_)?([0-9a-fA-F]{40})$/;

/** A new token, as it is shown once. */
export function newTokenText(): string {
  return `sgp_local_${randomBytes(secretBytes).toString("hex")}`;
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
