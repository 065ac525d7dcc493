import { TextPattern } from "../regexp/match/text-pattern.js";

/** A language, and a pattern in a file's first bytes that indicates it. */
type Clue = readonly [language: string, sign: TextPattern];

const text = (source: TemplateStringsArray): TextPattern => new TextPattern(source.raw[0]);
const anyCase = (source: TemplateStringsArray): TextPattern => new TextPattern(source.raw[0], "i");
/** `^` and `$` match at line boundaries. */
const line = (source: TemplateStringsArray): TextPattern => new TextPattern(source.raw[0], "m");
const lineAnyCase = (source: TemplateStringsArray): TextPattern => new TextPattern(source.raw[0], "im");

/**
 * Patterns by extension, tried in order. If none matches, the most popular language of the extension is used, so that
 * language needs a pattern only to precede a weaker pattern below it.
 */
const clues: ReadonlyMap<string, readonly Clue[]> = new Map(
  Object.entries<readonly Clue[]>({
    ".cs": [["Smalltalk", text`![\w\s]{1,80}methodsFor: `]],
    ".d": [
      ["DTrace", line`^(?:#!.*dtrace|#pragma[ \t]+D[ \t]|(?:BEGIN|END|\w+:\w*:\w*:\w*)[ \t]*(?:/|\{|$))`],
      ["Makefile", line`^[^\s:]+\.o[ \t]*:|: \\$`],
    ],
    ".es": [["Erlang", line`^(?:%%|main[ \t]*\(.*\)[ \t]*->)`]],
    ".ex": [
      ["Euphoria", line`^[ \t]*(?:namespace|(?:public|global)?[ \t]*(?:procedure|function|type))[ \t]+\w+[ \t]*\(`],
    ],
    ".f": [["Forth", line`^: `]],
    ".for": [["Forth", line`^: `]],
    ".fs": [
      ["Forth", line`^(?:: \S|new-device\b)`],
      ["GLSL", line`^[ \t]*(?:#version\b|precision\s|uniform\s|varying\s|(?:in|out)[ \t]+vec[234]\b|vec[234]\s)`],
      ["Filterscript", line`^[ \t]*#(?:include\b|pragma[ \t]+(?:rs|version)\b)|__attribute__`],
    ],
    ".gd": [["GAP", line`^(?:#############|DeclareOperation|DeclareCategory|Declare\w+\()`]],
    ".h": [
      [
        "Objective-C",
        line`^[ \t]*(?:@(?:interface|class|protocol|property|end|implementation|import)\b|#[ \t]*import[ \t]+["<])`,
      ],
      [
        "C++",
        line`^[ \t]*(?:template[ \t]*<|(?:inline[ \t]+)?namespace(?:[ \t]+[\w:]+)?\s*\{|using[ \t]+(?:namespace[ \t]+)?[\w:]+[ \t]*[=;]|(?:public|private|protected):|class\s+(?:\w+\s+)?\w+\s*(?:final\s*)?[:;{])`,
      ],
      [
        "C++",
        line`^[ \t]*#[ \t]*include[ \t]*<(?:c?std\w*|[cs]string|vector|map|set|list|array|memory|utility|functional|algorithm|unordered_\w+|[io]*stream|optional|atomic|mutex|tuple|type_traits)>|\bstd::\w`,
      ],
    ],
    ".hh": [["Hack", line`^<\?hh\b`]],
    ".html": [["Ecmarkup", text`<emu-[a-z]+`]],
    ".inc": [
      ["PHP", line`^[ \t]*<\?(?:php|=|\s)`],
      ["HTML", lineAnyCase`^[ \t]*<(?:!DOCTYPE|!--|/?[a-z]+[ \t>])`],
      ["POV-Ray SDL", line`^[ \t]*#(?:declare|local|macro|while)[ \t]`],
      [
        "BitBake",
        line`^(?:inherit[ \t]|\w+(?:[:_]\w+)*[ \t]*\?{0,2}[:+.]?=[ \t]*"|(?:do|python)_?\w*[ \t]*\([^)\n]*\)[ \t]*\{)`,
      ],
      ["Pascal", lineAnyCase`^[ \t]*(?:\{\$|unit\b|(?:procedure|function)[ \t]+\w+[^\n]*;)`],
      [
        "SourcePawn",
        line`^[ \t]*(?:public[ \t]+Plugin|stock\b|native\b|methodmap\b|#pragma[ \t]+(?:newdecls|semicolon))`,
      ],
      ["Assembly", lineAnyCase`^[ \t]*(?:;|%(?:define|macro|ifdef|ifndef|include)\b|\w+[ \t]+(?:equ|macro|proc)\b)`],
    ],
    ".l": [
      ["Common Lisp", text`\(def(?:un|macro|package)\s`],
      ["Roff", line`^\.[A-Za-z]{2}(?:\s|$)`],
    ],
    ".ls": [["LoomScript", line`^[ \t]*package[ \t]*[\w./*]*\s*\{`]],
    ".m": [
      [
        "Objective-C",
        line`^[ \t]*(?:@(?:interface|class|protocol|property|end|implementation|import|autoreleasepool)\b|#[ \t]*(?:import|include|define|pragma|if)\b)`,
      ],
      ["Mercury", line`^:-[ \t]*module\b`],
      ["Wolfram Language", line`^[ \t]*\(\*|\bBeginPackage\[|^\w+\[[^\]\n]*\][ \t]*:=`],
      ["Limbo", line`^\w+[ \t]*:[ \t]*module[ \t]*\{`],
      ["MATLAB", line`^[ \t]*(?:%|function\b|classdef\b|clear\b|clc\b|close[ \t]+all\b|end;?[ \t]*$)|\.\.\.[ \t]*$`],
    ],
    ".md": [["GCC Machine Description", line`^(?:;; |\(define_[a-z])`]],
    ".ml": [
      [
        "Standard ML",
        line`^[ \t]*(?:=>[ \t]*|case[ \t]+(?:\w+[ \t]+)of\b|structure\b[ \t]+\w+[ \t]*=|fun[ \t]+\w+[^=\n]*=)`,
      ],
    ],
    ".mod": [
      ["XML", line`^<!ENTITY `],
      ["Modula-2", line`^[ \t]*(?:(?:DEFINITION|IMPLEMENTATION)[ \t]+)?MODULE[ \t]+\w+`],
      ["AMPL", line`^[ \t]*(?:param|var|set|minimize|maximize|subject[ \t]+to)[ \t]+\w`],
    ],
    ".ms": [
      ["Roff", line`^[.'][A-Za-z]{2}(?:\s|$)`],
      ["Unix Assembly", line`^[ \t]*\.(?:text|globl|data|align|section)\b`],
    ],
    ".n": [["Roff", line`^[.']`]],
    ".php": [["Hack", line`^<\?hh\b`]],
    ".pl": [
      [
        "Perl",
        line`^[ \t]*(?:use[ \t]+(?:strict|warnings|v?5|[A-Z]\w*::)|package[ \t]+[\w:]+;|sub[ \t]+\w+[ \t]*\{|(?:my|our|local)[ \t]*[$@%(])`,
      ],
      ["Raku", line`^[ \t]*(?:use[ \t]+v6|(?:my|unit)[ \t]+class\b|unit[ \t]+module\b)`],
      ["Prolog", line`^(?::-|%|[a-z]\w*(?:\([^)\n]*\))?[ \t]*(?::-|\.[ \t]*$))`],
    ],
    ".plist": [["OpenStep Property List", text`^[ \t]*[{(]`]],
    ".pm": [
      ["Raku", line`^[ \t]*(?:use[ \t]+v6|unit[ \t]+(?:class|module)\b|(?:my|unit)[ \t]+class\b)`],
      ["X PixMap", text`^/\* XPM \*/`],
    ],
    ".pod": [["Pod 6", line`^[ \t]*=(?:begin|for)[ \t]+(?:pod|table|defn)\b`]],
    ".pp": [
      ["Pascal", lineAnyCase`^[ \t]*(?:unit|program|interface|implementation|uses|begin|procedure|type)\b[^{]*$`],
    ],
    ".pro": [
      ["Prolog", line`^[a-z]\w*(?:\([^)\n]*\))?[ \t]*:-|^:-`],
      ["Proguard", line`^-(?:keep|dont|optimization|libraryjars)`],
      ["IDL", lineAnyCase`^[ \t]*(?:PRO|FUNCTION)[ \t]+\w+`],
      ["QMake", line`^[ \t]*(?:QT|TEMPLATE|TARGET|SOURCES|HEADERS|CONFIG|SUBDIRS|include)\b`],
    ],
    ".r": [
      ["Rebol", lineAnyCase`^[ \t]*REBOL[ \t]*\[`],
      ["Rez", text`#include[ \t]+["<](?:Types|Carbon/Carbon)\.r[">]`],
    ],
    ".rs": [["RenderScript", line`^[ \t]*#[ \t]*(?:include|pragma)\b|^[ \t]*(?:float|int|void)\d?[ \t]+\w+[ \t]*[=(]`]],
    ".sc": [["SuperCollider", line`(?:^[ \t]*\^|\bthis\.super\b|^[ \t]*\+[ \t]*\w+[ \t]*\{|^[ \t]*~\w+[ \t]*=)`]],
    ".spec": [
      ["Ruby", line`^[ \t]*(?:require(?:_relative)?[ \t]+['"]|describe[ \t]|Gem::)`],
      ["Python", line`^(?:#.*-\*-.*python|import[ \t]+\w|a[ \t]*=[ \t]*Analysis\()`],
    ],
    ".sql": [
      ["PLpgSQL", lineAnyCase`^\\i\b|\bAS[ \t]+\$\w*\$|\bLANGUAGE[ \t]+'?plpgsql`],
      ["TSQL", lineAnyCase`^[ \t]*GO[ \t\r]*$|\bBEGIN[ \t]+(?:TRY|CATCH)\b|\bDECLARE[ \t]+@|\[dbo\]`],
      ["PLSQL", anyCase`\$\$PLSQL_|\bXMLTYPE\b|\.nextval\b|\bEXECUTE[ \t]+IMMEDIATE\b|\bVARCHAR2\b|\bDBMS_\w+\.`],
      [
        "SQLPL",
        anyCase`\bALTER[ \t]+MODULE\b|\bMODE[ \t]+DB2SQL\b|\bSYS(?:CAT|PROC)\.|\bASSOCIATE[ \t]+RESULT[ \t]+SET\b`,
      ],
    ],
    ".t": [
      ["Perl", line`^[ \t]*(?:use[ \t]+(?:strict|warnings|v?5|[A-Z]\w*::)|(?:my|our)[ \t]*[$@%(])`],
      ["Raku", line`^[ \t]*(?:use[ \t]+v6|use[ \t]+Test;|plan[ \t]+\d+;)`],
      ["Terra", line`^[ \t]*(?:local[ \t]+)?terra\b|terralib`],
      ["Turing", line`^[ \t]*(?:%|var[ \t]+\w+[ \t]*:)`],
    ],
    ".toc": [["World of Warcraft Addon Data", line`^## |^@no-lib-strip@`]],
    ".txt": [
      ["Vim Help File", text`^\*[^\s*]+\*[ \t]|\bvim:.*\b(?:ft|filetype)=help\b`],
      ["Adblock Filter List", text`^\[Adblock Plus\b`],
    ],
    ".v": [
      [
        "Verilog",
        line`^[ \t]*(?:\x60[a-z]|endmodule\b|module\s+\w+\s*[#(;]|always[ \t]*@|(?:input|output|wire|reg)\b)`,
      ],
      [
        "Rocq Prover",
        line`^[ \t]*(?:(?:From[ \t]+\S+[ \t]+)?Require\b|(?:Local[ \t]+|Global[ \t]+)?(?:Import|Export|Section|Module|Theorem|Lemma|Definition|Fixpoint|Inductive|Record|Notation|Ltac)[ \t]|(?:Proof|Qed)\.)`,
      ],
      [
        "V",
        line`^[ \t]*(?:(?:pub[ \t]+)?(?:fn[ \t]+[\w(]|struct[ \t]+\w+[ \t]*\{|enum[ \t]+\w+[ \t]*\{)|(?:import|module)[ \t]+[\w.]+[ \t\r]*$)`,
      ],
    ],
    ".x": [
      ["Linker Script", line`^[ \t]*(?:SECTIONS|MEMORY|OUTPUT_ARCH|ENTRY)\b`],
      ["Logos", line`^%(?:end|ctor|hook|group)\b`],
      ["RPC", line`^[ \t]*(?:program|version|struct|union|const|typedef|enum)[ \t]+\w+|^%#`],
    ],
  }),
);

