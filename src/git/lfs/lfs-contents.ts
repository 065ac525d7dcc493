import { BoundedMap } from "../../base/bounded-map.js";
import { TrawlError } from "../../base/errors.js";
import { isRegular, localCommand } from "../objects/objects.js";
import { blobSizes, readBlobs } from "../objects/read-blobs.js";
import { isOid } from "../objects/refs.js";
import { StoredObjects } from "../objects/stored-objects.js";
import { runGit, type StopSignal } from "../run/run.js";
import { type LfsPointer, parsePointer, pointerBytesMax } from "./pointer.js";

/** The most pointers that the option git.maxLfsPointers allows, of 128 bytes at most. */
const treeBytesMax = 200_000 * 128;

const leftOutEnding = ".left-out";
const moreName = "more";

/**
 * The contents of a repository's pointers: blobs of its mirror, so that whatever reads blobs reads them. A tree of the mirror lists them:
 * the name of an entry is the oid of a pointer, and its blob has the contents; of a pointer without contents, the name ends with
 * `.left-out`. With the name `more`, there are further pointers, which have no contents either. The reference `refs/trawl/lfs` keeps it all alive.
 */
export class LfsContents {
  /** The oid of the tree. */
  readonly tree: string;
  readonly #blobs: ReadonlyMap<string, string>;
  readonly #leftOut: ReadonlySet<string>;
  /** Whether all pointers of the indexed commits are listed. */
  readonly isWhole: boolean;

  constructor(tree: string, blobs: ReadonlyMap<string, string>, leftOut: ReadonlySet<string>, isWhole: boolean) {
    this.tree = tree;
    this.isWhole = isWhole;
    this.#blobs = blobs;
    this.#leftOut = leftOut;
  }

  /** The oid of the blob with the contents of a pointer; undefined for any other blob, and if there are none. */
  find(oid: string): string | undefined {
    return this.#blobs.get(oid);
  }

  /** Whether it is a pointer whose contents are not there. */
  lacks(oid: string): boolean {
    return this.#leftOut.has(oid);
  }

  /** The oids of contents by those of their pointers. */
  get blobs(): ReadonlyMap<string, string> {
    return this.#blobs;
  }

  get leftOut(): ReadonlySet<string> {
    return this.#leftOut;
  }
}

/** The lines of `git mktree` for it. `none` is the oid of a blob that the mirror has. */
export function listLfsContents(
  blobs: ReadonlyMap<string, string>,
  leftOut: ReadonlySet<string>,
  isWhole: boolean,
  none: string,
): string {
  const lines = [...blobs].map(([pointer, blob]) => `100644 blob ${blob}\t${pointer}\n`);
  for (const pointer of leftOut) lines.push(`100644 blob ${none}\t${pointer}${leftOutEnding}\n`);
  if (!isWhole) lines.push(`100644 blob ${none}\t${moreName}\n`);
  return lines.join("");
}

/** By the oid of the tree, in bytes of it. */
const kept = new BoundedMap<string, { readonly contents: LfsContents; readonly byteCount: number }>(
  64 << 20,
  ({ byteCount }) => 256 + 3 * byteCount,
);

/** The contents that a tree of the mirror lists. Throws `git` if it cannot be read, `cancelled` if stopped. */
export async function readLfsContents(directory: string, tree: string, stop: StopSignal): Promise<LfsContents> {
  const known = kept.get(tree);
  if (known !== undefined) return known.contents;
  const bytes = readStored(directory, tree, stop) ?? (await readByGit(directory, tree, stop));
  const blobs = new Map<string, string>();
  const leftOut = new Set<string>();
  let isWhole = true;
  const oidBytes = tree.length / 2;
  for (let at = 0; at < bytes.length; ) {
    const space = bytes.indexOf(32, at);
    const end = bytes.indexOf(0, space);
    if (space < 0 || end < 0 || end + 1 + oidBytes > bytes.length) throw unreadable(directory, tree);
    const name = bytes.toString("latin1", space + 1, end);
    const pointer = name.endsWith(leftOutEnding) ? name.slice(0, -leftOutEnding.length) : name;
    if (name === moreName) isWhole = false;
    else if (!isOid(pointer)) throw unreadable(directory, tree);
    else if (pointer === name) blobs.set(pointer, bytes.toString("hex", end + 1, end + 1 + oidBytes));
    else leftOut.add(pointer);
    at = end + 1 + oidBytes;
  }
  const contents = new LfsContents(tree, blobs, leftOut, isWhole);
  kept.set(tree, { contents, byteCount: bytes.length });
  return contents;
}

/** Undefined if it is not found without git. */
function readStored(directory: string, tree: string, stop: StopSignal): Buffer | undefined {
  const objects = StoredObjects.open(directory, tree.length, stop);
  try {
    return objects?.readTree(tree, treeBytesMax);
  } finally {
    objects?.close();
  }
}

async function readByGit(directory: string, tree: string, stop: StopSignal): Promise<Buffer> {
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "cat-file", "tree", tree],
    outputBytesMax: treeBytesMax,
    exitCodes: [],
  });
  return stdout;
}

function unreadable(directory: string, tree: string): TrawlError {
  return new TrawlError("git", `the list ${tree} of contents of Git LFS in ${directory} is damaged`);
}

/** A shorter blob is no pointer. */
const pointerBytesMin = 100;

const readSilenceMs = 60_000;

/** The blobs among these that are pointers. Throws `git`, `cancelled`. */
export async function readPointers(
  directory: string,
  oids: readonly string[],
  stop: StopSignal,
): Promise<Map<string, LfsPointer>> {
  const found = new Map<string, LfsPointer>();
  const sizes = await blobSizes(directory, oids, stop);
  const small = oids.filter((_, i) => sizes[i] >= pointerBytesMin && sizes[i] <= pointerBytesMax);
  const options = { directory, contentBytesMax: pointerBytesMax, silenceMs: readSilenceMs, stop };
  await readBlobs(options, small, (index, outcome) => {
    const pointer = outcome.kind === "content" ? parsePointer(outcome.content) : undefined;
    if (pointer !== undefined) found.set(small[index], pointer);
  });
  return found;
}

/** A file of a commit, as it is listed. */
interface ListedFile {
  readonly oid: string;
  readonly mode: number;
}

/**
 * The entries with the contents of Git LFS instead of their pointers, as the tree `lfsTree` lists them; all as they are if it is
 * undefined. `fill` gets the oid and the size of contents. Throws like `readLfsContents`.
 */
export async function fillEntries<Entry extends ListedFile>(
  directory: string,
  lfsTree: string | undefined,
  entries: readonly Entry[],
  fill: (entry: Entry, oid: string, size: number) => Entry,
  stop: StopSignal,
): Promise<readonly Entry[]> {
  if (lfsTree === undefined) return entries;
  const contents = await readLfsContents(directory, lfsTree, stop);
  const found = entries.flatMap(({ oid, mode }, i) => {
    const blob = isRegular(mode) ? contents.find(oid) : undefined;
    return blob === undefined ? [] : [{ i, blob }];
  });
  const filled = [...entries];
  const sizes = await blobSizes(
    directory,
    found.map(({ blob }) => blob),
    stop,
  );
  found.forEach(({ i, blob }, at) => (filled[i] = fill(entries[i], blob, sizes[at])));
  return filled;
}
