import { TrawlError } from "../../src/base/errors.js";
import { placeDocument } from "../../src/scip/build-index.js";
import { decodeDocument, decodeMetadata, decodeSymbol } from "../../src/scip/scip-messages.js";
import { encodeScipFile, encodeScipSymbol } from "../support/scip-index.js";
import { mutated, type Random } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";

const text = Buffer.from("first second\n\u{1f680} third ä fourth\n\nlast");

const samples: readonly Uint8Array[] = [
  encodeScipFile({
    path: "a/b.ts",
    language: "typescript",
    encoding: 2,
    occurrences: [
      { range: [0, 0, 5], symbol: "s m p 1 first.", roles: 1 },
      { range: [1, 3, 2, 0], symbol: "local 4" },
      { range: [9, 1, 2], symbol: "s m p 1 `x y`#f()." },
    ],
    symbols: [{ symbol: "s m p 1 first.", documentation: ["```ts\nlet first\n```"], implements: "s m p 1 `x y`#" }],
  }),
  encodeScipSymbol({ symbol: "s m p 1 first.", kind: 12, signature: "first", documentation: ["one", "two"] }),
];

/** Documents of indexes, of which something is changed: often a length, and where a message ends. */
function damaged(random: Random): Buffer {
  const bytes = mutated(random, Buffer.from(samples[random(samples.length)]));
  return random(4) === 0 ? Buffer.concat([bytes, bytes.subarray(random(bytes.length + 1))]) : Buffer.from(bytes);
}

/** Every place that is accepted is in the text. */
function read(input: Buffer): void {
  const lines = text.toString().split("\n");
  try {
    decodeMetadata(input);
    decodeSymbol(input, "a test");
    const { occurrences } = placeDocument(input, decodeDocument(input), text);
    for (const { startLine, startCharacter, endLine, endCharacter } of occurrences) {
      const isInside =
        startLine <= endLine &&
        startCharacter <= [...lines[startLine]].length &&
        endCharacter <= [...lines[endLine]].length;
      if (!isInside) throw new RangeError(`an occurrence is outside: ${startLine}:${startCharacter}`);
    }
  } catch (error) {
    if (!(error instanceof TrawlError) || error.code !== "bad-request") throw error;
  }
}

export const scipTargets: readonly FuzzTarget[] = [
  { name: "scip", cpuMsMax: 100, testCount: 300, make: damaged, run: read },
];
