/** The library of test/faults/layer.c, between a daemon with its children and the file system. */
import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { constants, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Test } from "tap";
import { removeFolder } from "./remove-folder.js";

const source = "test/faults/layer.c";
const library = "dist/test/faults/layer.so";

/** The reason why the layer is not available here, or false. */
export const layerMissing: string | false = findCompiler() ? false : "no C compiler, or not Linux";

function findCompiler(): boolean {
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" });
    return process.platform === "linux";
  } catch {
    return false;
  }
}

/** Compiles the layer if it is older than its source. Test files may call this at the same time. */
function compiled(): string {
  if (!existsSync(library) || statSync(library).mtimeMs < statSync(source).mtimeMs) {
    mkdirSync(dirname(library), { recursive: true });
    const unfinished = `${library}.${process.pid}`;
    execFileSync("cc", [
      "-O1",
      "-Wall",
      "-Wextra",
      "-Werror",
      "-shared",
      "-fPIC",
      "-o",
      unfinished,
      source,
      "-ldl",
      "-lpthread",
    ]);
    renameSync(unfinished, library);
  }
  return realpathSync(library);
}

const fields = ["seen", "at", "until", "action", "error", "daemon", "hit", "syncs", "delay", "clock"] as const;
type Field = (typeof fields)[number];

const actions = { none: 0, killBefore: 1, killAfter: 2, fail: 3 };

/** A layer over one data directory, which several daemons may use one after another. */
export class FaultLayer {
  readonly #folder: string;
  readonly #control: number;
  readonly #data: string;
  readonly #journals: boolean;
  #bootId: string | undefined;

  /** `journals`: unsynced changes can be undone. `data` must exist. */
  constructor(t: Test, data: string, { journals }: { readonly journals: boolean }) {
    this.#data = realpathSync(data);
    this.#journals = journals;
    // Beside the data directory, on the same file system, because deleted files are kept by hard links.
    this.#folder = mkdtempSync(join(dirname(this.#data), "trawl-layer-"));
    this.#control = openSync(join(this.#folder, "control"), "w+");
    writeSync(this.#control, Buffer.alloc(fields.length * 8));
    this.reboot();
    t.teardown(() => {
      closeSync(this.#control);
      rmSync(this.#folder, { recursive: true, force: true });
    });
  }

  /** The folder of the journal and of deleted files. */
  get journal(): string {
    return join(this.#folder, "journal");
  }

  /** The environment of a daemon; its children inherit it. */
  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: compiled(),
      FAULT_ROOT: this.#data,
      FAULT_CONTROL: join(this.#folder, "control"),
      UV_USE_IO_URING: "0",
      ...(this.#journals ? { FAULT_JOURNAL: this.journal } : {}),
      ...(this.#bootId === undefined ? {} : { FAULT_BOOT_ID: this.#bootId }),
    };
  }

  /** Clears the journal, and changes the system's boot id. No daemon may be running. */
  reboot(): void {
    rmSync(this.journal, { recursive: true, force: true });
    if (!this.#journals) return;
    mkdirSync(this.journal);
    this.#bootId = randomUUID();
  }

  /** The number of calls that have made changes and of those that have failed, and whether the daemon was killed. */
  get(field: Field): number {
    const bytes = Buffer.alloc(8);
    readSync(this.#control, bytes, 0, 8, fields.indexOf(field) * 8);
    return Number(bytes.readBigInt64LE());
  }

  /**
   * Kills the daemon before or after the `count`-th call from now that changes something, whether the daemon or a child
   * makes it; children die at their next such call. With 0 for the daemon, as while it starts, it also dies at its next
   * call.
   */
  killAt(daemon: number, count: number, when: "killBefore" | "killAfter"): void {
    this.#set({ at: 0, hit: 0, until: 0, daemon, action: actions[when] });
    this.#set({ at: this.get("seen") + count });
  }

  /** Makes the `count`-th call from now and those after it fail: `failCount` of them, or all until `heal`. */
  failAt(count: number, error: "ENOSPC" | "EIO", failCount = 0): void {
    this.#set({ at: 0, hit: 0, action: actions.fail, error: constants.errno[error] });
    const at = this.get("seen") + count;
    this.#set({ until: failCount === 0 ? 0 : at + failCount, at });
  }

  /** Makes each sync take this long from now on. */
  delaySyncs(delayMs: number): void {
    this.#set({ delay: delayMs * 1000 });
  }

  /** Sets the wall clock this far ahead of the real time, or back. */
  setClock(aheadMs: number): void {
    this.#set({ clock: aheadMs * 1000 });
  }

  heal(): void {
    this.#set({ at: 0, action: actions.none, hit: 0 });
  }

  #set(values: Partial<Record<Field, number>>): void {
    for (const [field, value] of Object.entries(values)) {
      const bytes = Buffer.alloc(8);
      bytes.writeBigInt64LE(BigInt(value));
      writeSync(this.#control, bytes, 0, 8, fields.indexOf(field as Field) * 8);
    }
  }
}

/** Creates a folder for a data directory. Its path has no symbolic links, and is short, because of the socket in it. */
export function realDirectory(t: Test): string {
  const data = realpathSync(mkdtempSync(join(tmpdir(), "trawl-")));
  t.teardown(() => removeFolder(data));
  return data;
}
