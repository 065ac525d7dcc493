import { closeSync, openSync, readSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { errorMessage, TrawlError } from "./errors.js";
import { withoutByteOrderMark } from "./text.js";

/** Larger than any key or token; a larger file is probably the wrong one. */
const secretBytesMax = 64 * 1024;

/** Location of a secret: an absolute path, or the name of a credential that systemd passes to the service. */
export const secretSourcePattern = "^(file:/.+|credential:[A-Za-z0-9_-][A-Za-z0-9._-]{0,254})?$";
const pattern = new RegExp(secretSourcePattern);

/** Whether a text names the location of a secret; "" does not. */
export function isSecretSource(text: string): boolean {
  return pattern.test(text);
}

/**
 * Reads a secret from its source: `file:PATH`, or `credential:NAME` for a systemd `LoadCredential=`. The trailing line
 * feed is removed. Throws `bad-config` with a message that begins with `where`; messages never contain any part of the
 * secret.
 */
export function readSecret(source: string, where: string): string {
  return readSecretFile(secretPath(source, where), where);
}

/** Like `readSecret`, for a secret of several lines, such as a private key. */
export function readSecretText(source: string, where: string): string {
  return readText(secretPath(source, where), where);
}

export function readSecretFile(path: string, where: string): string {
  const text = readText(path, where);
  const secret = text.endsWith("\r\n") ? text.slice(0, -2) : text.endsWith("\n") ? text.slice(0, -1) : text;
  if (secret === "") throw unreadable(where, `${path} is empty`);
  if (/[\u0000-\u001f\u007f]/.test(secret))
    throw unreadable(where, `${path} has more than one line, or control characters`);
  return secret;
}

function secretPath(source: string, where: string): string {
  if (source === "" || !isSecretSource(source))
    throw unreadable(where, "a secret must be given as file:/ABSOLUTE/PATH or credential:NAME");
  const [kind = "", ...rest] = source.split(":");
  const name = rest.join(":");
  return kind === "file" ? name : credentialPath(name, where);
}

function readText(path: string, where: string): string {
  if (!isAbsolute(path)) throw unreadable(where, `${path} is not an absolute path`);
  try {
    return readBounded(path);
  } catch (cause) {
    throw new TrawlError(
      "bad-config",
      `${where}: cannot read its secret: ${errorMessage(cause)}; the daemon's account must be able to read it`,
      { cause },
    );
  }
}

function credentialPath(name: string, where: string): string {
  const folder = process.env["CREDENTIALS_DIRECTORY"];
  if (folder === undefined)
    throw unreadable(
      where,
      `credential:${name} is not provided by systemd: add LoadCredential=${name}:PATH to the unit`,
    );
  return join(folder, name);
}

/** Does not use `readFileSync`, because a device has no end. */
function readBounded(path: string): string {
  const descriptor = openSync(path, "r");
  try {
    const bytes = Buffer.alloc(secretBytesMax + 1);
    let length = 0;
    for (let count = -1; count !== 0 && length < bytes.length; length += count)
      count = readSync(descriptor, bytes, length, bytes.length - length, null);
    if (length > secretBytesMax) throw new TrawlError("bad-config", `${path} has more than ${secretBytesMax} bytes`);
    return withoutByteOrderMark(bytes.toString("utf8", 0, length));
  } finally {
    closeSync(descriptor);
  }
}

function unreadable(where: string, reason: string): TrawlError {
  return new TrawlError("bad-config", `${where}: ${reason}`);
}
