import { crc32 } from "node:zlib";
import { uninitializedBytes } from "../../src/base/bytes.js";
import { timed, type BenchGroup, type MicroBench, type Subject } from "./bench.js";
import type { Fixture } from "./fixture.js";
import {
  bufferBytes,
  chunkMatches,
  exhaustiveBatchBytes,
  findMatches,
  lineMatches,
  writtenBatches,
  type FoundMatches,
  type MatchForm,
} from "./matches.js";

const megabyte = 1e6;

/** Writing matches as JSON. The limit is copying as many bytes as are written. */
export async function encodeGroup(fixture: Fixture): Promise<BenchGroup> {
  const [kernel] = fixture.kernels;
  const copying = fixture.limit("copying", "copy", 1 / megabyte);
  const dense = findMatches(kernel, fixture.reader, "return");
  const spread = findMatches(kernel, fixture.reader, "buffer");
  const benches: MicroBench[] = [
    {
      task: "lines to JSON, dense (`return`)",
      unit: "MB",
      subjects: [...encoding(fixture, dense, lineMatches), ...copying],
    },
    {
      task: "lines to JSON, spread (`buffer`)",
      unit: "MB",
      subjects: [...encoding(fixture, spread, lineMatches), ...copying],
    },
    {
      task: "chunks to JSON, 3 lines of context",
      unit: "MB",
      subjects: [...encoding(fixture, spread, chunkMatches), ...copying],
    },
  ];
  return { title: "Matches to JSON", benches, close: async () => {} };
}

function encoding(fixture: Fixture, found: FoundMatches, form: MatchForm): Subject[] {
  const out = uninitializedBytes(bufferBytes);
  return fixture.eachKernel((kernel) => {
    const batches = () => writtenBatches(kernel, found, form, exhaustiveBatchBytes, () => out);
    return {
      result: () => {
        let crc = 0;
        for (const { bytes } of batches()) crc = crc32(bytes, crc);
        return `CRC-32 ${crc.toString(16)}`;
      },
      run: () =>
        timed(() => {
          let total = 0;
          for (const { bytes } of batches()) total += bytes.length;
          return total / megabyte;
        }),
    };
  });
}
