/** A document that no shard has yet. */
export interface MissingEntry {
  readonly path: Buffer;
  readonly oid: string;
  readonly isFile: boolean;
  /** The document's set of commits. */
  readonly set: number;
  /** Undefined if no live shard has the text. */
  readonly source: TextSource | undefined;
  /** Of the blob; -1 if the mirror lacks it, or it is not a blob. */
  readonly blobBytes: number;
}

/** Where a live shard has the text at another path, so that it need not be read from the mirror. */
export interface TextSource {
  readonly shardId: number;
  readonly content: number;
}

/** Entries as bytes, each terminated by a NUL: they pass through the main thread, which does not decode them. */
export class EntryWriter {
  #text = "";
  count = 0;

  /** The path has one character per byte. */
  add(
    { path, oid, isFile, set }: { readonly path: string } & Pick<MissingEntry, "oid" | "isFile" | "set">,
    source: TextSource | undefined,
    blobBytes: number,
  ): void {
    const from = source === undefined ? "-" : `${source.shardId}:${source.content}`;
    this.#text += `${isFile ? "f" : "x"} ${oid} ${set} ${from} ${blobBytes} ${path}\0`;
    this.count++;
  }

  bytes(): Uint8Array {
    return Buffer.from(this.#text, "latin1");
  }
}

/** The paths are parts of `bytes`. */
export function decodeEntries(bytes: Uint8Array): MissingEntry[] {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const entries: MissingEntry[] = [];
  for (let at = 0; at < buffer.length; ) {
    const end = buffer.indexOf(0, at);
    const words = buffer.toString("latin1", at, Math.min(end, at + headBytesMax)).split(" ", 5);
    const [kind, oid, set, from, blobBytes] = words;
    const headBytes = words.reduce((sum, { length }) => sum + length + 1, 0);
    entries.push({
      path: buffer.subarray(at + headBytes, end),
      oid,
      isFile: kind === "f",
      set: Number(set),
      source: from === "-" ? undefined : decodeSource(from),
      blobBytes: Number(blobBytes),
    });
    at = end + 1;
  }
  return entries;
}

/** What precedes a path is shorter: an oid of 64 characters and some numbers. */
const headBytesMax = 128;

function decodeSource(text: string): TextSource {
  const [shardId, content] = text.split(":", 2);
  return { shardId: Number(shardId), content: Number(content) };
}
