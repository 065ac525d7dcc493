/** What is written about a definition, by how languages write comments. */
import t from "tap";
import { docComment } from "../../../src/worker/read/doc-comment.js";

/** Each text has its definition in the line that contains `HERE`. */
const rows: readonly (readonly [language: string, text: string, documentation: string])[] = [
  [
    "TypeScript",
    "/**\n * Opens a *file*.\n *\n *   indented\n */\nfunction HERE() {}",
    "Opens a *file*.\n\n  indented",
  ],
  ["TypeScript", "/** One line. */\n@decorator({ a: 1 })\nexport class HERE {}", "One line."],
  ["TypeScript", "// First.\n// eslint-disable-next-line no-x\nconst HERE = 1;", "First."],
  ["TypeScript", "/** Of another. */\n\nconst HERE = 1;", ""],
  ["TypeScript", "const a = 1; /* of a */\nconst HERE = 1;", ""],
  ["TypeScript", "const a = 1; // of a\nconst HERE = 1;", ""],
  ["TypeScript", "/* opened,\nconst a = 1; */ const b = 2; /* b */\nconst HERE = 1;", ""],
  ["C", "/*\n * Reads.\n */\nstatic inline int\nHERE(void)\n{", "Reads."],
  ["C", "#include <a.h>\nint HERE;", ""],
  ["C", "/* Copyright 2020 A. */\nint HERE;", ""],
  ["C", "// SPDX-License-Identifier: MIT\nint HERE;", ""],
  ["C", "int a;\n/* Licensed drivers. */\nint HERE;", "Licensed drivers."],
  ["C++", "/// Sums.\n///   a\ntemplate <class T>\nT HERE(T a);", "Sums.\n  a"],
  ["Go", "// HERE opens\n// a file.\n//go:noinline\nfunc HERE() {}", "HERE opens\na file."],
  ["Rust", "/// Opens.\n#[must_use]\npub fn HERE() {}", "Opens."],
  ["Rust", "//! Of the module\nmod HERE;", "Of the module"],
  ["C#", "/// <summary>Opens.</summary>\n[Obsolete]\nvoid HERE() {}", "<summary>Opens.</summary>"],
  ["Python", 'def HERE(\n    a,\n) -> int:  # why\n    """Opens.\n\n    Twice.\n    """', "Opens.\n\nTwice."],
  ["Python", "@cached\nclass HERE:\n    r'''Raw.'''", "Raw."],
  ["Python", 'class HERE:\n\n    "Short."\n', "Short."],
  ["Python", "# Above.\n# coding\nHERE = 1", "Above.\ncoding"],
  ["Python", "#!/usr/bin/python\n# Copyright A\nHERE = 1", ""],
  ["Python", '"""Of the module."""\ndef HERE(): pass', ""],
  ["Ruby", "# Opens.\n# ---\ndef HERE", "Opens."],
  ["Elixir", '@doc """\n  Opens.\n"""\n@spec HERE(a) :: b\ndef HERE(a)', "Opens."],
  ["Haskell", "-- | Opens.\n-- More.\nHERE :: Int", "Opens.\nMore."],
  ["Lua", "--[[ Opens.\n]]\nfunction HERE()", "Opens."],
  ["Emacs Lisp", ";; Opens.\n(defun HERE ())", "Opens."],
  ["SQL", "-- Opens.\nCREATE TABLE HERE", "Opens."],
  ["Fortran", "!> Opens.\nsubroutine HERE", "Opens."],
  ["Vim script", '" Opens.\nfunction HERE()', "Opens."],
  ["TypeScript", "const HERE = 1;", ""],
];

for (const [language, text, documentation] of rows) {
  const lines = text.split("\n");
  const at = lines.findLastIndex((line) => line.includes("HERE"));
  const first = lines.findIndex((line) => line.includes("HERE") && !line.startsWith("//"));
  t.equal(docComment(lines, language === "Elixir" ? at : first, language, true), documentation, text);
}

const licence = ["// Copyright A", "int here;"];
t.equal(docComment(licence, 1, "C", false), "Copyright A", "not at the start of the file");
const long = [...Array.from({ length: 500 }, () => `// ${"x".repeat(100)}`), "int here;"];
t.equal(docComment(long, 500, "C", true).length, 4_001, "a long comment is cut");
t.equal(docComment([], 0, "C", true), "", "a file without lines");
const stars = ["/*", ...Array.from({ length: 1_000 }, () => " *".repeat(200)), "*/", "int here;"];
t.equal(docComment(stars, stars.length - 1, "C", true), "", "a comment that is too long to find its start");
