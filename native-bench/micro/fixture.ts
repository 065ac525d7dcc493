import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorMessage, TrawlError } from "../../src/base/errors.js";
import type { Kernel } from "../../src/native/kernel/kernel.js";
import { loadKernel } from "../../src/native/kernel/load.js";
import { ShardBuilder } from "../../src/shard/shard-builder.js";
import { ShardReader } from "../../src/shard/shard-reader.js";
import { ShardStore } from "../../src/store/shard-store.js";
import type { Subject } from "./bench.js";
import { compileProgram } from "../system/compile.js";
import { MachineLimits } from "./limits.js";
import type { MicroDocument, MicroText } from "./text.js";

/**
 * What the benchmarks share: the text as one shard in LMDB, read through the map as in a search, the kernels, and the
 * machine's limits.
 */
export class Fixture {
  readonly text: MicroText;
  readonly workFolder: string;
  readonly reader: ShardReader;
  /** The native one first, if it is built. */
  readonly kernels: readonly Kernel[];
  /** What could not be measured. */
  readonly notes: readonly string[];
  readonly #limitsProgram: string | undefined;
  readonly #limitsByName = new Map<string, MachineLimits>();
  readonly #opened: OpenText;

  static async open(text: MicroText, workFolder: string): Promise<Fixture> {
    mkdirSync(workFolder, { recursive: true });
    const notes: string[] = [];
    const kernels = usableKernels(notes);
    const program = await compileProgram("native-bench/micro/limits.c", workFolder).catch((error: unknown) => {
      notes.push(`The machine's limits are not measured: ${errorMessage(error)}`);
      return undefined;
    });
    const textFolder = join(workFolder, "text");
    const store = new ShardStore(textFolder);
    await store.put([{ id: textShardId, bytes: buildShard(kernels[0], text.documents) }]);
    await store.close();
    return new Fixture(text, workFolder, kernels, program, notes, textFolder);
  }

  private constructor(
    text: MicroText,
    workFolder: string,
    kernels: readonly Kernel[],
    limitsProgram: string | undefined,
    notes: readonly string[],
    textFolder: string,
  ) {
    this.text = text;
    this.workFolder = workFolder;
    this.kernels = kernels;
    this.notes = notes;
    this.#limitsProgram = limitsProgram;
    this.#opened = openText(textFolder);
    this.reader = this.#opened.reader;
  }

  /** The shard's text without the padding: a view over LMDB's map when it is large enough. */
  get content(): Buffer {
    return this.reader.content.subarray(0, this.reader.contentBytes);
  }

  /** A bare limit on the shard's text. */
  limit(name: string, command: string, unitsPerResult: number): Subject[] {
    return this.limitsOn("text", this.content, (limits) => [limits.limit(name, command, unitsPerResult)]);
  }

  /** A subject for each kernel. */
  eachKernel(subjectOf: (kernel: Kernel) => Omit<Subject, "name">): Subject[] {
    return this.kernels.map((kernel) => ({ name: kernel.name, ...subjectOf(kernel) }));
  }

  /**
   * The subjects that `choose` makes of the machine's limits for a text, which is written to a file of that name; []
   * without a compiler.
   */
  limitsOn(name: string, text: Uint8Array, choose: (limits: MachineLimits) => Subject[]): Subject[] {
    if (this.#limitsProgram === undefined) return [];
    const known = this.#limitsByName.get(name);
    if (known !== undefined) return choose(known);
    const path = join(this.workFolder, `${name}.bytes`);
    writeFileSync(path, text);
    const limits = new MachineLimits(this.#limitsProgram, path);
    this.#limitsByName.set(name, limits);
    return choose(limits);
  }

  async close(): Promise<void> {
    for (const limits of this.#limitsByName.values()) limits.close();
    await this.#opened.close();
  }
}

const textShardId = 1;

interface OpenText {
  readonly reader: ShardReader;
  readonly close: () => Promise<void>;
}

/** LMDB's binding gives smaller values in a buffer of its own, which the next read of the thread writes over. */
const copiedBytesMax = 1024 * 1024;

/** The text that a fixture has put into a folder. */
function openText(folder: string): OpenText {
  const store = new ShardStore(folder);
  const snapshot = store.read();
  const bytes = snapshot.get(textShardId);
  if (bytes === undefined) throw new TrawlError("internal", "the shard that was written is not there");
  const close = async (): Promise<void> => {
    snapshot.close();
    await store.close();
  };
  return { reader: new ShardReader(textShardId, bytes.length < copiedBytesMax ? Buffer.from(bytes) : bytes), close };
}

function usableKernels(notes: string[]): Kernel[] {
  const portable = loadKernel("ts");
  try {
    return [loadKernel("native"), portable];
  } catch (error) {
    notes.push(`The native kernel is not measured: ${errorMessage(error)}`);
    return [portable];
  }
}

/** The documents as one shard, however large. */
export function buildShard(kernel: Kernel | undefined, documents: readonly MicroDocument[]): Buffer {
  const builder = new ShardBuilder(kernel ?? loadKernel("ts"), undefined);
  for (const { path, oid, text } of documents) {
    const content = builder.addContent(oid, text);
    builder.addDocument(content, {
      repositoryId: 1,
      path: Buffer.from(path),
      branchMask: 1,
      oid,
      language: "",
      skipReason: "none",
    });
  }
  return builder.build((byteCount) => Buffer.alloc(ShardStore.storedBytes(byteCount)));
}
