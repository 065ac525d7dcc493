import { TrawlError } from "../../base/errors.js";
import { escapeRegexp } from "../../base/text.js";
import { compileRegexp } from "../../regexp/match/matcher.js";

/** Whether a full ref name matches. */
export type RefTest = (ref: string) => boolean;

/**
 * A glob over refs, by the rules of `git log --glob`: `refs/` is prepended if it is missing, `*` also matches slashes,
 * and a glob without `?`, `*` and `[` matches the ref of that name and all refs below it.
 */
export function includeGlob(glob: string): RefTest {
  const full = glob.startsWith("refs/") ? glob : `refs/${glob}`;
  if (/[?*[]/.test(full)) return compileGlob(full);
  const below = full.endsWith("/") ? full : `${full}/`;
  return (ref) => ref === full || ref.startsWith(below);
}

/** A glob by the rules of `git log --exclude`: used unchanged. */
export function excludeGlob(glob: string): RefTest {
  return compileGlob(glob);
}

function compileGlob(glob: string): RefTest {
  try {
    const matcher = compileRegexp(`^(?s:${globSource(glob)})$`, false);
    return (ref) => matcher.test(Buffer.from(ref));
  } catch (error) {
    // An unclosed class, or a reversed range: as in git, nothing matches.
    if (error instanceof TrawlError && error.code === "bad-query") return () => false;
    throw error;
  }
}

function globSource(glob: string): string {
  let source = "";
  // If a class is not closed, no later one is.
  const lastClose = glob.lastIndexOf("]");
  for (let at = 0; at < glob.length; ) {
    const piece = at < lastClose && glob[at] === "[" ? classAt(glob, at) : pieceAt(glob, at);
    source += piece.source;
    at = piece.end;
  }
  return source;
}

interface GlobPiece {
  readonly source: string;
  readonly end: number;
}

/** A character, an escaped one, or a star. An unclosed `[` is kept, so that the regexp is rejected. */
function pieceAt(glob: string, at: number): GlobPiece {
  const isEscaped = glob[at] === "\\" && at + 1 < glob.length;
  const character = String.fromCodePoint(glob.codePointAt(isEscaped ? at + 1 : at) ?? 0);
  const end = at + (isEscaped ? 1 : 0) + character.length;
  if (isEscaped) return { source: escapeRegexp(character), end };
  switch (character) {
    case "*":
      return { source: ".*", end };
    case "?":
      return { source: ".", end };
    case "[":
      return { source: "[", end };
    default:
      return { source: escapeRegexp(character), end };
  }
}

/** `[…]`, `[!…]` or `[^…]`. A `]` that comes first is a member. */
function classAt(glob: string, at: number): GlobPiece {
  const isNegated = glob[at + 1] === "!" || glob[at + 1] === "^";
  const from = at + (isNegated ? 2 : 1);
  const close = glob.indexOf("]", glob[from] === "]" ? from + 1 : from);
  if (close < 0) return pieceAt(glob, at);
  return { source: `[${isNegated ? "^" : ""}${classSource(glob.slice(from, close))}]`, end: close + 1 };
}

/** Members of a class; ranges are kept, everything else is literal. */
function classSource(members: string): string {
  return members.replace(/\\([^])|[\\[\]^&~]/g, (part, escaped?: string) => {
    const character = escaped ?? part;
    return /\w/.test(character) ? character : `\\${character}`;
  });
}
