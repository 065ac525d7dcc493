import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Kernel } from "./kernel.js";
import type { OpenRanked, RankArgument } from "./ranking-kernel.js";

/** The methods of a kernel. A call with arguments of the wrong type or out of range throws a TypeError. */
export interface NativeMethods
  extends Omit<
    Kernel,
    | "name"
    | "encodeResults"
    | "encodeSymbols"
    | "visibleContents"
    | "listResults"
    | "countDocuments"
    | "scanWindows"
    | "unitsOfPatterns"
    | "openRanked"
    | "rankShards"
  > {
  /** The properties of a `ResultsRequest`, in its order. */
  encodeResults(...request: readonly (Uint8Array | Uint32Array | number | boolean)[]): boolean;
  /** The properties of a `SymbolsRequest`, in its order. */
  encodeSymbols(...request: readonly (Uint8Array | Uint32Array | number)[]): boolean;
  /** Text, ranges and their number, literals, starts, fold, the properties of the group, then the other arguments. */
  scanWindows(...request: readonly (Uint8Array | Uint32Array | number | boolean)[]): boolean;
  /** Keys, starts, postings, literals, their starts, then the other properties of a `PatternUnits`, in its order. */
  unitsOfPatterns(...request: readonly (Uint8Array | Uint32Array | number)[]): boolean;
  /** The properties of a `DocumentTable`, in its order, then the other arguments. */
  visibleContents(...request: readonly (Uint32Array | number)[]): number;
  /** The properties of a `DocumentTable`, then the others of a `ListRequest`, in their order. */
  listResults(...request: readonly (Uint32Array | number)[]): void;
  /** The properties of a `DocumentTable`, then the others of a `CountRequest`, in their order. */
  countDocuments(...request: readonly (Uint32Array | number)[]): boolean;
  /** See `openArguments`. */
  openRanked(...arrays: readonly RankArgument[]): OpenRanked;
  /** See `rankArguments`. */
  rankShards(...request: readonly RankArgument[]): number;
}

/**
 * The exports of the C++ addon: the same loops for each vector instruction set that this CPU supports, and without one.
 */
