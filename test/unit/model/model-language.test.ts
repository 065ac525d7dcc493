import { readFileSync } from "node:fs";
import * as linguist from "linguist-languages";
import t from "tap";
import { languagesText } from "../../../scripts/languages-text.js";
import { detectLanguage } from "../../../src/indexer/detect-language.js";
import { languageByName, languageNames } from "../../../src/model/language.js";

t.test("the table matches the package", async (t) => {
  t.equal(readFileSync("src/model/languages.tsv", "utf8"), languagesText(), "make languages writes it");
});

t.test("every language of linguist is known by its name and its aliases", async (t) => {
  const languages: readonly { readonly name: string; readonly aliases?: readonly string[] }[] = Object.values(linguist);
  t.ok(languages.length > 700);
  for (const { name, aliases = [] } of languages) {
    if (languageByName(name)?.name !== name) t.fail(name);
    for (const alias of aliases) if (!languageByName(alias)) t.fail(`${name}: ${alias}`);
  }
});

t.test("names and aliases", async (t) => {
  const rows: readonly (readonly [nameOrAlias: string, name: string | undefined])[] = [
    ["Go", "Go"],
    ["golang", "Go"],
    ["js", "JavaScript"],
    ["ts", "TypeScript"],
    ["tsx", "TSX"],
    ["py", "Python"],
    ["PYTHON", "Python"],
    ["sh", "Shell"],
    ["bash", "Shell"],
    ["c++", "C++"],
    ["cpp", "C++"],
    ["c#", "C#"],
    ["csharp", "C#"],
    ["c", "C"],
    ["md", "Markdown"],
    ["yml", "YAML"],
    ["rb", "Ruby"],
    ["rs", "Rust"],
    ["objc", "Objective-C"],
    ["Vim script", "Vim script"],
    ["vim_script", "Vim script"],
    ["magik", "Magik"],
    ["viml", "Vim script"],
    ["Protocol Buffer", "Protocol Buffer"],
    ["protobuf", "Protocol Buffer"],
    ["ssh_config", "SSH Config"],
    ["no such language", undefined],
    ["", undefined],
    ["constructor", undefined],
  ];
  for (const [nameOrAlias, name] of rows)
    t.equal(languageByName(nameOrAlias)?.name, name, `"${nameOrAlias}" → ${name}`);
  for (const name of languageNames()) if (languageByName(name)?.name !== name) t.fail(name);
});

t.test("paths alone", async (t) => {
  const rows: readonly (readonly [path: string, name: string | undefined])[] = [
    ["main.go", "Go"],
    ["cmd/go.mod", "Go Module"],
    ["a/Makefile", "Makefile"],
    ["Kbuild", "Makefile"],
    ["CMakeLists.txt", "CMake"],
    ["notes.txt", "Text"],
    ["a.c", "C"],
    ["A.C", "C"],
    ["a.h", "C"],
    ["a.h.in", "C"],
    ["a.cc", "C++"],
    ["a.hpp", "C++"],
    ["a.m", "Objective-C"],
    ["a.mm", "Objective-C++"],
    ["a.ts", "TypeScript"],
    ["a.d.ts", "TypeScript"],
    ["a.tsx", "TSX"],
    ["a.js", "JavaScript"],
    ["a.jsx", "JavaScript"],
    ["a.mjs", "JavaScript"],
    ["a.py", "Python"],
    ["a.rb", "Ruby"],
    ["a.rs", "Rust"],
    ["a.java", "Java"],
    ["a.kt", "Kotlin"],
    ["a.swift", "Swift"],
    ["a.cs", "C#"],
    ["a.fs", "F#"],
    ["a.pl", "Perl"],
    ["a.pm", "Perl"],
    ["a.t", "Perl"],
    ["a.php", "PHP"],
    ["a.sql", "SQL"],
    ["a.r", "R"],
    ["a.R", "R"],
    ["a.v", "Verilog"],
    ["a.md", "Markdown"],
    ["README.MD", "Markdown"],
    ["a.json", "JSON"],
    ["a.yml", "YAML"],
    ["a.yaml", "YAML"],
    ["a.html", "HTML"],
    ["a.css", "CSS"],
    ["a.sh", "Shell"],
    ["a.S", "Unix Assembly"],
    ["a.asm", "Assembly"],
    ["a.frag", "GLSL"],
    ["a.re", "Reason"],
    ["a.ml", "OCaml"],
    ["a.ex", "Elixir"],
    ["a.sc", "Scala"],
    ["a.l", "Lex"],
    ["a.y", "Yacc"],
    ["a.pp", "Puppet"],
    ["a.d", "D"],
    ["a.toml", "TOML"],
    ["a.proto", "Protocol Buffer"],
    ["a.tf", "HCL"],
    ["Dockerfile", "Dockerfile"],
    ["a.properties", "Java Properties"],
    ["a.cfg", "INI"],
    ["a.spec", "RPM Spec"],
    ["a.gd", "GDScript"],
    ["a.sol", "Solidity"],
    ["a.html.erb", "HTML+ERB"],
    [".bashrc", "Shell"],
    [".gitignore", "Ignore List"],
    ["a.go/LICENSE", "Text"],
    ["a.8", "Roff Manpage"],
    ["a.unknown", undefined],
    ["plain", undefined],
    ["", undefined],
    ["a.", undefined],
  ];
  for (const [path, name] of rows) t.equal(detectLanguage(path, Buffer.alloc(0))?.name, name, path);
});

