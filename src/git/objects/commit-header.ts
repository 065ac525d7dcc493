/** The header of a commit. */
export interface CommitHeader {
  /** Hex oid. */
  readonly tree: string;
  /** Seconds since 1970. */
  readonly committedSeconds: number;
}

const dateDigitsMax = 12;

/**
 * Parses a commit, with one character per byte; undefined if it is not in the format that git writes: git accepts more
 * formats, and must then be used instead. Each character is examined a constant number of times.
 */
export function parseCommitHeader(text: string): CommitHeader | undefined {
  const tree = /^tree ([0-9a-f]{40,64})$/.exec(text.slice(0, Math.max(0, text.indexOf("\n"))))?.[1];
  const end = text.indexOf("\n\n");
  const headers = end < 0 ? text : text.slice(0, end + 1);
  const lineAt = headers.indexOf("\ncommitter ") + 1;
  if (tree === undefined || lineAt === 0) return undefined;
  const line = headers.slice(lineAt, headers.indexOf("\n", lineAt));
  const [seconds = "", zone = ""] = line.slice(line.lastIndexOf("> ") + 2).split(" ", 2);
  const isDate =
    seconds.length <= dateDigitsMax && /^\d+$/.test(seconds) && /^[+-]\d{4}$/.test(zone) && line.includes("> ");
  return isDate ? { tree, committedSeconds: Number(seconds) } : undefined;
}
