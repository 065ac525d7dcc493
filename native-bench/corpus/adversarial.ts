import { closeSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { randomBytes, randomFrom } from "../system/random.js";
import { commitFolder } from "./repositories.js";

/** A word in the middle of the long line, and nowhere else. */
const longLineMarker = "trawlbenchlonglinex";

const seed = 7;
const megabyte = 1_000_000;

/** What is hard for a search engine. */
export async function makeAdversarial(folder: string): Promise<void> {
  writeParts(join(folder, "four-spaces.txt"), fourSpaces());
  writeParts(join(folder, "long-line.txt"), longLine(200 * megabyte));
  writeParts(join(folder, "empty-lines.txt"), [Buffer.alloc(megabyte, "\n")]);
  writeParts(join(folder, "random.bin"), [randomBytes(seed, 16 * megabyte)]);
  writeParts(join(folder, "random-text.txt"), [withoutZeros(randomBytes(seed + 1, 8 * megabyte))]);
  writeParts(join(folder, "equal-trigrams.txt"), [Buffer.alloc(32 * megabyte, `${"a".repeat(99)}\n`)]);
  await commitFolder(folder);
}

/** A million lines, indented by 4 to 32 spaces. */
function* fourSpaces(): Generator<Buffer> {
  for (let block = 0; block < 100; block++) {
    const lines = Array.from({ length: 10_000 }, (_, i) => `${"    ".repeat(1 + (i % 8))}x${block * 10_000 + i}\n`);
    yield Buffer.from(lines.join(""));
  }
}

/** Words of six letters, with the marker in the middle. */
function* longLine(bytes: number): Generator<Buffer> {
  const random = randomFrom(seed);
  const block = 7 * 1024;
  const blockCount = Math.floor(bytes / block);
  for (let i = 0; i < blockCount; i++) {
    if (i === blockCount >> 1) yield Buffer.from(`${longLineMarker} `);
    const letters = Buffer.alloc(block);
    for (let at = 0; at < block; at++) letters[at] = at % 7 === 6 ? 32 : 97 + random(26);
    yield letters;
  }
  yield Buffer.from("\n");
}

/** A zero byte would mark the file as binary; it is meant to be taken for text. */
function withoutZeros(bytes: Buffer): Buffer {
  for (let at = bytes.indexOf(0); at !== -1; at = bytes.indexOf(0, at + 1)) bytes[at] = 255;
  return bytes;
}

function writeParts(file: string, parts: Iterable<Buffer>): void {
  const descriptor = openSync(file, "w");
  for (const part of parts) writeSync(descriptor, part);
  closeSync(descriptor);
}
