import { TrawlError } from "../../base/errors.js";
import { escapeRegexp } from "../../base/text.js";
import { quoteValue } from "../../query/syntax/quote.js";

/** A glob of `-g` with ripgrep's meaning, which is that of a line of .gitignore with `!` for the opposite. */
interface Glob {
  readonly typed: string;
  readonly excludes: boolean;
  /** It ends with a slash. */
  readonly isFolder: boolean;
  /** Matches the whole path of a file or folder, without anchors. */
  readonly regexp: string;
}

/**
 * The filters for files that these globs let through; they apply to a query when they are added to it.
 *
 * As in ripgrep: a file is decided by the last glob that matches its path. If none does, it is searched unless there is a
 * glob without `!`. What is in a folder that a glob excludes is never searched, unless the same glob, or `*`, lets it through
 * later. Case counts, whatever the query says.
 */
export function globFilters(typed: readonly string[]): string {
  const globs = typed.map(parseGlob).filter((glob) => glob !== undefined);
  const includesFiles = globs.some(({ excludes, isFolder }) => !excludes && !isFolder);
  const folder = globs.find(({ excludes }) => !excludes);
  if (folder !== undefined && !includesFiles)
    throw new TrawlError(
      "bad-request",
      `-g '${folder.typed}' matches only folders, not the files in them; write -g '${folder.typed}**'`,
    );
  let files = "";
  const folders: string[] = [];
  let run: string[] = [];
  const endRun = () => {
    if (run.length === 0) return;
    const filter = `file:${quoteValue(`^(?-i:${run.join("|")})$`)}`;
    files = files === "" ? filter : `(${files} or ${filter})`;
    run = [];
  };
  globs.forEach((glob, i) => {
    if (!glob.excludes) {
      if (!glob.isFolder) run.push(glob.regexp);
      return;
    }
    endRun();
    const later = globs.slice(i + 1).filter(({ excludes }) => !excludes);
    const isFinal = later.length === 0;
    // Before the first glob that lets files through, nothing is let through yet that could be excluded.
    const decides = !glob.isFolder && (files !== "" || !includesFiles);
    const end = isFinal ? (glob.isFolder ? "/" : "(?:/|$)") : "$";
    if (isFinal || decides) files = `${files} -file:${quoteValue(`^(?-i:${glob.regexp})${end}`)}`.trim();
    if (!isFinal && !later.some((one) => lets(one, glob)))
      folders.push(`-file:${quoteValue(`^(?-i:${glob.regexp})/`)}`);
  });
  endRun();
  return [...folders, files].join(" ").trim();
}

function lets(later: Glob, excluded: Glob): boolean {
  return later.regexp === excluded.regexp || later.typed.replace(/\/$/, "") === "*";
}

/** Undefined for what ripgrep ignores: nothing, and comments. */
function parseGlob(typed: string): Glob | undefined {
  const excludes = typed.startsWith("!");
  const text = /^\\[!#]/.test(typed) ? typed.slice(1) : excludes ? typed.slice(1) : typed;
  if (text.trim() === "" || typed.startsWith("#")) return undefined;
  const isFolder = text.length > 1 && text.endsWith("/");
  const path = isFolder ? text.slice(0, -1) : text;
  const isAnchored = path.startsWith("/");
  const relative = isAnchored ? path.slice(1) : path;
  const anywhere = isAnchored || relative.includes("/") || relative.startsWith("**") ? relative : `**/${relative}`;
  const regexp = globRegexp(anywhere.endsWith("/**") ? `${anywhere}/*` : anywhere, typed);
  return { typed, excludes, isFolder, regexp };
}

/** A glob as a regexp: stars, question marks and sets match no slash, two stars that are a whole name match any names. */
function globRegexp(glob: string, typed: string): string {
  let source = "";
  let depth = 0;
  for (let at = 0; at < glob.length; ) {
    const names = /(^|\/)\*\*(\/|$)/y;
    names.lastIndex = at;
    const found = names.exec(glob);
    if (found !== null) {
      const [whole, before, after] = found;
      source += before === "" ? (after === "" ? ".*" : "(?:.*/)?") : after === "" ? "/.*" : "/(?:.*/)?";
      at += whole.length;
      // The slash may begin the next pair of stars.
      while (glob.startsWith("**/", at) && after === "/") at += 3;
      continue;
    }
    const character = glob[at];
    if (character === "[") {
      const end = setEnd(glob, at, typed);
      source += setRegexp(glob.slice(at + 1, end));
      at = end + 1;
      continue;
    }
    if (character === "{") depth++;
    if (character === "}" && depth-- === 0) throw badGlob(typed, "} closes nothing: write \\} for the character");
    if (character === "\\" && at + 1 === glob.length) throw badGlob(typed, "nothing follows the \\ at its end");
    if (character === "\\") source += escapeRegexp(glob[++at]);
    else if (character === "*") source += "[^/]*";
    else if (character === "?") source += "[^/]";
    else if (character === "{") source += "(?:";
    else if (character === "}") source += ")";
    else if (character === "," && depth > 0) source += "|";
    else source += escapeRegexp(character);
    at++;
  }
  if (depth > 0) throw badGlob(typed, "a { is not closed: write \\{ for the character");
  return source;
}

/** The index of the bracket that ends the set; one that is the first character is a member. */
function setEnd(glob: string, from: number, typed: string): number {
  const first = from + (glob[from + 1] === "!" || glob[from + 1] === "^" ? 2 : 1);
  const end = glob.indexOf("]", first + 1);
  if (end < 0) throw badGlob(typed, "a [ is not closed: write \\[ for the character");
  return end;
}

function setRegexp(members: string): string {
  const negated = members.startsWith("!") || members.startsWith("^");
  const kept = (negated ? members.slice(1) : members).replaceAll(/[\\[\]^&~]/g, "\\$&");
  return negated ? `[^/${kept}]` : `[${kept}]`;
}

function badGlob(typed: string, problem: string): TrawlError {
  return new TrawlError("bad-request", `-g '${typed}' is not a glob: ${problem}`);
}
