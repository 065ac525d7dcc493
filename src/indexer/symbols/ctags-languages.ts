/**
 * The languages whose symbols are indexed, by the name that Trawl uses, with the name of their ctags parser. Languages
 * of data and prose, such as JSON and Markdown, are left out: each key or heading would be a symbol.
 */
const parserOfLanguage: Readonly<Record<string, string>> = {
  Ada: "Ada",
  Assembly: "Asm",
  Awk: "Awk",
  C: "C",
  "C#": "C#",
  "C++": "C++",
  CMake: "CMake",
  COBOL: "Cobol",
  CSS: "CSS",
  Clojure: "Clojure",
  Cuda: "CUDA",
  D: "D",
  Eiffel: "Eiffel",
  Elixir: "Elixir",
  Elm: "Elm",
  "Emacs Lisp": "EmacsLisp",
  Erlang: "Erlang",
  Fortran: "Fortran",
  "Fortran Free Form": "Fortran",
  Go: "Go",
  Haskell: "Haskell",
  Haxe: "Haxe",
  Java: "Java",
  JavaScript: "JavaScript",
  Julia: "Julia",
  Kotlin: "Kotlin",
  Lex: "Flex",
  "Common Lisp": "Lisp",
  Lua: "Lua",
  MATLAB: "MatLab",
  OCaml: "OCaml",
  "Objective-C": "ObjectiveC",
  "Objective-C++": "ObjectiveC",
  PHP: "PHP",
  Pascal: "Pascal",
  Perl: "Perl",
  PowerShell: "PowerShell",
  "Protocol Buffer": "Protobuf",
  Python: "Python",
  R: "R",
  Raku: "Perl6",
  Ruby: "Ruby",
  Rust: "Rust",
  SCSS: "SCSS",
  SQL: "SQL",
  Scheme: "Scheme",
  Shell: "Sh",
  SystemVerilog: "SystemVerilog",
  TSX: "TypeScript",
  Tcl: "Tcl",
  TypeScript: "TypeScript",
  "Unix Assembly": "Asm",
  VHDL: "VHDL",
  Verilog: "Verilog",
  "Vim script": "Vim",
  Yacc: "YACC",
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
