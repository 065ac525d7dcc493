/**
 * One part of what is typed after `@` or in `rev:`.
 *
 * - `name`: anything that git takes for a commit: a branch, a tag, a full ref, an oid or its start, `HEAD~2`.
 * - `glob`: with the refs that it matches, or less them.
 * - `at-time`: the latest commit that `base` reaches and that is no younger than the moment.
 */
export type RevisionSpec =
  | { readonly kind: "name"; readonly typed: string }
  | { readonly kind: "glob"; readonly typed: string; readonly negated: boolean; readonly pattern: string }
  | { readonly kind: "at-time"; readonly typed: string; readonly unixSeconds: number; readonly base: string };

/** A commit, and what the user called it. */
export interface ResolvedRevision {
  /** As typed; of a glob the name of the ref, without `refs/heads/`. */
  readonly typed: string;
  /** Full oid. */
  readonly commit: string;
}