t.test("ambiguous extensions", async (t) => {
  const rows: readonly (readonly [path: string, head: string, name: string])[] = [
    ["a.h", "/* A class of devices. */\n#include <linux/types.h>\nstruct device;\n", "C"],
    ["a.h", "#pragma once\n\nnamespace base {\n", "C++"],
    ["a.h", "#include <vector>\n", "C++"],
    ["a.h", "#include <string.h>\n", "C"],
    ["a.h", "class EXPORT Node : public Base\n{\n", "C++"],
    ["a.h", "#import <Foundation/Foundation.h>\n@interface Node : NSObject\n", "Objective-C"],
    ["a.m", "// A window.\n@implementation Window\n", "Objective-C"],
    ["a.m", "function y = f(x)\n% Doubles.\ny = 2 * x;\n", "MATLAB"],
    ["a.m", '(* A package *)\nBeginPackage["A`"]\n', "Wolfram Language"],
    ["a.m", ":- module hello.\n", "Mercury"],
    ["a.ts", 'import t from "tap";\n', "TypeScript"],
    ["a.ts", "const node = <Node>value;\n", "TypeScript"],
    ["a.ts", '<?xml version="1.0"?>\n<!DOCTYPE TS>\n<TS version="2.1">\n', "XML"],
    ["a.tsx", "<div>hello</div>", "XML"],
    ["a.pl", "#!/usr/bin/perl\nprint 1;\n", "Perl"],
    ["a.pl", "use strict;\nmy $x = 1;\n", "Perl"],
    ["a.pl", ":- use_module(library(lists)).\nparent(a, b).\n", "Prolog"],
    ["a.pl", "use v6;\n", "Raku"],
    ["a.v", "// A counter.\nmodule counter(input clk);\nendmodule\n", "Verilog"],
    ["a.v", "Require Import Arith.\nLemma a : 1 = 1.\nProof. reflexivity. Qed.\n", "Rocq Prover"],
    ["a.v", "module main\n\nfn main() {\n", "V"],
    ["a.fs", "module Main\nlet x = 1\n", "F#"],
    ["a.fs", "#version 330 core\nvoid main() {}\n", "GLSL"],
    ["a.fs", ": square dup * ;\n", "Forth"],
    ["a.md", "# Title\n", "Markdown"],
    ["a.md", ';; Machine description\n(define_insn "add")\n', "GCC Machine Description"],
    ["a.r", "x <- c(1, 2)\n", "R"],
    ["a.r", 'REBOL [Title: "x"]\n', "Rebol"],
    ["a.sql", "select 1;\n", "SQL"],
    ["a.sql", "CREATE FUNCTION f() RETURNS int AS $$ BEGIN RETURN 1; END $$ LANGUAGE plpgsql;\n", "PLpgSQL"],
    ["a.sql", "USE [db]\nGO\n", "TSQL"],
    ["a.inc", "<?php\n", "PHP"],
    ["a.inc", 'SUMMARY = "x"\ninherit autotools\n', "BitBake"],
    ["a.spec", "Name: x\n", "RPM Spec"],
    ["a.cgi", "#!/usr/bin/env python3\n", "Python"],
    ["ls.1", ".TH LS 1\n", "Roff Manpage"],
    ["a.php", "<?hh\n", "Hack"],
    ["a.cls", 'VERSION 1.0 CLASS\nBEGIN\n  MultiUse = -1\nEND\nAttribute VB_Name = "A"\n', "VBA"],
    ["a.cls", "public with sharing class Tools {\n}\n", "Apex"],
    ["a.cls", "/**\n * Tools\n */\n@isTest\nprivate class ToolsTest {\n}\n", "Apex"],
    ["a.cls", "\\NeedsTeXFormat{LaTeX2e}\n\\ProvidesClass{letter}\n", "TeX"],
    ["a.cls", "Class Tools Extends %Persistent\n{\n}\n", "ObjectScript"],
    ["a.bas", 'Attribute VB_Name = "Tools"\nSub Save()\n', "Visual Basic 6.0"],
    ["a.frm", 'VERSION 5.00\nBegin VB.Form Main\nEnd\nAttribute VB_Name = "Main"\n', "Visual Basic 6.0"],
    ["a.h", "// -*- C++ -*-\nint f();\n", "C++"],
    ["a.h", "#define A 1\nconstexpr int b = 1;\n", "C++"],
    ["a.m", "; A routine\nADD(a,b) ; adds\n quit a+b\n", "M"],
    ["a.m", "% Doubles.\nx = 2;\n", "MATLAB"],
    ["a.pl", "package Tools;\nsub run { return $self->{x}; }\n", "Perl"],
    ["a.t", "use v6;\nuse Test;\n", "Raku"],
    ["a.t", "use strict;\nuse Test::More;\n", "Perl"],
    ["a.inc", "#include <vector>\nstatic int table[] = {\n", "C++"],
    ["a.inc", "{$mode objfpc}\nprocedure Run;\n", "Pascal"],
    ["a.inc", "; registers\nEAX equ 1\n", "Assembly"],
    ["a.rs", "use std::io;\nfn main() {}\n", "Rust"],
    ["a.rs", "#pragma version(1)\n#pragma rs java_package_name(a)\n", "RenderScript"],
    ["a.d", "module a;\nimport std.stdio;\nvoid main() {\n}\n", "D"],
    ["a.d", "#pragma D option quiet\nsyscall:::entry\n{\n}\n", "DTrace"],
    ["a.d", "main.o: main.c \\\n config.h\n", "Makefile"],
    ["a.pro", "QT += core\nSOURCES += main.cpp\nHEADERS += main.h\n", "QMake"],
    ["a.pro", "PRO hello\n  print, 'hello'\nEND\n", "IDL"],
    ["a.pro", "-keepattributes *Annotation*\n", "Proguard"],
    ["a.pro", "parent(a, b).\nold(X) :- parent(X, _).\n", "Prolog"],
    ["a.r", "# Sums.\nf <- function(x) x\n", "R"],
    ["a.sql", "CREATE OR REPLACE PACKAGE tools AUTHID CURRENT_USER AS\n", "PLSQL"],
    ["a.sql", "DECLARE @id INT\nSELECT [a] FROM [dbo].[t]\nGO\n", "TSQL"],
    ["a.ts", "// <TSType>\nexport const a = 1;\n", "TypeScript"],
    ["a.yaml", 'openapi: "3.0.0"\n', "YAML"],
    ["a.json", '{"swagger": "2.0"}\n', "JSON"],
    ["a.txt", "[Adblock Plus 2.0]\n", "Adblock Filter List"],
  ];
  for (const [path, head, name] of rows)
    t.equal(detectLanguage(path, Buffer.from(head))?.name, name, `${path} ${JSON.stringify(head)}`);
});

