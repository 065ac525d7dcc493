import { crc32 } from "node:zlib";
import { encodeSummaries } from "../../src/protocol/repository-summaries.js";
import { TrawlError } from "../../src/base/errors.js";
import type { Kernel } from "../../src/native/kernel/kernel.js";
import { loadKernel } from "../../src/native/kernel/load.js";
import { planQuery } from "../../src/query/plan/plan-query.js";
import { headerBytes, sections } from "../../src/shard/format.js";
import { headerCrc, headerWordCount, headerWords, sectionWordCount } from "../../src/shard/section-layout.js";
import { ShardBuilder } from "../../src/shard/shard-builder.js";
import { ShardReader } from "../../src/shard/shard-reader.js";
import { runEngine, testRepository } from "../support/engine.js";
import { mutated, type Random } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";

const kernels: readonly Kernel[] = [loadKernel("native"), loadKernel("ts")];
const repositories = [testRepository(7, "host/seven"), testRepository(9, "host/nine")];
const queries = [
  "needle",
  "line 1",
  "/o[nf] the/",
  "file:long",
  "type:path c",
  "needle or kelvin",
  "/(?i)K/ lang:c",
].map((query) => planQuery(query, "standard"));

let whole: Buffer | undefined;

/** Documents of two repositories, one content with two paths, one that folds into ASCII, one without content. */
function wholeShard(): Buffer {
  if (whole !== undefined) return whole;
  const builder = new ShardBuilder(kernels[0], undefined);
  const add = (repositoryId: number, path: string, language: string, oid: string, content: string): void =>
    builder.addDocument(builder.addContent(oid.repeat(40), Buffer.from(content)), {
      repositoryId,
      path: Buffer.from(path),
      branchMask: 1,
      oid: oid.repeat(40),
      language,
      skipReason: "none",
    });
  const long = Array.from(
    { length: 300 },
    (_, i) => `line ${i} of the long file, ${i % 50 === 0 ? "with a needle" : "without"}\n`,
  ).join("");
  add(7, "src/main.c", "C", "a", "int main(void)\n{\n\treturn needle;\n}\n");
  add(7, "doc/long.txt", "Text", "b", long);
  add(9, "copy/of/long.txt", "Text", "b", long);
  add(9, "empty", "", "c", "");
  add(9, "kelvin.md", "Markdown", "d", "300 \u212a\r\nneedle \u{1f9f5}");
  builder.addSkipped({
    repositoryId: 7,
    path: Buffer.from("image.png"),
    branchMask: 1,
    oid: "e".repeat(40),
    language: "",
    skipReason: "binary",
  });
  whole = builder.build((byteCount) => Buffer.alloc(byteCount));
  return whole;
}

/** Checksums that fit whatever the bytes are, as a faulty builder would write them. */
function withChecksums(bytes: Buffer): Buffer {
  if (bytes.length < headerBytes) return bytes;
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, headerBytes / 4);
  sections.forEach((_, i) => {
    const [offset, length] = words.subarray(headerWordCount + i * sectionWordCount);
    if (offset + length <= bytes.length)
      words[headerWordCount + i * sectionWordCount + 2] = crc32(bytes.subarray(offset, offset + length));
  });
  words[headerWords.headerCrc] = headerCrc(bytes, sections.length);
  return bytes;
}

/**
 * Few bytes lie in the sections of positions, and most of what can go wrong, so these are changed as often as all
 * others.
 */
function damaged(random: Random): Buffer {
  const bytes = Buffer.from(wholeShard());
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length >> 2);
  for (let count = 1 + random(3); count > 0; count--) {
    const section = headerWordCount + random(sections.length) * sectionWordCount;
    const [offset, length] = words.subarray(section);
    const at = (offset >> 2) + random(Math.max(1, length >> 2));
    switch (random(5)) {
      case 0:
        words[at] = [0, 1, words[at] + 1, words[at] - 1, 0xffffffff, 0x80000000, words[at] ^ (1 << random(32))][
          random(7)
        ];
        break;
      case 1:
        words[section + random(2)] = [0, 8, words[section] + 8, length + 4, length - 4, 0xfffffff8][random(6)];
        break;
      case 2:
        words[random(headerWordCount)] ^= 1 << random(32);
        break;
      default:
        bytes[offset + random(Math.max(1, length))] ^= 1 << random(8);
    }
  }
  return random(10) === 0 ? Buffer.from(mutated(random, bytes)) : bytes;
}

/**
 * What is damaged is refused, or searched to some end; the kernels do not see a difference that the reader has let
 * pass.
 */
function search(input: Buffer): void {
  const bytes = withChecksums(Buffer.from(input));
  try {
    const reader = new ShardReader(1, bytes);
    reader.verify("index");
    reader.verify("content");
    reader.documentsAt(9, Buffer.from("empty"));
    const summaries = encodeSummaries(
      [...reader.repositories].map((id) => repositories.find((repository) => repository.id === id) ?? repositories[0]),
    );
    const shard = { reader, summaries, tombstones: undefined, sets: undefined };
    for (const kernel of kernels) {
      for (const plan of queries) {
        runEngine(kernel, [shard], plan, { chunkMatches: false });
        runEngine(kernel, [shard], plan, { chunkMatches: true });
      }
    }
  } catch (error) {
    if (!(error instanceof TrawlError) || !["corrupt-shard", "format-version"].includes(error.code)) throw error;
  }
}

/** Any bytes as a posting list: both kernels find the same units, which ascend. */
function decode(input: Buffer): void {
  const [native, portable] = kernels.map((kernel) => {
    const units = new Uint32Array(input.length);
    const count = kernel.decodePostings(input, 0, input.length, units);
    return units.subarray(0, count);
  });
  if (Buffer.compare(bytesOf(native), bytesOf(portable)) !== 0)
    throw new RangeError(`native finds ${native.join()}, the other ${portable.join()}`);
  for (let i = 1; i < native.length; i++) if (native[i] <= native[i - 1]) throw new RangeError("units do not ascend");
  for (const kernel of kernels) {
    const units = Uint32Array.from({ length: 200 }, (_, i) => 3 * i);
    const left = kernel.intersectPostings(input, 0, input.length, units, units.length);
    for (let i = 0; i < left; i++)
      if (units[i] % 3 !== 0 || (i > 0 && units[i] <= units[i - 1])) throw new RangeError("a unit that was not given");
  }
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

export const shardTargets: readonly FuzzTarget[] = [
  { name: "shard", cpuMsMax: 500, testCount: 60, make: damaged, run: search },
  {
    name: "posting-list",
    cpuMsMax: 100,
    testCount: 1000,
    make: (random) =>
      Buffer.from(Array.from({ length: random(300) }, () => (random(3) === 0 ? random(256) : random(128)))),
    run: decode,
  },
];
