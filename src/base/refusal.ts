import { readFileSync } from "node:fs";
import { constants } from "node:os";
import { TrawlError } from "./errors.js";

const { errno } = constants;

/** Of Node and its threads, without stores. */
const ownAddressSpaceBytes = 32 * 2 ** 30;

/** What the system says when a limit or a permission is in the way, and not the data at fault. */
const refusals = ["EACCES", "EPERM", "EMFILE", "ENFILE", "ENOMEM", "EAGAIN", "ENOSPC", "EDQUOT", "EROFS"] as const;

/** The same as programs print it, in lower case. */
const refusalTexts = [
  "permission denied",
  "operation not permitted",
  "too many open files",
  "cannot allocate memory",
  "out of memory",
  "resource temporarily unavailable",
  "unable to create thread",
  "no space left on device",
  "disk quota exceeded",
  "read-only file system",
];

/** Whether an error of Node, which has the name of the system's error, or of LMDB, which has its number, is a refusal. */
export function isRefusal(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return refusals.some((name) => code === name || code === errno[name]);
}

/** Whether the output of a program names a refusal. */
export function saysRefused(text: string): boolean {
  const lower = text.toLowerCase();
  return refusalTexts.some((part) => lower.includes(part));
}

/** The text of a refusal, with the limit or the account that is behind it, and what to do. Any other text is returned as it is. */
export function withLimit(text: string): string {
  const lower = text.toLowerCase();
  const says = (...parts: readonly string[]): boolean => parts.some((part) => lower.includes(part));
  if (says("too many open files", "emfile")) {
    const limit = readLimit("Max open files");
    return `${text}; the limit on open files${limit === undefined ? "" : ` is ${limit}`}: raise \`ulimit -n\`, or LimitNOFILE= of the unit`;
  }
  if (says("permission denied", "eacces", "eperm"))
    return `${text}; this process runs as UID ${process.getuid?.()}: give it the files, as with chown`;
  const limit = says("memory", "enomem", "address space") ? readLimit("Max address space") : undefined;
  return limit === undefined
    ? text
    : `${text}; the limit on address space is ${limit} bytes: raise \`ulimit -v\`, or LimitAS= of the unit`;
}

/**
 * Throws `storage` if a limit on address space keeps this process from mapping `byteCount` bytes: LMDB would crash. `what`
 * begins the message.
 */
export function requireAddressSpace(what: string, byteCount: number): void {
  const limit = readLimit("Max address space");
  if (limit === undefined || Number(limit) >= byteCount + ownAddressSpaceBytes) return;
  throw new TrawlError(
    "storage",
    withLimit(`${what}: there is not enough address space to map it, which takes no memory`),
  );
}

/** The soft limit of this process; undefined if there is none, or the system does not say it. */
function readLimit(name: string): string | undefined {
  try {
    const line = readFileSync("/proc/self/limits", "latin1")
      .split("\n")
      .find((one) => one.startsWith(name));
    const soft = line?.slice(name.length).trim().split(" ")[0];
    return soft === "unlimited" ? undefined : soft;
  } catch {
    return undefined;
  }
}
