/**
 * The languages whose symbols are indexed, by the name that Trawl uses, with the name of their ctags parser: that of the
 * language, or of the one whose dialect it is or whose definitions look the same. Languages of data and prose, such as JSON
 * and Markdown, are left out: each key or heading would be a symbol. ctags' own "Flex" is ActionScript, not the scanner
 * generator, whose files have functions in C.
 */
const parserOfLanguage: Readonly<Record<string, string>> = {
  ActionScript: "Flex",
  Ada: "Ada",
  "Alpine Abuild": "Sh",
  Apex: "Java",
  Assembly: "Asm",
  AutoIt: "AutoIt",
  Awk: "Awk",
  B4X: "Basic",
  Batchfile: "DosBatch",
  Bison: "YACC",
  BlitzBasic: "Basic",
  C: "C",
  "C#": "C#",
  "C++": "C++",
  "C2hs Haskell": "Haskell",
  "Classic ASP": "Asp",
  Clojure: "Clojure",
  CMake: "CMake",
  COBOL: "Cobol",
  "Common Lisp": "Lisp",
  Crystal: "Ruby",
  CSS: "CSS",
  Cuda: "CUDA",
  Cython: "Python",
  D: "D",
  Easybuild: "Python",
  Eiffel: "Eiffel",
  Elixir: "Elixir",
  Elm: "Elm",
  "Emacs Lisp": "EmacsLisp",
  Erlang: "Erlang",
  Filterscript: "C",
  fish: "Sh",
  Fortran: "Fortran",
  "Fortran Free Form": "Fortran",
  FreeBASIC: "Basic",
  "Gentoo Ebuild": "Sh",
  "Gentoo Eclass": "Sh",
  "Glimmer JS": "JavaScript",
  "Glimmer TS": "TypeScript",
  GLSL: "C",
  Go: "Go",
  Hack: "PHP",
  Haskell: "Haskell",
  Haxe: "Haxe",
  HiveQL: "SQL",
  HLSL: "C",
  ISPC: "C",
  Java: "Java",
  JavaScript: "JavaScript",
  Jison: "YACC",
  Julia: "Julia",
  Kotlin: "Kotlin",
  Less: "CSS",
  Lex: "C",
  "Literate Haskell": "LiterateHaskell",
  Lua: "Lua",
  M4: "M4",
  M4Sugar: "Autoconf",
  MATLAB: "MatLab",
  Meson: "Meson",
  Metal: "C++",
  "Motorola 68K Assembly": "Asm",
  nesC: "C",
  NSIS: "NSIS",
  NumPy: "Python",
  "Objective-C": "ObjectiveC",
  "Objective-C++": "ObjectiveC",
  "Objective-J": "ObjectiveC",
  OCaml: "OCaml",
  OpenCL: "C",
  "OpenRC runscript": "Sh",
  Pascal: "Pascal",
  Perl: "Perl",
  PHP: "PHP",
  PLpgSQL: "SQL",
  PLSQL: "SQL",
  PostCSS: "CSS",
  PowerShell: "PowerShell",
  Processing: "Java",
  "Protocol Buffer": "Protobuf",
  PureBasic: "Basic",
  Python: "Python",
  QuickBASIC: "Basic",
  R: "R",
  Racket: "Scheme",
  Raku: "Perl6",
  RBS: "Ruby",
  RenderScript: "C",
  REXX: "REXX",
  Ruby: "Ruby",
  Rust: "Rust",
  Scheme: "Scheme",
  SCSS: "SCSS",
  Shell: "Sh",
  Snakemake: "Python",
  SQL: "SQL",
  SQLPL: "SQL",
  "Standard ML": "SML",
  Starlark: "Python",
  SWIG: "C",
  SystemVerilog: "SystemVerilog",
  Tcl: "Tcl",
  TSQL: "SQL",
  TSX: "TypeScript",
  TypeScript: "TypeScript",
  "Unified Parallel C": "C",
  "Unix Assembly": "Asm",
  VBA: "Basic",
  VBScript: "Basic",
  Verilog: "Verilog",
  VHDL: "VHDL",
  "Vim script": "Vim",
  "Visual Basic .NET": "Basic",
  "Visual Basic 6.0": "Basic",
  Xonsh: "Python",
  XS: "C",
  Yacc: "YACC",
  Zephir: "Zephir",
};

/** The ctags parser of a language; undefined if the symbols of the language are not indexed. */
export function ctagsParser(language: string): string | undefined {
  return Object.hasOwn(parserOfLanguage, language) ? parserOfLanguage[language] : undefined;
}

/** The ctags parsers that are used, each once. */
export const ctagsParsers: readonly string[] = [...new Set(Object.values(parserOfLanguage))];

/**
 * The name under which a text is passed to ctags. Only its extension matters, and each parser has one of its own, so
 * that neither the file's real name nor ctags' own table of extensions has any influence on its symbols.
 */
export function ctagsFileName(parser: string): string {
  return `f.${parserExtension(parser)}`;
}

/** The option that gives the parser its extension, and no other. */
export function ctagsMapOption(parser: string): string {
  return `--map-${parser}=.${parserExtension(parser)}`;
}

function parserExtension(parser: string): string {
  return `trawl${ctagsParsers.indexOf(parser)}`;
}
