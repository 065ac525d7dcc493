/**
 * Languages that a file name or extension usually denotes, where the general order below would give a different one.
 */
const usual = new Map([
  [".asc", "AsciiDoc"],
  [".cfg", "INI"],
  [".cls", "TeX"],
  [".cp", "C++"],
  [".for", "Fortran"],
  [".frag", "GLSL"],
  [".fx", "HLSL"],
  [".gs", "JavaScript"],
  [".ms", "Roff"],
  [".nas", "Assembly"],
  [".nb", "Wolfram Language"],
  [".pc", "pkg-config"],
  [".sc", "Scala"],
  [".scd", "SuperCollider"],
  [".star", "Starlark"],
  [".t", "Perl"],
  [".toc", "TeX"],
  [".yaml", "YAML"],
  [".yy", "Yacc"],
  ["hosts", "Hosts File"],
  ["HOSTS", "Hosts File"],
]);

/** Languages that compete for an extension, the more popular first, before all others. */
const popular: readonly string[] = [
  "C",
  "JavaScript",
  "Perl",
  "Python",
  "PHP",
  "C++",
  "Shell",
  "HTML",
  "JSON",
  "JSON with Comments",
  "SQL",
  "Markdown",
  "YAML",
  "Text",
  "INI",
  "Fortran",
  "Puppet",
  "Assembly",
  "BASIC",
  "BitBake",
  "Brainfuck",
  "OpenCL",
  "Common Lisp",
  "Scheme",
  "QMake",
  "RPC",
  "SWIG",
  "CUE",
  "HLSL",
  "FreeMarker",
  "GDScript",
  "TypeSpec",
  "Motoko",
  "Jasmin",
  "G-code",
  "Gnuplot",
  "Lean 4",
  "Odin",
  "Pkl",
  "Q#",
  "R",
  "RouterOS Script",
  "Roff Manpage",
  "Roff",
  "Rust",
  "Nushell",
  "SubRip Text",
  "Verilog",
  "Linux Kernel Module",
  "jq",
  "D",
  "F#",
  "Objective-C",
  "OCaml",
  "Smalltalk",
  "Prolog",
  "XML Property List",
];
const rankOf = new Map(popular.map((name, rank) => [name, rank]));

interface Candidate {
  readonly name: string;
  readonly extensions: readonly string[];
}

/**
 * Orders the languages of a file name, extension or interpreter: the usual one, then those for which it is the main
 * extension, then by popularity and name.
 */
export function byPopularity(key: string): (a: Candidate, b: Candidate) => number {
  const mainRank = ({ name, extensions }: Candidate): number =>
    usual.get(key) === name ? 0 : extensions[0] === key ? 1 : 2;
  return (a, b) => mainRank(a) - mainRank(b) || rank(a) - rank(b) || (a.name < b.name ? -1 : 1);
}

function rank({ name }: Candidate): number {
  return rankOf.get(name) ?? popular.length;
}
