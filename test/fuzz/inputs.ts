/** Inputs of fuzz targets: bytes, made from a seed alone. */
import { randomFrom } from "../support/random.js";

/** Numbers below a bound. */
export type Random = (below: number) => number;

/** What the texts of one target are made of. */
export interface Vocabulary {
  /** What means something to the reader. */
  readonly pieces: readonly string[];
  /** Whole inputs that are accepted, to be changed a little. */
  readonly samples: readonly string[];
  /** Longest input that the reader is given. */
  readonly lengthMax: number;
}

/**
 * One of so many texts is as long as texts may be, since what is slow shows there; the others are short, for many of
 * them.
 */
const longTextsIn = 16;

export function makeText(random: Random, vocabulary: Vocabulary): Buffer {
  if (random(longTextsIn) === 0) return longText(random, vocabulary);
  switch (random(4)) {
    case 0:
      return Buffer.from(Array.from({ length: random(48) }, () => random(256)));
    case 1:
      return mutated(random, Buffer.from(pick(random, vocabulary.samples)), vocabulary).subarray(
        0,
        vocabulary.lengthMax,
      );
    default:
      return Buffer.from(soup(random, vocabulary.pieces, 24));
  }
}

/** A few pieces many times over, between others: where a reader goes back over what it has read, this takes it long. */
function longText(random: Random, { pieces, samples, lengthMax }: Vocabulary): Buffer {
  const start = random(2) === 0 ? soup(random, pieces, 3) : pick(random, samples);
  const end = soup(random, pieces, 3);
  const unit = soup(random, pieces, 3) || " ";
  const room = Math.max(0, lengthMax - Buffer.byteLength(start) - Buffer.byteLength(end));
  return Buffer.from(start + unit.repeat(Math.floor(room / Buffer.byteLength(unit))) + end).subarray(0, lengthMax);
}

function soup(random: Random, pieces: readonly string[], countMax: number): string {
  const glue = random(4) === 0 ? " " : "";
  return Array.from({ length: random(countMax + 1) }, () => pick(random, pieces)).join(glue);
}

/** One to four changes: bits, bytes, cuts, repetitions, pieces put in. */
export function mutated(
  random: Random,
  input: Buffer,
  { pieces }: Pick<Vocabulary, "pieces"> = { pieces: [] },
): Buffer {
  let bytes: Buffer = Buffer.from(input);
  for (let count = 1 + random(4); count > 0; count--) bytes = changed(random, bytes, pieces);
  return bytes;
}

function changed(random: Random, bytes: Buffer, pieces: readonly string[]): Buffer {
  const at = random(bytes.length + 1);
  const to = Math.min(bytes.length, at + 1 + random(16));
  switch (random(pieces.length === 0 ? 5 : 6)) {
    case 0:
      if (at < bytes.length) bytes[at] ^= 1 << random(8);
      return bytes;
    case 1:
      if (at < bytes.length) bytes[at] = [0, 1, 127, 128, 255, 10, 32][random(7)];
      return bytes;
    case 2:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(to)]);
    case 3:
      return Buffer.concat([bytes.subarray(0, to), bytes.subarray(at)]);
    case 4:
      return Buffer.from(bytes.subarray(0, at));
    default:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(pick(random, pieces)), bytes.subarray(at)]);
  }
}

export function pick<T>(random: Random, all: readonly T[]): T {
  return all[random(all.length)];
}

/** The numbers of one input: of neighbouring seeds they have nothing in common. */
export function randomOfInput(seed: number): Random {
  return randomFrom(Math.imul(seed, 0x9e3779b1) ^ 0x5bd1e995);
}
