/** The resources of a running daemon, according to the system and LMDB. */
import { lstatSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import type { DaemonProcess } from "./daemon.js";

/** The resources at one moment. */
export interface Resources {
  /** Private memory, excluding mapped files and child processes. */
  readonly memoryBytes: number;
  readonly heapBytes: number;
  /** Size of the buffers that the main thread's heap refers to. */
  readonly externalBytes: number;
  readonly descriptors: number;
  readonly threads: number;
  /** Number of its slots in the reader tables of both LMDB stores. */
  readonly readers: number;
  /** Number of those slots that are in a read transaction. */
  readonly reading: number;
  readonly shardBytes: number;
  readonly catalogBytes: number;
}

/**
 * Observes a daemon from outside. Reads the reader tables through LMDB environments of this process, which hold no
 * transaction.
 */
export class ResourceWatch {
  readonly #daemon: DaemonProcess;
  readonly #stores: readonly RootDatabase[];

  constructor(daemon: DaemonProcess) {
    this.#daemon = daemon;
    this.#stores = ["shards", "catalog"].map((name) =>
      open({ path: join(daemon.data, name), readOnly: true, maxDbs: 2, maxReaders: 512, encoding: "binary" }),
    );
  }

  async look(): Promise<Resources> {
    const { pid, data } = this.#daemon;
    const { text } = await this.#daemon.get("/metrics");
    const metric = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, "m").exec(text)?.[1]);
    const slots = this.#stores.flatMap((store) => readerLines(store, pid));
    return {
      memoryBytes: ownBytes(pid),
      heapBytes: metric("nodejs_heap_size_used_bytes"),
      externalBytes: metric("nodejs_external_memory_bytes"),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      threads: readdirSync(`/proc/${pid}/task`).length,
      readers: slots.length,
      reading: slots.filter((line) => !/ -\s*$/.test(line)).length,
      shardBytes: statSync(join(data, "shards", "data.mdb")).size,
      catalogBytes: statSync(join(data, "catalog", "data.mdb")).size,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.#stores.map((store) => store.close()));
  }
}

/** Parses lines of `mdb_stat -r`: the process, its thread, and the transaction or a dash. */
function readerLines(store: RootDatabase, pid: number): string[] {
  store.resetReadTxn();
  return store
    .readerList()
    .split("\n")
    .filter((line) => Number(/^\s*(\d+) /.exec(line)?.[1]) === pid);
}

function ownBytes(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kibibytes = (field: string): number => Number(new RegExp(`^${field}:\\s+(\\d+)`, "m").exec(status)?.[1] ?? 0);
  return 1024 * (kibibytes("RssAnon") + kibibytes("RssShmem"));
}

/** Total size and number of the files below a folder to which other processes write. */
export function folderSize(folder: string): { readonly bytes: number; readonly files: number } {
  let [bytes, files] = [0, 0];
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const status = lstatSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false });
    if (status?.isFile() !== true) continue;
    bytes += status.size;
    files++;
  }
  return { bytes, files };
}