t.test("first lines", async (t) => {
  const rows: readonly (readonly [head: string, name: string | undefined])[] = [
    ["#!/bin/sh\n", "Shell"],
    ["#! /bin/bash -e\n", "Shell"],
    ["#!/usr/bin/env node\n", "JavaScript"],
    ["#!/usr/bin/env -S LANG=C python3.11 -u\n", "Python"],
    ["#!/usr/bin/perl5.8\n", "Perl"],
    ["#!/usr/bin/env\n", undefined],
    ["#!\n", undefined],
    ["#!/opt/unknown\n", undefined],
    ["# -*- mode: ruby; tab-width: 2 -*-\n", "Ruby"],
    ["/* -*- tab-width: 4; mode: c++; -*- */\n", "C++"],
    ["# -*- python -*-\n", "Python"],
    ["# -*- coding: utf-8 -*-\n", undefined],
    ["# vim: set ft=cpp ts=2:\n", "C++"],
    ["# a\n# vim:filetype=yaml\n", "YAML"],
    ["# dim: ft=cpp\n", undefined],
    [`${"text\n".repeat(1000)}# vim: ft=perl\n`, "Perl"],
    ['#!/bin/sh\n# Starts itself in Tcl. \\\nexec tclsh "$0" "$@"\n', "Tcl"],
    ["#!/bin/sh\nexec ls\n", "Shell"],
    ["#!/usr/bin/env -S node --no-warnings\n", "JavaScript"],
    ["#!/usr/local/bin/python3\n", "Python"],
    ["#!/usr/bin/ruby2.7\n", "Ruby"],
    ['<?xml version="1.0"?>\n', "XML"],
    ["hello\n", undefined],
    ["", undefined],
  ];
  for (const [head, name] of rows)
    t.equal(detectLanguage("bin/run", Buffer.from(head))?.name, name, JSON.stringify(head));
  t.equal(
    detectLanguage("run.py", Buffer.from("#!/bin/sh\n"))?.name,
    "Python",
    "a known extension wins over the first line",
  );
});

t.test("detection is fast for every text", async (t) => {
  const heads = [" ", "\n", "\t", "a", "(", "<", "class ", "#include ", ":", "a ", "a\n", ". ", "-*- mode"].map(
    (text) => Buffer.from(text.repeat(4096).slice(0, 4096)),
  );
  const extensions = new Set(languageNames().flatMap((name) => languageByName(name)?.extensions ?? []));
  for (const extension of [...extensions, ""]) for (const head of heads) detectLanguage(`a${extension}`, head);
  t.pass("and it ends");
});
