import { createCipheriv, createHash } from "node:crypto";

/** Random bytes, the same for the same seed: what a cipher makes of zeros. */
export function randomBytes(seed: number, count: number): Buffer {
  const start = Buffer.alloc(16);
  start.writeUInt32BE(seed);
  return createCipheriv("aes-128-ctr", Buffer.alloc(16), start).update(Buffer.alloc(count));
}

/** A number from 0 to 1 that belongs to a name: a choice by it stays the same when other names come or go. */
export function placeOf(name: string): number {
  return createHash("sha1").update(name).digest().readUInt32BE(0) / 4294967296;
}
