import { TrawlError } from "../../base/errors.js";

/** What git says when the repository, not the remote or the network, is broken. */
const damagePattern =
  /missing object|broken ref|bad object|bad ref|unresolved deltas?|is corrupt|not a git repository: |unable to read (tree|[0-9a-f]{40})|does not point to a valid object|loose object|did not send all necessary objects|invalid sha1 pointer|(unterminated|unexpected) line in |packed refname is dangerous/;

export function saysDamaged(text: string): boolean {
  return (
    damagePattern.test(text) ||
    text.split("\n").some((line) => line.includes("packfile ") && line.includes(" cannot be accessed"))
  );
}

/**
 * Whether a reading git ended by itself, as it does at an object that it cannot read, and not at a limit or because it
 * was stopped.
 */
export function endedByItself(error: unknown): boolean {
  return error instanceof TrawlError && error.code === "git" && error.message.includes(" failed: ");
}
