/** Bytes at the start of a file that are looked at, and imports that are listed. */
const textBytesMax = 64 << 10;
const importsMax = 500;

/** Longer lines are not looked at. */
const lineLengthMax = 500;

/** What names a file in quotes or brackets, in the languages that do. */
const quoted: readonly RegExp[] = [
  /^\s*#\s*(?:include|import)\s*[<"]([^<>"]+)[>"]/,
  /\b(?:from|require|require_relative|import)\b[\s(]*["']([^"']+)["']/,
  // Go: a line of an import is nothing but a path, and a name before it.
  /^\s*(?:[\w.]+\s+)?"([^"\s]+)"\s*$/,
];

/** What names a module by words with dots, `::` or backslashes between them, and the names taken from it. */
const dotted: readonly RegExp[] = [
  /^\s*from\s+([.\w]+)\s+import\s+\(?([\w*,\s]*)/,
  /^\s*(?:pub\s+)?(?:import|use|using|mod)\s+(?:static\s+)?([\w.:\\]+)/,
];

/**
 * The files and modules that a file of this path imports, as ends of paths without `./` and with slashes: `linux/fs.h`,
 * `src/base/text.js`, `a/b/Name`. They are found by how most languages write them, so there may be others among them.
 */
export function readImports(text: Buffer, path: string): readonly string[] {
  const found = new Set<string>();
  const folder = path.split("/").slice(0, -1);
  const start = text.toString("utf8", 0, Math.min(text.length, textBytesMax));
  for (const line of start.split("\n")) {
    if (found.size >= importsMax) break;
    if (line.length > lineLengthMax) continue;
    for (const pattern of quoted) {
      const name = pattern.exec(line)?.[1];
      if (name !== undefined) found.add(joinPath(folder, name.split("/")));
    }
    for (const pattern of dotted) {
      const [, module, names = ""] = pattern.exec(line) ?? [];
      if (module === undefined) continue;
      const parts = moduleParts(module);
      found.add(joinPath(folder, parts));
      for (const name of names.split(/[\s,]+/)) if (/^\w+$/.test(name)) found.add(joinPath(folder, [...parts, name]));
    }
  }
  found.delete("");
  return [...found];
}

/** `..a.b` is `../a/b`, and `crate::a::b` is `a/b`. */
function moduleParts(module: string): string[] {
  const dots = /^\.*/.exec(module)?.[0].length ?? 0;
  const up = dots === 0 ? [] : [".", ...Array.from({ length: dots - 1 }, () => "..")];
  const words = module.slice(dots).split(/::|[.\\:]/);
  return [...up, ...words.filter((word) => word !== "" && word !== "crate" && word !== "self" && word !== "super")];
}

function joinPath(folder: readonly string[], parts: readonly string[]): string {
  if (!parts[0]?.startsWith(".")) return parts.filter((part) => part !== "").join("/");
  const joined = [...folder];
  for (const part of parts) {
    if (part === "..") joined.pop();
    else if (part !== "." && part !== "") joined.push(part);
  }
  return joined.join("/");
}
