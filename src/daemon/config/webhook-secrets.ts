import { TrawlError } from "../../base/errors.js";
import { readSecret } from "../../base/secret-source.js";

const secretCharsMin = 16;

/**
 * The secrets of `webhooks.secrets`, by id; `file:PATH` and `credential:NAME` say where one is. Throws
 * `bad-config` for one that cannot be read or can be guessed. Without `mayReadFiles`, those in files are left out.
 */
export function readWebhookSecrets(
  configured: Readonly<Record<string, string | null>>,
  mayReadFiles: boolean,
): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(configured).flatMap(([id, given]) => {
      const where = `webhooks.secrets: ${JSON.stringify(id)}`;
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(id))
        throw new TrawlError("bad-config", `${where}: an id must have 1 to 64 letters, digits, - and _`);
      const isElsewhere = given !== null && /^(file|credential):/.test(given);
      if (isElsewhere && !mayReadFiles) return [];
      const secret = isElsewhere ? readSecret(given, where) : (given ?? "");
      if (secret.length >= secretCharsMin) return [[id, secret]];
      throw new TrawlError(
        "bad-config",
        `${where}: the secret has ${secret.length} characters, but needs at least ${secretCharsMin}; \`openssl rand -hex 32\` generates one`,
      );
    }),
  );
}
