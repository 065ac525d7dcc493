import { TrawlError } from "../../base/errors.js";

/** The references of a repository at one moment. */
export interface RefState {
  /**
   * The branch that HEAD names; if there is no such branch, `main`, `master` or the first branch by name. Null when
   * the repository has no branch, or when HEAD names a commit instead (a detached checkout).
   */
  readonly defaultBranch: string | null;
  /** The commit of HEAD, or of the default branch if HEAD has none. Null if there is no commit. */
  readonly headCommit: string | null;
  /** Branch name without `refs/heads/` → oid of its commit. Names that are not UTF-8 are omitted. */
  readonly branches: ReadonlyMap<string, string>;
  /** Tag name without `refs/tags/` → oid of the tagged object, nearly always a commit. */
  readonly tags: ReadonlyMap<string, string>;
  /** Whether HEAD names a branch that exists, or a commit. Otherwise `defaultBranch` is only a guess. */
  readonly isHeadKnown: boolean;
  /** The ref that HEAD names if that is neither a branch nor missing, such as `refs/tags/v1`; null otherwise. */
  readonly headRef: string | null;
}

/**
 * References as git lists them: full names, each byte one character (latin1), so that names compare exactly
 * whatever their encoding.
 */
export interface RefListing {
  /** The ref to which HEAD points, such as `refs/heads/main`; null if it is detached or unknown. */
  readonly headTarget: string | null;
  /** The commit of HEAD; null when it names a branch that does not exist. */
  readonly headOid: string | null;
  /** In a remote's listing, see `RefState`. */
  readonly headRef?: string | null;
  /** The commit in `detachedHeadRef`: what was fetched for a detached HEAD. Null in a remote's listing. */
  readonly fetchedHead: string | null;
  /** Full name → oid of the object to which the reference points: for an annotated tag, that of the tag object. */
  readonly refs: ReadonlyMap<string, string>;
  /** Full name of an annotated tag → oid of the tagged object. */
  readonly peeled: ReadonlyMap<string, string>;
}

/** The format for `git for-each-ref` that `parseLocalRefs` parses. */
export const localRefFormat = "%(objectname) %(*objectname) %(refname)";

/** Where a mirror stores the commit of a remote's detached HEAD. */
export const detachedHeadRef = "refs/trawl/head";

const oidPattern = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const headsPrefix = "refs/heads/";
const tagsPrefix = "refs/tags/";

/** Whether the text is a full oid, of SHA-1 or SHA-256. */
export function isOid(text: string): boolean {
  return oidPattern.test(text);
}

/** Parses the output of `git ls-remote --symref`. Throws `git` if it is invalid. */
export function parseRemoteRefs(output: Buffer): RefListing {
  let headTarget: string | null = null;
  let headOid: string | null = null;
  const refs = new Map<string, string>();
  const peeled = new Map<string, string>();
  for (const line of splitLines(output)) {
    const tab = line.indexOf("\t");
    const value = line.slice(0, tab);
    const name = line.slice(tab + 1);
    if (value.startsWith("ref: ")) {
      if (name === "HEAD") headTarget = value.slice("ref: ".length);
      continue;
    }
    if (!isOid(value)) throw new TrawlError("git", "git ls-remote: the remote listed a malformed object name");
    if (name === "HEAD") headOid = value;
    else if (name === "HEAD^{}") headOid = value;
    else if (name.endsWith("^{}")) peeled.set(name.slice(0, -"^{}".length), value);
    else refs.set(name, value);
  }
  // HEAD on a tag, or on a ref that a mirror does not keep, is a checkout of that commit.
  if (headTarget !== null && !headTarget.startsWith(headsPrefix) && headOid !== null)
    return { headTarget: null, headOid, headRef: headTarget, fetchedHead: null, refs, peeled };
  return { headTarget, headOid, fetchedHead: null, refs, peeled };
}

/** Parses the output of `git for-each-ref --format=localRefFormat`; HEAD comes from the file of that name. */
export function parseLocalRefs(output: Buffer, head: string): RefListing {
  const refs = new Map<string, string>();
  const peeled = new Map<string, string>();
  for (const line of splitLines(output)) {
    const [oid = "", target = "", ...name] = line.split(" ");
    refs.set(name.join(" "), oid);
    if (target !== "") peeled.set(name.join(" "), target);
  }
  return toLocalListing(refs, peeled, head);
}

/** The listing of a mirror whose file HEAD has the text `head`. Takes the maps. */
export function toLocalListing(refs: Map<string, string>, peeled: Map<string, string>, head: string): RefListing {
  const fetchedHead = peeled.get(detachedHeadRef) ?? refs.get(detachedHeadRef) ?? null;
  refs.delete(detachedHeadRef);
  const headTarget = /^ref: (.+)\n$/.exec(head)?.[1] ?? null;
  const headOid = headTarget === null ? head.trim() : (refs.get(headTarget) ?? null);
  return { headTarget, headOid, fetchedHead, refs, peeled };
}

/** Whether both have the same branches and tags. */
export function sameRefs(a: RefListing, b: RefListing): boolean {
  if (a.refs.size !== b.refs.size) return false;
  for (const [name, oid] of a.refs) {
    if (b.refs.get(name) !== oid) return false;
  }
  return true;
}

/** The full name of the branch to which the mirror's HEAD should point; null for a detached HEAD or no branch. */
export function headBranch(listing: RefListing): string | null {
  if (listing.headTarget !== null && listing.refs.has(listing.headTarget)) return listing.headTarget;
  if (listing.headTarget === null && listing.headOid !== null) return null;
  const branches = [...listing.refs.keys()].filter((name) => name.startsWith(headsPrefix)).sort();
  return ["refs/heads/main", "refs/heads/master"].find((name) => listing.refs.has(name)) ?? branches[0] ?? null;
}

/** Converts the listing for callers. */
export function refState(listing: RefListing): RefState {
  const head = headBranch(listing);
  const branches = new Map<string, string>();
  const tags = new Map<string, string>();
  for (const [name, oid] of listing.refs) {
    const text = utf8OrNull(name);
    if (text === null) continue;
    if (text.startsWith(headsPrefix)) branches.set(text.slice(headsPrefix.length), oid);
    else if (text.startsWith(tagsPrefix)) tags.set(text.slice(tagsPrefix.length), listing.peeled.get(name) ?? oid);
  }
  const defaultBranch = head === null ? null : (utf8OrNull(head)?.slice(headsPrefix.length) ?? null);
  const headCommit = (head === null ? listing.headOid : listing.refs.get(head)) ?? null;
  return {
    defaultBranch,
    headCommit,
    branches,
    tags,
    isHeadKnown: listing.headTarget === null ? listing.headOid !== null : listing.headTarget === head,
    headRef: listing.headRef ?? null,
  };
}

function splitLines(output: Buffer): string[] {
  return output
    .toString("latin1")
    .split("\n")
    .filter((line) => line !== "");
}

/** The text of a name stored with one character per byte; null if its bytes are not UTF-8. */
function utf8OrNull(name: string): string | null {
  const bytes = Buffer.from(name, "latin1");
  const text = bytes.toString("utf8");
  return Buffer.from(text, "utf8").equals(bytes) ? text : null;
}
