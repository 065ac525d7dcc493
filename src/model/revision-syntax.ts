import { TrawlError } from "../base/errors.js";

/** Limit for a name and for what follows it: file systems do not allow longer ref names. */
export const revisionLengthMax = 1024;

/** Steps after a name. git walks the history for each. */
const stepCountMax = 64;

/** Digits in `~N` and `^N`: six digits exceed the number of commits in most histories. */
const numberLengthMax = 6;

/**
 * Allowed suffixes that dereference a tag or commit. `^{/text}` is not allowed: it searches messages with a regular
 * expression, which may use gigabytes of memory.
 */
const peelings: readonly string[] = ["^{commit}", "^{tree}", "^{tag}", "^{object}", "^{}"];

const allowed =
  "a revision is a branch, a tag, a full ref, a commit or a prefix of its id, optionally followed by ~N, ^N, ^{commit}, ^{tree} and ^{}";

/**
 * Why a text is not passed to git as a revision, as the end of a sentence that begins with it; null if it may be.
 *
 *     revision = ( name | "@" ) { "~" [ number ] | "^" [ number ] | "^{" [ "commit" | "tree" | "tag" | "object" ] "}" }
 *
 * A name is one that `git check-ref-format --allow-onelevel` accepts and that does not begin with a minus; oids are
 * names. All other syntax of git is rejected: regular expressions (`^{/text}`, `:/text`), paths (`main:file`), ranges,
 * and all forms of `@{…}`, because a mirror has neither reflogs nor upstreams. Therefore no part of an accepted text is
 * an option, a pattern or a path.
 */
export function revisionProblem(text: string): string | null {
  if (text.length > revisionLengthMax) return `has more than ${revisionLengthMax} characters`;
  const nameEnd = endOfName(text);
  const problem = nameProblem(text.slice(0, nameEnd));
  return problem ?? stepsProblem(text, nameEnd);
}

/** Throws `bad-request` if the text may not be passed to git; the message says what is allowed. */
export function checkRevision(text: string): void {
  const problem = revisionProblem(text);
  if (problem !== null)
    throw new TrawlError("bad-request", `the revision ${JSON.stringify(text.slice(0, 200))} ${problem}: ${allowed}`);
}

/** The parts of `A..B` and `A...B`; undefined if the text contains no two dots. "" stands for HEAD. */
export function splitRange(text: string): { readonly base: string; readonly head: string } | undefined {
  const at = text.indexOf("..");
  if (at < 0) return undefined;
  return { base: text.slice(0, at), head: text.slice(text[at + 2] === "." ? at + 3 : at + 2) };
}

/** Why a glob of refs is rejected; null if it is accepted. */
export function refGlobProblem(glob: string): string | null {
  if (glob.length > revisionLengthMax) return `has more than ${revisionLengthMax} characters`;
  for (let i = 0; i < glob.length; i++)
    if (isBlankOrControl(glob.charCodeAt(i))) return "contains a space or a control character";
  return null;
}

/** Names contain neither `~` nor `^`. */
function endOfName(text: string): number {
  for (let i = 0; i < text.length; i++) if (text[i] === "~" || text[i] === "^") return i;
  return text.length;
}

function nameProblem(name: string): string | null {
  if (name === "@") return null;
  if (name === "") return "does not begin with a name";
  if (name.startsWith("-")) return "begins with a minus";
  for (let i = 0; i < name.length; i++) {
    if (isBlankOrControl(name.charCodeAt(i))) return "contains a space or a control character";
    if (":?*[\\".includes(name[i])) return `holds ${JSON.stringify(name[i])}`;
  }
  if (name.includes("..")) return "is a range of revisions";
  if (name.includes("@{")) return "refers to a reflog or an upstream, which a mirror does not have";
  if (name.endsWith(".")) return "ends with a dot";
  return name.split("/").every(isNamePart)
    ? null
    : "has a path component that is empty, begins with a dot or ends with .lock";
}

function isNamePart(part: string): boolean {
  return part !== "" && !part.startsWith(".") && !part.endsWith(".lock");
}

function isBlankOrControl(code: number): boolean {
  return code <= 0x20 || code === 0x7f;
}

function stepsProblem(text: string, nameEnd: number): string | null {
  let at = nameEnd;
  for (let count = 0; at < text.length; count++) {
    if (count === stepCountMax) return `has more than ${stepCountMax} steps after its name`;
    const end = endOfStep(text, at);
    if (end === undefined) return `continues with ${JSON.stringify(text.slice(at, at + 20))}`;
    at = end;
  }
  return null;
}

/** The end of the `~N`, `^N` or `^{…}` that begins at `at`; undefined if there is none. */
function endOfStep(text: string, at: number): number | undefined {
  if (text[at] !== "~" && text[at] !== "^") return undefined;
  const peeling = peelings.find((form) => text.startsWith(form, at));
  if (peeling !== undefined) return at + peeling.length;
  if (text[at + 1] === "{") return undefined;
  let end = at + 1;
  while (end < text.length && text[end] >= "0" && text[end] <= "9") end++;
  return end - at - 1 <= numberLengthMax ? end : undefined;
}

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
