/** What git stores for a file whose contents are in Git LFS. */
export interface LfsPointer {
  /** The SHA-256 of the contents, in hex. */
  readonly oid: string;
  readonly size: number;
}

/** A pointer has fewer bytes. */
export const pointerBytesMax = 1_023;

const firstLine = "version https://git-lfs.github.com/spec/v1";

/**
 * The pointer that a blob is by the specification of git-lfs; undefined if it is none: lines of a key and a value, the version first and
 * the others sorted by key. One with extensions (`ext-…`) is none either, because programs would have to run to get the contents.
 */
export function parsePointer(blob: Uint8Array): LfsPointer | undefined {
  if (blob.length > pointerBytesMax || blob.length < firstLine.length) return undefined;
  const text = Buffer.from(blob.buffer, blob.byteOffset, blob.length).toString("latin1");
  if (!text.startsWith(`${firstLine}\n`) || !text.endsWith("\n")) return undefined;
  const values = new Map<string, string>();
  let last = "";
  for (const line of text.slice(firstLine.length + 1, -1).split("\n")) {
    const space = line.indexOf(" ");
    const key = line.slice(0, Math.max(0, space));
    if (!/^[a-z0-9.-]+$/.test(key) || key <= last || key.startsWith("ext-")) return undefined;
    values.set(key, line.slice(space + 1));
    last = key;
  }
  const oid = /^sha256:([0-9a-f]{64})$/.exec(values.get("oid") ?? "")?.[1];
  const size = /^(?:0|[1-9][0-9]{0,14})$/.exec(values.get("size") ?? "")?.[0];
  return oid === undefined || size === undefined ? undefined : { oid, size: Number(size) };
}
