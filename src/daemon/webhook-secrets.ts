import { readFileSync } from "node:fs";
import { messageOf, TrawlError } from "../base/errors.js";

const secretCharsMin = 16;

/**
 * The secrets of `webhooks.secrets`, by id; `file:PATH` stands for what is in a file, without the line feed at its end. Throws
 * `bad-config` for one that cannot be read or can be guessed.
 */
export function readWebhookSecrets(configured: Readonly<Record<string, string | null>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(configured).map(([id, given]) => {
    const where = `webhooks.secrets: ${JSON.stringify(id)}`;
    if (!/^[A-Za-z0-9_-]{1,64}$/.test(id)) throw new TrawlError("bad-config", `${where}: an id has 1 to 64 letters, digits, - and _`);
    const secret = given?.startsWith("file:") === true ? readSecret(given.slice("file:".length), where) : given ?? "";
    if (secret.length >= secretCharsMin) return [id, secret];
    throw new TrawlError("bad-config", `${where}: the secret has ${secret.length} characters; give it at least ${secretCharsMin}, as \`openssl rand -hex 32\` does`);
  }));
}

function readSecret(path: string, where: string): string {
  try {
    return readFileSync(path, "utf8").replace(/\r?\n$/, "");
  } catch (cause) {
    throw new TrawlError("bad-config", `${where}: cannot read its file: ${messageOf(cause)}`, { cause });
  }
}
