import { createPrivateKey, type KeyObject } from "node:crypto";
import { TrawlError } from "../../base/errors.js";
import { readSecretText } from "../../base/secret-source.js";

/** GitHub accepts ten minutes, by its own clock. */
const validSeconds = 540;
/** The clock of the host may be this much behind. */
const clockSeconds = 60;
const rsaBitsMin = 2048;

/**
 * A statement, signed with the key of a GitHub App, that the sender is that app (JWT, RS256). The key is read each time, so that it can be
 * replaced. Throws `bad-config` if it cannot be used; no message has any part of it.
 */
export async function signAsApp(app: string, keySource: string, where: string): Promise<string> {
  // Loaded when it is first needed.
  const { SignJWT } = await import("jose");
  const seconds = Math.floor(new Date().getTime() / 1000);
  return await new SignJWT({})
    .setProtectedHeader({ alg: "RS256", typ: "JWT" })
    .setIssuer(app)
    .setIssuedAt(seconds - clockSeconds)
    .setExpirationTime(seconds + validSeconds)
    .sign(readKey(keySource, where));
}

function readKey(source: string, where: string): KeyObject {
  const key = parseKey(readSecretText(source, where));
  if (key === undefined)
    throw new TrawlError(
      "bad-config",
      `${where}: ${source} is not the private key of an app: it has to be the file that GitHub gives for it, unchanged, which begins with -----BEGIN RSA PRIVATE KEY-----`,
    );
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType === "rsa" && bits >= rsaBitsMin) return key;
  throw new TrawlError(
    "bad-config",
    `${where}: the key in ${source} is not one of RSA with ${rsaBitsMin} bits or more`,
  );
}

/** Undefined if it is none. The message of the error is not shown: what is wrong with a secret may say something about it. */
function parseKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}
