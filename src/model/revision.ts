/**
 * One part of what is typed after `@` or in `rev:`.
 *
 * - `name`: anything that git resolves to a commit: a branch, a tag, a full ref, an oid or its prefix, `HEAD~2`.
 * - `glob`: includes or excludes the refs that match it.
 * - `at-time`: the latest commit reachable from `base` that is not after the given time.
 */
export type RevisionSpec =
  | { readonly kind: "name"; readonly typed: string }
  | { readonly kind: "glob"; readonly typed: string; readonly negated: boolean; readonly pattern: string }
  | { readonly kind: "at-time"; readonly typed: string; readonly unixSeconds: number; readonly base: string };

/** A commit, and the name by which the user referred to it. */
export interface ResolvedRevision {
  /** As typed; for a glob, the name of the ref without `refs/heads/`. */
  readonly typed: string;
  /** Full oid. */
  readonly commit: string;
}
