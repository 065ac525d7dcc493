import { objectFormatFromOid, type ObjectFormat } from "./mirror-directory.js";
import { headBranch, sameRefs, type RefListing } from "../objects/refs.js";

/** Whether `local` has everything that `remote` has, including the commit of HEAD if no branch contains it. */
export function isCurrent(local: RefListing, remote: RefListing): boolean {
  return sameRefs(local, remote) && (!isDetached(remote) || local.headOid === remote.headOid);
}

/** Whether HEAD points at a commit and not at a branch. */
export function isDetached(listing: RefListing): boolean {
  return headBranch(listing) === null && listing.headOid !== null;
}

/** Where HEAD points: at a branch, or at a commit. */
export type Head = Pick<RefListing, "headTarget" | "headOid">;

/** Where HEAD must point once `local` holds what was fetched from `remote`. */
export function chooseHead(remote: RefListing, local: RefListing): Head {
  // HEAD may have moved between the listing and the fetch; the mirror has what was fetched.
  if (isDetached(remote)) return { headTarget: null, headOid: local.fetchedHead ?? remote.headOid };
  const headTarget = headBranch({ ...local, headTarget: remote.headTarget, headOid: null });
  return { headTarget, headOid: headTarget === null ? null : (local.refs.get(headTarget) ?? null) };
}

/** The object format of a remote, or null for an empty one, which does not reveal it. */
export function remoteObjectFormat(remote: RefListing): ObjectFormat | null {
  const oid = remote.headOid ?? remote.refs.values().next().value;
  return oid === undefined ? null : objectFormatFromOid(oid);
}

/** Removes the references that a mirror does not keep, such as `refs/pull`. */
export function onlyMirrored(listing: RefListing): RefListing {
  const refs = new Map([...listing.refs].filter(([name]) => /^refs\/(heads|tags)\//.test(name)));
  return { ...listing, refs };
}

/** More references than these are written into one file: git writes some hundred files in the time of that. */
export const manyRefs = 500;

/** Whether many references differ, or are in one of the lists only. */
export function differMuch(local: RefListing, remote: RefListing): boolean {
  let count = 0;
  for (const [name, oid] of remote.refs) if (local.refs.get(name) !== oid) count++;
  for (const name of local.refs.keys()) if (!remote.refs.has(name)) count++;
  return count > manyRefs;
}
