import { createHash } from "node:crypto";
import { existsSync, linkSync, lstatSync, mkdirSync } from "node:fs";
import { copyFile, constants } from "node:fs/promises";
import { join } from "node:path";
import { TrawlError } from "../../base/errors.js";
import { fanOut, filesIn, isDirectory } from "./mirror-directory.js";
import type { StopSignal } from "../run/run.js";
import { syncToDisk } from "../../base/sync-to-disk.js";

/** Of a pack, the parts that hold objects or find them; git makes the rest anew when it wants it. */
const packFile = /^pack-[0-9a-f]+\.(pack|idx|rev|bitmap|mtimes)$/;
const looseFile = /^[0-9a-f]{38}([0-9a-f]{24})?$/;

/** Whether the copy is of use only where no object is missing. */
export type CopyExtent = "whole" | "what is there";

/**
 * Gives the empty repository at `target` the objects of the local repository at `source`, bare or not: as links, or as
 * copies where the file system does not link. Linux, 240 MB in one pack: 0.02 s, against 12 s of a fetch.
 *
 * Returns false, with some of the objects there, when a copy will not do: objects that live elsewhere or are missing on
 * purpose do not come along, and a repack of the source meanwhile may have hidden some. Nothing is looked at, so the
 * caller has to see whether the objects that it needs are among these.
 *
 * Throws `cancelled` when stopped.
 */
export async function copyObjects(
  source: string,
  target: string,
  stop: StopSignal,
  extent: CopyExtent,
): Promise<boolean> {
  const repository = repositoryIn(source);
  const from = join(repository, "objects");
  const packs = copyablePacks(repository, extent);
  if (packs === null) return false;
  const copier = new Copier(stop);
  for (const name of packs)
    if (!(await copier.copy(join(from, "pack", name), join(target, "objects/pack", name)))) return false;
  for (const name of fanOut(from)) {
    mkdirSync(join(target, "objects", name), { recursive: true });
    for (const object of filesIn(join(from, name), looseFile)) {
      if (!(await copier.copy(join(from, name, object), join(target, "objects", name, object)))) return false;
    }
  }
  await copier.sync();
  return copyablePacks(repository, extent)?.join() === packs.join();
}

/** Tells whether a local repository may have got, or lost, something since: its refs, or its files of objects. */
export function sourceFingerprint(source: string, refs: readonly string[]): string {
  const objects = join(repositoryIn(source), "objects");
  const hash = createHash("sha256").update(refs.join("\n"));
  for (const folder of ["pack", ...fanOut(objects)]) {
    for (const name of filesIn(join(objects, folder), /./).sort())
      hash.update(`\n${folder}/${name} ${lstatSync(join(objects, folder, name), { throwIfNoEntry: false })?.size}`);
  }
  return hash.digest("hex");
}

function repositoryIn(source: string): string {
  return isDirectory(join(source, ".git")) ? join(source, ".git") : source;
}

/** The files of the repository's packs; null when its objects cannot simply be copied. */
function copyablePacks(repository: string, extent: CopyExtent): string[] | null {
  const objects = join(repository, "objects");
  if (!isDirectory(objects) || existsSync(join(objects, "info", "alternates"))) return null;
  const names = filesIn(join(objects, "pack"), /^pack-/);
  if (
    extent === "whole" &&
    (existsSync(join(repository, "shallow")) || names.some((name) => name.endsWith(".promisor")))
  )
    return null;
  return names.filter((name) => packFile.test(name)).sort();
}

class Copier {
  readonly #stop: StopSignal;
  readonly #copied: string[] = [];
  #links = true;

  constructor(stop: StopSignal) {
    this.#stop = stop;
  }

  /** False when there is no such file any more, or it is no plain one: a link could lead anywhere. */
  async copy(from: string, to: string): Promise<boolean> {
    if (this.#stop()) throw new TrawlError("cancelled", "the copy of a local repository was stopped");
    // Files with the name of an object have its content, and one that is linked is never written to.
    if (lstatSync(to, { throwIfNoEntry: false }) !== undefined) return true;
    try {
      if (!this.#link(from, to)) {
        await copyFile(from, to, constants.COPYFILE_FICLONE);
        this.#copied.push(to);
      }
      return lstatSync(to).isFile();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
      throw error;
    }
  }

  /** Resolves when the disk has what was copied. What was linked is as safe as it is in the source. */
  async sync(): Promise<void> {
    await syncToDisk(this.#copied);
  }

  /** False when the two lie on different file systems, or the system forbids links to files of somebody else. */
  #link(from: string, to: string): boolean {
    if (!this.#links) return false;
    try {
      linkSync(from, to);
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") throw error;
      this.#links = false;
      return false;
    }
  }
}
