import { crc32 } from "node:zlib";
import { uninitializedBytes } from "../../src/base/bytes.js";
import { timed, type BenchGroup, type MicroBench } from "./bench.js";
import type { Fixture } from "./fixture.js";
import { bufferBytes, findMatches, writtenBatches, type MatchForm } from "./matches.js";

const megabyte = 1e6;

const lines: MatchForm = { chunks: false, contextLines: 0 };
const chunks: MatchForm = { chunks: true, contextLines: 3 };

/** Writing matches as JSON. The limit is copying as many bytes as are written. */
export async function encodeGroup(fixture: Fixture): Promise<BenchGroup> {
  const benches = [
    encodeBench(fixture, "lines to JSON, dense (`return`)", "return", lines),
    encodeBench(fixture, "lines to JSON, spread (`buffer`)", "buffer", lines),
    encodeBench(fixture, "chunks to JSON, 3 lines of context", "buffer", chunks),
  ];
  return { title: "Matches to JSON", benches, close: async () => {} };
}

function encodeBench(fixture: Fixture, task: string, needle: string, form: MatchForm): MicroBench {
  const found = findMatches(fixture.kernels[0], fixture.reader, needle);
  const out = uninitializedBytes(bufferBytes);
  const subjects = fixture.eachKernel((kernel) => {
    const fold = (add: (sum: number, bytes: Buffer) => number): number => {
      let sum = 0;
      for (const bytes of writtenBatches(kernel, found, form, out)) sum = add(sum, bytes);
      return sum;
    };
    const checksum = (): string => `CRC-32 ${fold((crc, bytes) => crc32(bytes, crc)).toString(16)}`;
    return { result: checksum, run: () => timed(() => fold((sum, { length }) => sum + length) / megabyte) };
  });
  return { task, unit: "MB", subjects: [...subjects, ...fixture.limit("copying", "copy", 1 / megabyte)] };
}
