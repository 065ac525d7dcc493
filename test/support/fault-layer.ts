/** The layer of test/faults/layer.c between a daemon, with its children, and the file system. */
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

/** Why there is no layer here, or false. */
export const layerMissing: string | false = findCompiler() ? false : "no C compiler, or not Linux";

function findCompiler(): boolean {
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" });
    return process.platform === "linux";
  } catch {
    return false;
  }
}

/** Compiles the layer if it is older than its source; files that do so at the same time do not disturb one another. */
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

/** One layer over one data directory, for any number of daemons after one another. */
export class FaultLayer {
  readonly #folder: string;
  readonly #control: number;
  readonly #data: string;
  readonly #journals: boolean;
  #bootId: string | undefined;

  /** `journals`: changes that are not synced can be undone. `data` is there already. */
  constructor(t: Test, data: string, { journals }: { readonly journals: boolean }) {
    this.#data = realpathSync(data);
    this.#journals = journals;
    // Beside the data, as what was deleted is kept by links.
    this.#folder = mkdtempSync(join(dirname(this.#data), "trawl-layer-"));
    this.#control = openSync(join(this.#folder, "control"), "w+");
    writeSync(this.#control, Buffer.alloc(fields.length * 8));
    this.reboot();
    t.teardown(() => {
      closeSync(this.#control);
      rmSync(this.#folder, { recursive: true, force: true });
    });
  }

  /** Where the journal is, and what was deleted. */
  get journal(): string {
    return join(this.#folder, "journal");
  }

  /** What a daemon is started with; its children get it, too. */
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

  /** Forgets what was journaled, and takes another id for the system's boot. No daemon runs. */
  reboot(): void {
    rmSync(this.journal, { recursive: true, force: true });
    if (!this.#journals) return;
    mkdirSync(this.journal);
    this.#bootId = randomUUID();
  }

  /** How many calls have changed something, and been failed; and whether the daemon was killed. */
  get(field: Field): number {
    const bytes = Buffer.alloc(8);
    readSync(this.#control, bytes, 0, 8, fields.indexOf(field) * 8);
    return Number(bytes.readBigInt64LE());
  }

  /**
   * Kills the daemon before or after its `count`-th further call that changes something, be it its own or a child's;
   * its children die at their next one. With 0 for the daemon, as while it starts, it dies at its next one, too.
   */
  killAt(daemon: number, count: number, when: "killBefore" | "killAfter"): void {
    this.#set({ at: 0, hit: 0, until: 0, daemon, action: actions[when] });
    this.#set({ at: this.get("seen") + count });
  }

  /** Fails the `count`-th further call and those after it, `failCount` of them or all, until `heal`. */
  failAt(count: number, error: "ENOSPC" | "EIO", failCount = 0): void {
    this.#set({ at: 0, hit: 0, action: actions.fail, error: constants.errno[error] });
    const at = this.get("seen") + count;
    this.#set({ until: failCount === 0 ? 0 : at + failCount, at });
  }

  /** From here on each sync takes so long. */
  delaySyncs(delayMs: number): void {
    this.#set({ delay: delayMs * 1000 });
  }

  /** Sets the clock on the wall so far ahead of the right time, or back. */
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

/** A folder for a data directory whose path has no links; short, for the socket in it. */
export function realDirectory(t: Test): string {
  const data = realpathSync(mkdtempSync(join(tmpdir(), "trawl-")));
  t.teardown(() => removeFolder(data));
  return data;
}
