/** A document that no shard has yet. */
export interface MissingEntry {
  /** One character per byte. */
  readonly path: string;
  readonly oid: string;
  readonly isFile: boolean;
  /** The document's set of commits. */
  readonly set: number;
  /** A live shard that has the text at another path, so that it need not be read from the mirror. */
  readonly source: { readonly shardId: number; readonly content: number } | undefined;
}

/** Entries as bytes, each terminated by a NUL: they pass through the main thread, which does not decode them. */
export function encodeEntries(entries: readonly MissingEntry[]): Uint8Array {
  const text = entries
    .map(
      ({ path, oid, isFile, set, source }) =>
        `${isFile ? "f" : "x"} ${oid} ${set} ${source === undefined ? "-" : `${source.shardId}:${source.content}`} ${path}\0`,
    )
    .join("");
  return Buffer.from(text, "latin1");
}

export function decodeEntries(bytes: Uint8Array): MissingEntry[] {
  const lines = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1").split("\0");
  lines.pop();
  return lines.map((line) => {
    const found = /^([fx]) ([0-9a-f]+) (\d+) (?:-|(\d+):(\d+)) ([^]*)$/.exec(line) as RegExpExecArray;
    const [, kind, oid, set, shardId, content, path] = found as unknown as [
      string,
      string,
      string,
      string,
      string | undefined,
      string | undefined,
      string,
    ];
    const source = shardId === undefined ? undefined : { shardId: Number(shardId), content: Number(content) };
    return { path, oid, isFile: kind === "f", set: Number(set), source };
  });
}