const manPage: readonly Clue[] = [["Roff Manpage", line`^\.(?:TH|Dd|SH)[ \t]`]];
const xml: Clue = ["XML", text`^(?:\xef\xbb\xbf)?\s*<(?:\?xml|!DOCTYPE|!--|[A-Za-z][\w:.-]*(?:>|/>|[ \t]+[\w:.-]+=))`];

/** For each list of clues, a pattern that matches where any of its clues does. */
const unions = new Map<readonly Clue[], TextPattern>();

/**
 * The language that the first bytes of a file indicate among the languages of its extension, if any. `head` is Latin-1, or
 * bytes if they are ASCII; its lines are ended by line feeds.
 *
 * Most files have no clue, so all clues are looked for at once first.
 */
export function chooseByHead(
  extension: string,
  candidates: readonly { readonly name: string }[],
  head: string | Buffer,
): string | undefined {
  const has = (name: string): boolean => candidates.some((candidate) => candidate.name === name);
  if (has("XML") && xml[1].test(head)) return "XML";
  const known = clues.get(extension) ?? (has("Roff Manpage") ? manPage : noClues);
  if (known.length > 1 && !findUnion(known).test(head)) return undefined;
  return known.find(([, sign]) => sign.test(head))?.[0];
}

const noClues: readonly Clue[] = [];

function findUnion(known: readonly Clue[]): TextPattern {
  const union = unions.get(known) ?? TextPattern.union(known.map(([, sign]) => sign));
  unions.set(known, union);
  return union;
}
