import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TrawlError } from "../../base/errors.js";
import { objectKinds } from "../../native/packs/packs.js";
import { StoredObjects } from "../objects/stored-objects.js";
import { runGit, type StopSignal } from "../run/run.js";
import { packedRefsFile, readHead } from "./mirror-directory.js";
import { detachedHeadRef, isOid, type RefListing, toLocalListing } from "../objects/refs.js";
import { localCommand } from "../objects/objects.js";

/** What git writes at the beginning of a file of packed refs. */
const packedHeader = "# pack-refs with: peeled fully-peeled sorted \n";

/** What `git check-ref-format` rejects. */
const unusualName = /[\0-\x20\x7f~^:?*[\\]|\.\.|@\{|\/\/|\/\.|\.lock(\/|$)|[./]$/;

/** A tag may refer to a tag. */
const tagDepthMax = 8;

/** Full name → oid. Names have one character per byte. */
type Refs = Map<string, string>;

/**
 * The references of a mirror, read without starting git, which takes 5 ms. Undefined if something is not as git leaves it
 * in our mirrors, or if an object to which a reference points is not found: then git must list them, and say what is
 * wrong.
 *
 * Caller guarantees: no git writes to the mirror. Throws `cancelled` if stopped.
 */
export function readRefs(directory: string, stop: StopSignal): RefListing | undefined {
  try {
    return readUsualRefs(directory, stop);
  } catch (error) {
    if (error instanceof TrawlError) throw error;
    // A file cannot be read.
    return undefined;
  }
}

function readUsualRefs(directory: string, stop: StopSignal): RefListing | undefined {
  const refs: Refs = new Map();
  const peeled: Refs = new Map();
  if (!readPacked(directory, refs, peeled)) return undefined;
  const loose = readLoose(directory);
  if (loose === undefined) return undefined;
  for (const [name, oid] of loose) {
    refs.set(name, oid);
    peeled.delete(name);
  }
  const sorted = new Map([...refs].sort(([a], [b]) => (a < b ? -1 : 1)));
  const isWhole = sorted.size === 0 || peelTags(directory, sorted, loose, peeled, stop);
  return isWhole ? toLocalListing(sorted, peeled, readHead(directory)) : undefined;
}

function isMirrored(name: string): boolean {
  return name.startsWith("refs/heads/") || name.startsWith("refs/tags/") || name === detachedHeadRef;
}

/** False if the file is not as git writes it. */
function readPacked(directory: string, refs: Refs, peeled: Refs): boolean {
  const path = join(directory, packedRefsFile);
  if (!existsSync(path)) return true;
  const text = readFileSync(path, "latin1");
  if (text === packedHeader) return true;
  if (!text.startsWith(packedHeader) || !text.endsWith("\n")) return false;
  let last = "";
  for (const line of text.slice(packedHeader.length, -1).split("\n")) {
    const isPeeled = line.startsWith("^");
    const oid = isPeeled ? line.slice(1) : line.slice(0, line.indexOf(" "));
    if (!isOid(oid) || (isPeeled && last === "")) return false;
    if (isPeeled) {
      if (isMirrored(last)) peeled.set(last, oid);
      continue;
    }
    const name = line.slice(oid.length + 1);
    if (name <= last || unusualName.test(name)) return false;
    if (isMirrored(name)) refs.set(name, oid);
    last = name;
  }
  return true;
}

/** Undefined if there is anything but folders and files with an oid. */
function readLoose(directory: string): Refs | undefined {
  const refs: Refs = new Map();
  const folders = ["refs/heads", "refs/tags", "refs/trawl"];
  for (let name = folders.pop(); name !== undefined; name = folders.pop()) {
    const path = toPath(directory, name);
    if (!existsSync(path)) continue;
    for (const entry of readdirSync(path, { withFileTypes: true, encoding: "latin1" as BufferEncoding })) {
      const full = `${name}/${entry.name}`;
      if (unusualName.test(full)) return undefined;
      if (entry.isDirectory()) {
        folders.push(full);
        continue;
      }
      const text = entry.isFile() ? readFileSync(toPath(directory, full), "latin1") : "";
      if (!isOid(text.slice(0, -1)) || !text.endsWith("\n")) return undefined;
      if (isMirrored(full)) refs.set(full, text.slice(0, -1));
    }
  }
  return refs;
}

function toPath(directory: string, name: string): Buffer {
  return Buffer.concat([Buffer.from(`${directory}/`), Buffer.from(name, "latin1")]);
}

/** Finds what the tags among `loose` refer to. False if an object of `refs` is not found. */
function peelTags(directory: string, refs: Refs, loose: Refs, peeled: Refs, stop: StopSignal): boolean {
  const oids = [...refs.values()];
  const objects = StoredObjects.open(directory, oids[0].length, stop);
  if (objects === undefined || oids.some(({ length }) => length !== oids[0].length)) return false;
  try {
    const kinds = objects.kinds(oids);
    return [...refs].every(([name, oid], i) => {
      if (kinds[i] !== objectKinds.tag || !loose.has(name)) return kinds[i] !== objectKinds.none;
      const target = findTarget(oid, objects);
      if (target !== undefined) peeled.set(name, target);
      return target !== undefined;
    });
  } finally {
    objects.close();
  }
}

function findTarget(tag: string, objects: StoredObjects): string | undefined {
  let oid = tag;
  for (let depth = 0; depth < tagDepthMax; depth++) {
    const [, target, type] = /^object ([0-9a-f]+)\ntype ([a-z]+)\n/.exec(objects.readTag(oid) ?? "") ?? [];
    if (target === undefined || type !== "tag") return target;
    oid = target;
  }
  return undefined;
}

/** A branch or tag of a mirror. */
export interface RefData {
  /** For example `refs/heads/main`. */
  readonly name: string;
  /** The oid of its object, which for an annotated tag is the tag object. */
  readonly oid: string;
  readonly type: string;
  /** The commit to which it resolves; null if it is not a commit. */
  readonly commit: string | null;
  /** When the tag was created, or the commit committed. */
  readonly unixSeconds: number;
}

/** All branches and tags, by name. Throws `git` if the mirror is damaged, `cancelled` if stopped. */
export async function listRefs(directory: string, stop: StopSignal): Promise<RefData[]> {
  const format = "%(objectname) %(objecttype) %(*objectname) %(*objecttype) %(creatordate:unix) %(refname)";
  const { stdout } = await runGit({
    ...localCommand(stop),
    args: [`--git-dir=${directory}`, "for-each-ref", `--format=${format}`],
    exitCodes: [],
  });
  return stdout.toString("utf8").split("\n").flatMap(parseRef);
}

export function parseRef(line: string): RefData[] {
  const [oid, type, peeledOid, peeledType, seconds, ...name] = line.split(" ");
  if (name.length === 0 || name.join(" ") === detachedHeadRef) return [];
  const commit = type === "commit" ? oid : peeledType === "commit" ? peeledOid : null;
  return [{ name: name.join(" "), oid, type, commit, unixSeconds: Number(seconds) || 0 }];
}
