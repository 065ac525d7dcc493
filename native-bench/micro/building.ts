import { crc32 } from "node:zlib";
import type { Kernel, Postings } from "../../src/kernel/kernel.js";
import { headerBytes, newlineStepBytes, overlapBytes, unitBytes } from "../../src/shard/format.js";
import { timed, type BenchGroup, type MicroBench, type Subject } from "./bench.js";
import { buildShard, type Fixture } from "./fixture.js";
import type { MicroDocument } from "./text.js";

const megabyte = 1e6;

/** Half a shard's worth of text. */
const buildBytesMax = 32 * 1024 * 1024;

/** As the indexer asks for each document. */
const trigramCountMax = 100_000;

/** What the making of a shard is made of, and all of it. The limit is copying the text once. */
export async function buildingGroup(fixture: Fixture): Promise<BenchGroup> {
  const documents = firstDocuments(fixture.text.documents);
  const text = Buffer.concat(documents.map((document) => document.text));
  const units = unitsOf(documents);
  const newlines = new Uint32Array(Math.floor(text.length / newlineStepBytes) + 1);
  const copying = fixture.limit("copying", "copy", 1 / megabyte);
  const bench = (task: string, work: (kernel: Kernel) => string): MicroBench => ({
    task,
    unit: "MB",
    subjects: [...fixture.eachKernel((kernel) => working(text.length, () => work(kernel))), ...copying],
  });
  const benches: MicroBench[] = [
    bench("trigrams to posting lists", (kernel) => postingsDigest(kernel.buildPostings(text, units, units.length / 2))),
    bench("table of newlines", (kernel) => {
      kernel.newlineTable(text, newlineStepBytes, newlines);
      return String(newlines.at(-1));
    }),
    bench("count of distinct trigrams by document", (kernel) => String(countTrigrams(kernel, text, documents))),
    {
      task: "checksum (CRC-32, zlib)",
      unit: "MB",
      subjects: [{ name: "native", ...working(text.length, () => String(crc32(text))) }, ...copying],
    },
    bench("whole shard", (kernel) => shardDigest(buildShard(kernel, documents))),
  ];
  return { title: "Building shards", benches, close: async () => {} };
}

function firstDocuments(documents: readonly MicroDocument[]): MicroDocument[] {
  let bytes = 0;
  return documents.filter(({ text }) => (bytes += text.length) <= buildBytesMax);
}

function unitsOf(documents: readonly MicroDocument[]): Uint32Array {
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

/** `work` returns what it found, in a form that costs next to nothing. */
function working(bytes: number, work: () => string): Omit<Subject, "name"> {
  return {
    result: work,
    run: () =>
      timed(() => {
        work();
        return bytes / megabyte;
      }),
  };
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
  for (const {
    text: { length },
  } of documents) {
    count += kernel.distinctTrigrams(text, from, from + length, trigramCountMax);
    from += length;
  }
  return count;
}
