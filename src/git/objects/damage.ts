import { TrawlError } from "../../base/errors.js";
import { saysRefused } from "../../base/refusal.js";

/** git's messages if the repository is damaged, as opposed to problems of the remote or the network. */
const damagePattern =
  /missing object|broken ref|bad object|bad ref|unresolved deltas?|is corrupt|not a git repository: |unable to read (tree|[0-9a-f]{40})|does not point to a valid object|loose object|did not send all necessary objects|invalid sha1 pointer|(unterminated|unexpected) line in |packed refname is dangerous/;

export function saysDamaged(text: string): boolean {
  // What git may not read, or has no memory for, it reports as missing too.
  if (saysRefused(text)) return false;
  return (
    damagePattern.test(text) ||
    text.split("\n").some((line) => line.includes("packfile ") && line.includes(" cannot be accessed"))
  );
}

/**
 * Whether a git process that was reading exited by itself, as it does at an unreadable object, and not because of a
 * limit or a stop.
 */
export function endedByItself(error: unknown): boolean {
  return (
    error instanceof TrawlError &&
    error.code === "git" &&
    error.message.includes(" failed: ") &&
    !saysRefused(error.message)
  );
}
