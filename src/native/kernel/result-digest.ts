import { createHash } from "node:crypto";
import { mixBits } from "../../base/text.js";

/**
 * The digest of a set of results: equal for equal sets, whatever the order of the results and the number of threads.
 *
 * It is the sum of a hash of each match, a multiset hash like MSet-Add-Hash (Clarke, Devadas, van Dijk, Gassend and Suh,
 * "Incremental Multiset Hash Functions and Their Application to Memory Integrity Checking", 2003). A sum is used because
 * in an exclusive or, two equal matches would cancel each other out. It detects differences, but is no proof against
 * someone who chooses matches so that their hashes have the same sum.
 *
 * The sum consists of four words modulo 2^32. The hash of a match has two steps:
 * - The key: MurmurHash3_x86_128, with seed 0, of the first 16 bytes of the SHA-256 of repository, NUL and commit,
 *   followed by the path, or by what `digestKinds` says for results that are not ranges of a file.
 * - Two numbers: word i is `mixBits(mixBits(key[i] ^ a) + b)`, where `mixBits` is the last step of MurmurHash3. For a range of a
 *   file, a and b are the byte offsets of its start and its end in the file; for a symbol, those of its name in the list
 *   of the file's symbols; for a file that is found by its path, both are 2^32 - 1.
 */
export type ResultDigest = Uint32Array;

/** Four words of the sum, and the number of matches modulo 2^32. */
const digestWordCount = 5;

export const digestKeyBytes = 16;

/** The two numbers of a match without a position. */
export const noPosition = 0xffff_ffff;

/**
 * What follows the key of the repository in the keys of results that are not ranges of a file or paths. It contains a
 * NUL byte, which no path contains.
 */
export const digestKinds = {
  /** The commit is the one that was found. The numbers are those of matches and of highlighted ranges. */
  commit: "\0commit\0",
  diff: "\0diff\0",
  /** Then the revision as typed, like that of a directory. No commit is part of the key. */
  repository: "\0repository\0",
  /** Then the revision, a colon and the path. */
  directory: "\0directory\0",
  /** Then the match object. No repository is part of the key. */
  owner: "\0owner\0",
} as const;

export function emptyDigest(): ResultDigest {
  return new Uint32Array(digestWordCount);
}

export function addDigest(sum: ResultDigest, other: ResultDigest): void {
  for (let i = 0; i < digestWordCount; i++) sum[i] += other[i];
}

/** The sum as 32 hexadecimal digits, most significant first, word by word. */
export function printDigest(sum: ResultDigest): string {
  return [...sum.subarray(0, 4)].map((word) => word.toString(16).padStart(8, "0")).join("");
}

export function repositoryKey(repository: string, commit: string): Buffer {
  return createHash("sha256").update(`${repository}\0${commit}`).digest().subarray(0, digestKeyBytes);
}

/** Adds a match to the sum. */
export function addToDigest(sum: ResultDigest, key: Uint8Array, text: Uint8Array, a: number, b: number): void {
  addMatch(sum, murmur(key, text), a, b);
}

/** Adds a match whose key is hashed already. */
export function addMatch(sum: ResultDigest, hash: Uint32Array, a: number, b: number): void {
  for (let i = 0; i < 4; i++) sum[i] += mixBits((mixBits((hash[i] ^ a) >>> 0) + b) >>> 0);
  sum[4]++;
}

const c1 = 0x239b961b;
const c2 = 0xab0e9789;
const c3 = 0x38b34ae5;
const c4 = 0xa1e38b93;

/** MurmurHash3_x86_128 with seed 0, by Austin Appleby, of a key of 16 bytes followed by a text. */
export function murmur(key: Uint8Array, text: Uint8Array): Uint32Array {
  const h = new Uint32Array(4);
  addBlock(h, key, 0);
  let at = 0;
  for (; at + digestKeyBytes <= text.length; at += digestKeyBytes) addBlock(h, text, at);
  if (at < text.length) addTail(h, text, at);
  const length = text.length + digestKeyBytes;
  for (let i = 0; i < 4; i++) h[i] ^= length;
  spread(h);
  for (let i = 0; i < 4; i++) h[i] = mixBits(h[i]);
  spread(h);
  return h;
}

function addBlock(h: Uint32Array, bytes: Uint8Array, at: number): void {
  h[0] = Math.imul(rotate(h[0] ^ scramble(word(bytes, at), c1, 15, c2), 19) + h[1], 5) + 0x561ccd1b;
  h[1] = Math.imul(rotate(h[1] ^ scramble(word(bytes, at + 4), c2, 16, c3), 17) + h[2], 5) + 0x0bcaa747;
  h[2] = Math.imul(rotate(h[2] ^ scramble(word(bytes, at + 8), c3, 17, c4), 15) + h[3], 5) + 0x96cd1c35;
  h[3] = Math.imul(rotate(h[3] ^ scramble(word(bytes, at + 12), c4, 18, c1), 13) + h[0], 5) + 0x32ac3b17;
}

/** Missing bytes are zeros. */
function addTail(h: Uint32Array, bytes: Uint8Array, at: number): void {
  h[3] ^= scramble(word(bytes, at + 12), c4, 18, c1);
  h[2] ^= scramble(word(bytes, at + 8), c3, 17, c4);
  h[1] ^= scramble(word(bytes, at + 4), c2, 16, c3);
  h[0] ^= scramble(word(bytes, at), c1, 15, c2);
}

function spread(h: Uint32Array): void {
  h[0] += h[1] + h[2] + h[3];
  for (let i = 1; i < 4; i++) h[i] += h[0];
}

function scramble(value: number, first: number, bits: number, second: number): number {
  return Math.imul(rotate(Math.imul(value, first), bits), second);
}

function word(bytes: Uint8Array, at: number): number {
  const byte = (i: number): number => (at + i < bytes.length ? bytes[at + i] : 0);
  return byte(0) | (byte(1) << 8) | (byte(2) << 16) | (byte(3) << 24);
}

function rotate(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits));
}
