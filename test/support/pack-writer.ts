import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { crc32, deflateSync } from "node:zlib";

const typeNumbers = { commit: 1, tree: 2, blob: 3, tag: 4, "oid-delta": 7 } as const;

export interface PackedObject {
  readonly type: keyof typeof typeNumbers;
  /** The uncompressed object; for a delta, the delta itself. */
  readonly content: Uint8Array;
  /** The oid in the index, right or wrong. If undefined, computed from the content; a delta must specify it. */
  readonly oid?: string;
  /** Hexadecimal oid of the base of a delta. */
  readonly base?: string;
  /** The size in the object's header; the true size if undefined. */
  readonly claimedBytes?: number;
  /** The bytes of the entry in the pack. The other properties are ignored, except for the oid, which is required. */
  readonly raw?: Uint8Array;
}

/** The oid of an object in a SHA-1 repository. */
export function oidOf(type: string, content: Uint8Array): string {
  return createHash("sha1").update(`${type} ${content.length}\0`).update(content).digest("hex");
}

/** The entries of a tree in git's format, in the given order. */
export function treeOf(entries: readonly (readonly [mode: string, name: string, oid: string])[]): Buffer {
  return Buffer.concat(
    entries.flatMap(([mode, name, oid]) => [Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, "hex")]),
  );
}

/** A delta: the sizes of the base and of the result, then `copy` and `insert` commands. */
export function deltaOf(baseBytes: number, resultBytes: number, ...commands: readonly Uint8Array[]): Buffer {
  return Buffer.concat([varint(baseBytes), varint(resultBytes), ...commands]);
}

/** A command that copies at most 0xffffff bytes. */
export function copy(from: number, byteCount: number): Buffer {
  const words = Buffer.alloc(8);
  words.writeUInt32LE(from, 1);
  words.writeUIntLE(byteCount, 5, 3);
  words[0] = 0xff;
  return words;
}

export function insert(bytes: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
}

/**
 * Writes a pack with its index into the `objects/pack` of a SHA-1 repository; returns the oids. The pack need not be
 * valid for git.
 */
export function writePack(repository: string, objects: readonly PackedObject[], name = "hostile"): string[] {
  const folder = join(repository, "objects", "pack");
  const head = Buffer.alloc(12);
  head.write("PACK");
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(objects.length, 8);
  const parts: Buffer[] = [head];
  const entries: IndexEntry[] = [];
  let offset = head.length;
  for (const object of objects) {
    const bytes = Buffer.from(object.raw ?? encode(object));
    entries.push({ oid: object.oid ?? oidOf(object.type, object.content), offset, crc: crc32(bytes) });
    parts.push(bytes);
    offset += bytes.length;
  }
  const checksum = createHash("sha1").update(Buffer.concat(parts)).digest();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `pack-${name}.pack`), Buffer.concat([...parts, checksum]));
  writeFileSync(join(folder, `pack-${name}.idx`), indexOf(entries, checksum));
  return entries.map(({ oid }) => oid);
}

interface IndexEntry {
  readonly oid: string;
  readonly offset: number;
  readonly crc: number;
}

function encode({ type, content, base, claimedBytes }: PackedObject): Buffer {
  let rest = claimedBytes ?? content.length;
  const head = [(typeNumbers[type] << 4) | (rest & 15)];
  for (rest = Math.floor(rest / 16); rest > 0; rest = Math.floor(rest / 128)) {
    head[head.length - 1] |= 128;
    head.push(rest & 127);
  }
  return Buffer.concat([Buffer.from(head), Buffer.from(base ?? "", "hex"), deflateSync(content, { level: 9 })]);
}

/** An index of version 2. */
function indexOf(unsorted: readonly IndexEntry[], packChecksum: Buffer): Buffer {
  const entries = [...unsorted].sort((a, b) => (a.oid < b.oid ? -1 : 1));
  const fanOut = Buffer.alloc(4 * 256);
  for (let i = 0; i < 256; i++)
    fanOut.writeUInt32BE(entries.filter(({ oid }) => parseInt(oid.slice(0, 2), 16) <= i).length, 4 * i);
  const body = Buffer.concat([
    Buffer.from([0xff, 0x74, 0x4f, 0x63, 0, 0, 0, 2]),
    fanOut,
    ...entries.map(({ oid }) => Buffer.from(oid, "hex")),
    ...entries.map(({ crc }) => bigEndian(crc)),
    ...entries.map(({ offset }) => bigEndian(offset)),
    packChecksum,
  ]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return Buffer.from([...bytes, value]);
}
