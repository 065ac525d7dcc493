import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MachineLimits, type Subject, working } from "./bench.js";
import { compileProgram } from "../system/folders.js";
import { errorMessage } from "../../src/base/errors.js";
import type { Kernel } from "../../src/native/kernel/kernel.js";
import { loadKernel } from "../../src/native/kernel/load.js";
import { ShardBuilder } from "../../src/shard/shard-builder.js";
import { ShardReader } from "../../src/shard/shard-reader.js";
import { ShardStore } from "../../src/store/shard-store.js";

/** What the micro benchmarks work on: real files in a fixed order. */
export interface MicroText {
  readonly documents: readonly { readonly path: string; readonly oid: string; readonly text: Buffer }[];
  readonly bytes: number;
}

/** Neighbours in a listing resemble each other, so a sample takes every 16th file, then those after them. */
const sampleStride = 16;

/** Files of `paths`, spread over the whole list, until they have `bytesMax` together. The same list gives the same text. */
export function sampleText(paths: readonly string[], read: (path: string) => Buffer, bytesMax: number): MicroText {
  const documents: MicroText["documents"][number][] = [];
  let bytes = 0;
  for (let first = 0; first < sampleStride; first++) {
    for (let i = first; i < paths.length; i += sampleStride) {
      const path = paths[i] ?? "";
      const text = read(path);
      if (bytes + text.length > bytesMax) return { documents, bytes };
      documents.push({ path, oid: createHash("sha1").update(text).digest("hex"), text });
      bytes += text.length;
    }
  }
  return { documents, bytes };
}

/** What the benchmarks share: the text as one shard, the kernels, and the machine's limits. */
export class Fixture {
  readonly text: MicroText;
  readonly reader: ShardReader;
  /** The native one first, if it is built. */
  readonly kernels: readonly [Kernel, ...Kernel[]];
  /** What could not be measured. */
  readonly notes: readonly string[];
  readonly #workFolder: string;
  readonly #limitsProgram: string | undefined;
  readonly #limitsByName = new Map<string, MachineLimits>();

  static async open(text: MicroText, workFolder: string): Promise<Fixture> {
    mkdirSync(workFolder, { recursive: true });
    const notes: string[] = [];
    const portable = loadKernel("ts");
    let kernels: [Kernel, ...Kernel[]] = [portable];
    try {
      kernels = [loadKernel("native"), portable];
    } catch (error) {
      notes.push(`The native kernel is not measured: ${errorMessage(error)}`);
    }
    const program = await compileProgram("native-bench/micro/limits.c", workFolder).catch((error: unknown) => {
      notes.push(`The machine's limits are not measured: ${errorMessage(error)}`);
      return undefined;
    });
    return new Fixture(text, workFolder, kernels, program, notes);
  }

  private constructor(
    text: MicroText,
    workFolder: string,
    kernels: readonly [Kernel, ...Kernel[]],
    limitsProgram: string | undefined,
    notes: readonly string[],
  ) {
    this.text = text;
    this.kernels = kernels;
    this.notes = notes;
    this.#workFolder = workFolder;
    this.#limitsProgram = limitsProgram;
    this.reader = new ShardReader(1, buildShard(kernels[0], text.documents));
  }

  /** The shard's text without the padding. */
  get content(): Buffer {
    return this.reader.content.subarray(0, this.reader.contentBytes);
  }

  /** A subject for each kernel, whose work has this amount. */
  eachKernel(amount: number, find: (kernel: Kernel) => number | string): Subject[] {
    return this.kernels.map((kernel) => working(kernel.name, amount, () => find(kernel)));
  }

  /** A bare limit on the shard's text. */
  limit(name: string, command: string, unitsPerResult: number): Subject[] {
    return this.limitsOn("text", this.content, (limits) => [limits.limit(name, command, unitsPerResult)]);
  }

  /**
   * The subjects that `choose` makes of the machine's limits for a text, which is written to a file of that name; []
   * without a compiler.
   */
  limitsOn(name: string, text: Uint8Array, choose: (limits: MachineLimits) => Subject[]): Subject[] {
    if (this.#limitsProgram === undefined) return [];
    const known = this.#limitsByName.get(name);
    if (known !== undefined) return choose(known);
    const path = join(this.#workFolder, `${name}.bytes`);
    writeFileSync(path, text);
    const limits = new MachineLimits(this.#limitsProgram, path);
    this.#limitsByName.set(name, limits);
    return choose(limits);
  }

  close(): void {
    for (const limits of this.#limitsByName.values()) limits.close();
  }
}

/** The documents as one shard, however large. */
function buildShard(kernel: Kernel, documents: MicroText["documents"]): Buffer {
  const builder = new ShardBuilder(kernel, undefined);
  for (const { path, oid, text } of documents) {
    const content = builder.addContent(oid, text);
    const common = { repositoryId: 1, branchMask: 1, language: "", skipReason: "none" } as const;
    builder.addDocument(content, { ...common, path: Buffer.from(path), oid });
  }
  return builder.build((byteCount) => Buffer.alloc(ShardStore.storedBytes(byteCount)));
}
