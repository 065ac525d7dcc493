import { TrawlError } from "../base/errors.js";

/** Neither a name nor what follows it is longer: a file system has no longer name of a ref. */
export const revisionLengthMax = 1024;

/** Steps behind a name. git walks the history for each. */
const stepCountMax = 64;

/** Of `~N` and `^N`: six digits are more commits than most histories have. */
const numberLengthMax = 6;

/**
 * What a tag or commit may be resolved to. `^{/text}` searches messages with a regular expression, which may take
 * gigabytes.
 */
const peelings: readonly string[] = ["^{commit}", "^{tree}", "^{tag}", "^{object}", "^{}"];

const allowed =
  "a revision is a branch, a tag, a full ref, or a commit or the start of one, and then any of ~N, ^N, ^{commit}, ^{tree} and ^{}";

/**
 * Why git is not asked for a text as a revision, as the end of a sentence that begins with it; null when it may be.
 *
 *     revision = ( name | "@" ) { "~" [ number ] | "^" [ number ] | "^{" [ "commit" | "tree" | "tag" | "object" ] "}" }
 *
 * A name is what `git check-ref-format --allow-onelevel` accepts and does not begin with a minus; oids are names. All
 * else that git reads is refused: regular expressions (`^{/text}`, `:/text`), paths (`main:file`), ranges, and `@{…}`
 * in every form, as a mirror has neither a log of its refs nor an upstream. So no part of an accepted text is an
 * option, a pattern or a path.
 */
export function revisionProblem(text: string): string | null {
  if (text.length > revisionLengthMax) return `has more than ${revisionLengthMax} characters`;
  const nameEnd = endOfName(text);
  const problem = nameProblem(text.slice(0, nameEnd));
  return problem ?? stepsProblem(text, nameEnd);
}

/** Throws `bad-request` for a text that git is not asked for, with what is allowed. */
export function checkRevision(text: string): void {
  const problem = revisionProblem(text);
  if (problem !== null)
    throw new TrawlError("bad-request", `the revision ${JSON.stringify(text.slice(0, 200))} ${problem}: ${allowed}`);
}

/** The parts of `A..B` and `A...B`; undefined for a text without two dots. "" stands for HEAD. */
export function splitRange(text: string): { readonly base: string; readonly head: string } | undefined {
  const at = text.indexOf("..");
  if (at < 0) return undefined;
  return { base: text.slice(0, at), head: text.slice(text[at + 2] === "." ? at + 3 : at + 2) };
}

/** Why a glob over refs is not matched; null when it may be. */
export function refGlobProblem(glob: string): string | null {
  if (glob.length > revisionLengthMax) return `has more than ${revisionLengthMax} characters`;
  for (let i = 0; i < glob.length; i++)
    if (isBlankOrControl(glob.charCodeAt(i))) return "holds a blank or a control character";
  return null;
}

/** Names hold neither `~` nor `^`. */
function endOfName(text: string): number {
  for (let i = 0; i < text.length; i++) if (text[i] === "~" || text[i] === "^") return i;
  return text.length;
}

function nameProblem(name: string): string | null {
  if (name === "@") return null;
  if (name === "") return "does not begin with a name";
  if (name.startsWith("-")) return "begins with a minus";
  for (let i = 0; i < name.length; i++) {
    if (isBlankOrControl(name.charCodeAt(i))) return "holds a blank or a control character";
    if (":?*[\\".includes(name[i])) return `holds ${JSON.stringify(name[i])}`;
  }
  if (name.includes("..")) return "is a range of revisions";
  if (name.includes("@{")) return "asks for the log of a ref or for an upstream, which a mirror does not have";
  if (name.endsWith(".")) return "ends with a dot";
  return name.split("/").every(isNamePart)
    ? null
    : "has a part between slashes that is empty, begins with a dot or ends with .lock";
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
    if (count === stepCountMax) return `has more than ${stepCountMax} steps behind its name`;
    const end = endOfStep(text, at);
    if (end === undefined) return `goes on with ${JSON.stringify(text.slice(at, at + 20))}`;
    at = end;
  }
  return null;
}

/** Where the `~N`, `^N` or `^{…}` ends that begins at `at`; undefined when none does. */
function endOfStep(text: string, at: number): number | undefined {
  if (text[at] !== "~" && text[at] !== "^") return undefined;
  const peeling = peelings.find((form) => text.startsWith(form, at));
  if (peeling !== undefined) return at + peeling.length;
  if (text[at + 1] === "{") return undefined;
  let end = at + 1;
  while (end < text.length && text[end] >= "0" && text[end] <= "9") end++;
  return end - at - 1 <= numberLengthMax ? end : undefined;
}
