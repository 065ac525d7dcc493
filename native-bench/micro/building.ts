import { crc32 } from "node:zlib";
import type { Kernel, Postings } from "../../src/native/kernel/kernel.js";
import { headerBytes, newlineStepBytes, overlapBytes, unitBytes } from "../../src/shard/format.js";
import { working, type BenchGroup, type MicroBench } from "./bench.js";
import { buildShard, type Fixture } from "./fixture.js";
import { firstDocuments, type MicroDocument } from "./text.js";

const megabyte = 1e6;

/** The indexer's limit for each document. */
const trigramCountMax = 100_000;

/** The steps of building a shard, and all of it. The limit is copying the text once. */
export async function buildingGroup(fixture: Fixture): Promise<BenchGroup> {
  const documents = firstDocuments(fixture.text.documents);
  const text = Buffer.concat(documents.map((document) => document.text));
  const units = splitUnits(documents);
  const newlines = new Uint32Array(Math.floor(text.length / newlineStepBytes) + 1);
  const amount = text.length / megabyte;
  const copying = fixture.limit("copying", "copy", 1 / megabyte);
  const bench = (task: string, work: (kernel: Kernel) => number | string): MicroBench => {
    const subjects = fixture.eachKernel((kernel) => working(amount, () => work(kernel)));
    return { task, unit: "MB", subjects: [...subjects, ...copying] };
  };
  const checksum = { name: "native", ...working(amount, () => crc32(text)) };
  const benches: MicroBench[] = [
    bench("trigrams to posting lists", (kernel) => postingsDigest(kernel.buildPostings(text, units, units.length / 2))),
    bench("table of newlines", (kernel) => {
      kernel.newlineTable(text, newlineStepBytes, newlines);
      return newlines.at(-1) ?? 0;
    }),
    bench("count of distinct trigrams by document", (kernel) => countTrigrams(kernel, text, documents)),
    { task: "checksum (CRC-32, zlib)", unit: "MB", subjects: [checksum, ...copying] },
    bench("whole shard", (kernel) => shardDigest(buildShard(kernel, documents))),
  ];
  return { title: "Building shards", benches, close: async () => {} };
}

function splitUnits(documents: readonly MicroDocument[]): Uint32Array {
  const units: number[] = [];
  let start = 0;
  for (const { text } of documents) {
    const end = start + text.length;
    for (let from = start; from < end; from += unitBytes)
      units.push(from, Math.min(end, from + unitBytes + overlapBytes));
    start = end;
  }
  return Uint32Array.from(units);
}

function postingsDigest({ keys, offsets, bytes }: Postings): string {
  return `${keys.length} ${offsets.length} ${crc32(bytes.subarray(0, 65536))} ${crc32(bytes.subarray(-65536))} ${bytes.length}`;
}

/** The shard's header holds the checksums of all its sections, and one of itself. */
function shardDigest(shard: Buffer): string {
  return `${shard.length} ${crc32(shard.subarray(0, headerBytes))}`;
}

function countTrigrams(kernel: Kernel, text: Buffer, documents: readonly MicroDocument[]): number {
  let count = 0;
  let from = 0;
  for (const document of documents) {
    const to = from + document.text.length;
    count += kernel.distinctTrigrams(text, from, to, trigramCountMax);
    from = to;
  }
  return count;
}
