import { createHash } from "node:crypto";

/** Random whole numbers below a bound, the same sequence for the same seed (mulberry32). */
export type Random = (below: number) => number;

export function randomFrom(seed: number): Random {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * below);
  };
}

/** A number from 0 to 1 by the hash of a name: a choice by it does not change when other names come or go. */
export function hashFraction(name: string): number {
  return createHash("sha1").update(name).digest().readUInt32BE(0) / 4294967296;
}
