import { TrawlError } from "../../base/errors.js";
import type { Admit } from "../../git/mirror/mirror.js";
import type { RefState } from "../../git/objects/refs.js";
import { detachedName, type VanishedKind } from "../../model/repository.js";
import type { SyncInput } from "../../protocol/ingest-messages.js";

/** The remote no longer lists something without which the index would lose all that it has of a repository. */
export class VanishedError extends TrawlError {
  readonly kind: VanishedKind;

  constructor(kind: VanishedKind, message: string) {
    super("git", message);
    this.kind = kind;
  }
}

/** What of an indexed repository the remote no longer lists; undefined if what it lists can replace what is indexed. */
function findVanished(
  { indexedBranches, defaultBranch }: SyncInput["repository"],
  listed: RefState,
): VanishedKind | undefined {
  if (indexedBranches.length === 0) return undefined;
  if (listed.branches.size === 0 && listed.headCommit === null) return "everything";
  // Where HEAD names another branch, the default branch was renamed or chosen anew.
  return listed.isHeadKnown || (defaultBranch !== detachedName && listed.branches.has(defaultBranch))
    ? undefined
    : "default-branch";
}

/**
 * Throws if the remote has lost what was indexed, or lists nothing in a way that no git server does. A sign-in page, a
 * disk that is not mounted and a server that is being restored look like empty repositories.
 */
export function admitExpected(input: SyncInput): Admit {
  return async (listed, hadRefs, isReallyEmpty) => {
    if (input.acceptsLoss === "asked") return;
    const { repository } = input;
    const isEmpty = listed.branches.size === 0 && listed.tags.size === 0 && listed.headCommit === null;
    const isNew = repository.generation === 0;
    if (isEmpty && (hadRefs || isNew || repository.indexedBranches.length > 0) && !(await isReallyEmpty()))
      throw new TrawlError("git", notGit(repository.name, isNew));
    requireExpected(input, listed, hadRefs && isEmpty);
  };
}

/** Throws `VanishedError` if what the remote lists, or what was fetched, lacks what was there, and this was not confirmed. */
export function requireExpected(input: SyncInput, state: RefState, lostRefs = false): void {
  const { repository, acceptsLoss } = input;
  const kind = lostRefs ? "everything" : findVanished(repository, state);
  if (kind === undefined || acceptsLoss === "asked") return;
  if (acceptsLoss === "confirmed" && repository.vanished?.kind === kind) return;
  throw new VanishedError(kind, vanished(kind, repository));
}

function notGit(name: string, isNew: boolean): string {
  return (
    "the remote answers without references, and not in git's protocol, as a sign-in page, a proxy or a captive portal does: " +
    (isNew ? "" : "the index and the mirror are kept; ") +
    `check the URL with \`git ls-remote\`; if it is an empty repository on a plain web server, run \`trawl repo sync ${name} --accept-empty\``
  );
}

function vanished(kind: VanishedKind, { name, defaultBranch }: SyncInput["repository"]): string {
  const loss = {
    everything: "the remote lists no branches any more",
    "default-branch": `the remote does not list the default branch ${JSON.stringify(defaultBranch)} any more, and its HEAD names no other`,
  };
  return (
    `${loss[kind]}: the index and the mirror are kept; if that is intended, run \`trawl repo sync ${name} --accept-empty\`; ` +
    "otherwise it is believed when all answers during sync.acceptEmptyHours are the same"
  );
}