export interface Addon {
  readonly kernels: {
    readonly avx512?: NativeMethods;
    readonly avx2?: NativeMethods;
    readonly neon?: NativeMethods;
    readonly swar: NativeMethods;
  };
  limitUnsentBytes(port: number, bytes: number): boolean;
  /** Sends the descriptor with the message, unless it is 0. Returns the system's error number, 0 for none. */
  sendDatagram(address: Uint8Array, message: Uint8Array, descriptor: number): number;
  /** Returns the number of connections. */
  widenSendBuffers(port: number, bytes: number): number;
  /** Returns a descriptor; 0 if there is none. */
  listenerOf(port: number): number;
  /** Returns a port; 0 if nothing has changed. */
  replaceListener(port: number, descriptor: number): number;
  /** `strings`: the library and the secret, each terminated by a zero byte. False if its input cannot be filtered. */
  filterInput(strings: Uint8Array): boolean;
  /** Replaces each of `sizes` by the number of bytes that come of the piece of this size. */
  filterRequests(bytes: Uint8Array, sizes: Uint32Array, secret: Uint8Array, out: Uint8Array): void;
  /**
   * `strings`: file, directory, arguments and environment, each terminated by a zero byte. `limits`: MiB of data,
   * seconds of CPU time, MiB of a file, descriptors. Writes pid, stdin, stdout and stderr to `out`.
   */
  startProcess(
    strings: Uint8Array,
    argumentCount: number,
    environmentCount: number,
    limits: Uint32Array,
    out: Uint32Array,
  ): number;
  /** Writes exit code and signal to `out`. */
  hasEnded(pid: number, out: Uint32Array): boolean;
  /** The path is terminated by a zero byte. Returns a number for the file; 0 if this process has not mapped it. */
  guardFile(path: Uint8Array): number;
  /**
   * Writes to `out`: the number of faults, of faults in its first two pages, whether it is shorter than it was, and
   * whether it no longer exists.
   */
  stateOfFile(file: number, out: Uint32Array): void;
  /** Only the faults, without checking the file. */
  faultsOfFile(file: number, inHead: boolean): number;
  packFaults(): number;
  crc32(bytes: Uint8Array): number;
  populate(bytes: Uint8Array): void;
  releaseMemory(): void;
  /** When the heap of this thread, which must be a worker's, reaches its limit, the word is set and the thread ends. */
  guardHeap(reached: Uint32Array): void;
  /** `strings`: the folder of loose objects, then the index and the pack of each, each terminated by a zero byte. */
  openPacks(strings: Uint8Array, packCount: number, oidBytes: number, memoryBytesMax: number): OpenPacks;
  closePacks(packs: OpenPacks): void;
  /** Writes kind and size of each to `out`; false if one of the words of `stop` is set. */
  describeObjects(packs: OpenPacks, oids: Uint8Array, out: Uint32Array, stop: readonly Int32Array[]): boolean;
  /** Returns a `Found` of packs.h. */
  readObject(packs: OpenPacks, oid: Uint8Array, out: Uint8Array, stop: readonly Int32Array[]): number;
  /**
   * Unpacks the texts of `sizes` one after another into `out`, and writes a `TextKind` of packs.h for each. Writes to
   * `state` how many were dealt with, and how many bytes were written. False if one of the words of `stop` is set.
   */
  readTexts(
    packs: OpenPacks,
    oids: Uint8Array,
    sizes: Uint32Array,
    out: Uint8Array,
    pauseBytes: number,
    kinds: Uint32Array,
    state: Uint32Array,
    stop: readonly Int32Array[],
  ): boolean;
  beginDiff(packs: OpenPacks, trees: Uint8Array, stop: readonly Int32Array[]): number;
  /** Writes the number of bytes to `state`, and a `Progress` of tree-diff.h. */
  nextDiff(packs: OpenPacks, out: Uint8Array, state: Uint32Array, stop: readonly Int32Array[]): void;
  /**
   * `literals`: each terminated by a zero byte. Writes a `ChangeFilter::Verdict` of change-filter.h for each commit; false
   * if one of the words of `stop` is set.
   */
  filterChanges(
    packs: OpenPacks,
    commits: Uint8Array,
    literals: Uint8Array,
    literalCount: number,
    fold: boolean,
    verdicts: Uint8Array,
    stop: readonly Int32Array[],
  ): boolean;
}

/** Memory of the addon, which is freed when it is no longer referenced. */
export type OpenPacks = object;

const addonPath = "src/native/build/Release/trawl_kernel.node";
const require = createRequire(import.meta.url);

let loaded: Addon | undefined;

/** Throws `bad-config` if the addon is not built. */
export function loadAddon(): Addon {
  loaded ??= requireAddon(builtPath());
  return loaded;
}

/** The addon if it is built, for functions that Node also provides, but slower. */
export function addonIfBuilt(): Addon | undefined {
  return loaded !== undefined || existsSync(builtPath()) ? loadAddon() : undefined;
}

function builtPath(): string {
  return join(checkoutRoot(dirname(fileURLToPath(import.meta.url))), addonPath);
}

function requireAddon(path: string): Addon {
  if (!existsSync(path)) throw unusable(`${path} does not exist`, undefined);
  try {
    return require(path) as Addon;
  } catch (error) {
    throw unusable(`${path} cannot be loaded: ${errorMessage(error)}`, error);
  }
}

function unusable(reason: string, cause: unknown): TrawlError {
  const remedy = 'build it with "make build", or set "kernel": "ts" to run without it';
  return new TrawlError("bad-config", `the native kernel cannot be used: ${reason}; ${remedy}`, { cause });
}

/** The folder of our package.json, which is some folders above the compiled code. */
function checkoutRoot(folder: string): string {
  const manifest = join(folder, "package.json");
  if (existsSync(manifest) && (require(manifest) as { name?: string }).name === "trawl") return folder;
  const parent = dirname(folder);
  if (parent === folder) throw unusable("no package.json of trawl is above the compiled code", undefined);
  return checkoutRoot(parent);
}
