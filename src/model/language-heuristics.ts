/** A language and what in a file's first bytes speaks for it. */
type Clue = readonly [language: string, sign: RegExp];

/**
 * Clues by extension, tried in order. A missing match leaves the most popular language of the extension, so that one
 * needs a clue only to win over a weaker clue below it. No sign starts with an unbounded run that may cross lines:
 * each is tried at every line of the head.
 */
const clues: Readonly<Record<string, readonly Clue[]>> = {
  ".cs": [["Smalltalk", /![\w\s]{1,80}methodsFor: /]],
  ".d": [
    ["DTrace", /^(?:#!.*dtrace|#pragma[ \t]+D[ \t]|(?:BEGIN|END|\w+:\w*:\w*:\w*)[ \t]*(?:\/|\{|$))/m],
    ["Makefile", /^[^\s:]+\.o[ \t]*:|: \\$/m],
  ],
  ".es": [["Erlang", /^(?:%%|main[ \t]*\(.*\)[ \t]*->)/m]],
  ".ex": [["Euphoria", /^[ \t]*(?:namespace|(?:public|global)?[ \t]*(?:procedure|function|type))[ \t]+\w+[ \t]*\(/m]],
  ".f": [["Forth", /^: /m]],
  ".for": [["Forth", /^: /m]],
  ".fs": [
    ["Forth", /^(?:: \S|new-device\b)/m],
    ["GLSL", /^[ \t]*(?:#version\b|precision\s|uniform\s|varying\s|(?:in|out)[ \t]+vec[234]\b|vec[234]\s)/m],
    ["Filterscript", /^[ \t]*#(?:include\b|pragma[ \t]+(?:rs|version)\b)|__attribute__/m],
  ],
  ".gd": [["GAP", /^(?:#############|DeclareOperation|DeclareCategory|Declare\w+\()/m]],
  ".h": [
    ["Objective-C", /^[ \t]*(?:@(?:interface|class|protocol|property|end|implementation|import)\b|#[ \t]*import[ \t]+["<])/m],
    ["C++", /^[ \t]*(?:template[ \t]*<|(?:inline[ \t]+)?namespace(?:[ \t]+[\w:]+)?\s*\{|using[ \t]+(?:namespace[ \t]+)?[\w:]+[ \t]*[=;]|(?:public|private|protected):|class\s+(?:\w+\s+)?\w+\s*(?:final\s*)?[:;{])/m],
    ["C++", /^[ \t]*#[ \t]*include[ \t]*<(?:c?std\w*|[cs]string|vector|map|set|list|array|memory|utility|functional|algorithm|unordered_\w+|[io]*stream|optional|atomic|mutex|tuple|type_traits)>|\bstd::\w/m],
  ],
  ".hh": [["Hack", /^<\?hh\b/m]],
  ".html": [["Ecmarkup", /<emu-[a-z]+/]],
  ".inc": [
    ["PHP", /^[ \t]*<\?(?:php|=|\s)/m],
    ["HTML", /^[ \t]*<(?:!DOCTYPE|!--|\/?[a-z]+[ \t>])/im],
    ["POV-Ray SDL", /^[ \t]*#(?:declare|local|macro|while)[ \t]/m],
    ["BitBake", /^(?:inherit[ \t]|\w+(?:[:_]\w+)*[ \t]*\?{0,2}[:+.]?=[ \t]*"|(?:do|python)_?\w*[ \t]*\([^)\n]*\)[ \t]*\{)/m],
    ["Pascal", /^[ \t]*(?:\{\$|unit\b|(?:procedure|function)[ \t]+\w+[^\n]*;)/im],
    ["SourcePawn", /^[ \t]*(?:public[ \t]+Plugin|stock\b|native\b|methodmap\b|#pragma[ \t]+(?:newdecls|semicolon))/m],
    ["Assembly", /^[ \t]*(?:;|%(?:define|macro|ifdef|ifndef|include)\b|\w+[ \t]+(?:equ|macro|proc)\b)/im],
  ],
  ".l": [["Common Lisp", /\(def(?:un|macro|package)\s/], ["Roff", /^\.[A-Za-z]{2}(?:\s|$)/m]],
  ".ls": [["LoomScript", /^[ \t]*package[ \t]*[\w./*]*\s*\{/m]],
  ".m": [
    ["Objective-C", /^[ \t]*(?:@(?:interface|class|protocol|property|end|implementation|import|autoreleasepool)\b|#[ \t]*(?:import|include|define|pragma|if)\b)/m],
    ["Mercury", /^:-[ \t]*module\b/m],
    ["Wolfram Language", /^[ \t]*\(\*|\bBeginPackage\[|^\w+\[[^\]\n]*\][ \t]*:=/m],
    ["Limbo", /^\w+[ \t]*:[ \t]*module[ \t]*\{/m],
    ["MATLAB", /^[ \t]*(?:%|function\b|classdef\b|clear\b|clc\b|close[ \t]+all\b|end;?[ \t]*$)|\.\.\.[ \t]*$/m],
  ],
  ".md": [["GCC Machine Description", /^(?:;; |\(define_[a-z])/m]],
  ".ml": [["Standard ML", /^[ \t]*(?:=>[ \t]*|case[ \t]+(?:\w+[ \t]+)of\b|structure\b[ \t]+\w+[ \t]*=|fun[ \t]+\w+[^=\n]*=)/m]],
  ".mod": [
    ["XML", /^<!ENTITY /m],
    ["Modula-2", /^[ \t]*(?:(?:DEFINITION|IMPLEMENTATION)[ \t]+)?MODULE[ \t]+\w+/m],
    ["AMPL", /^[ \t]*(?:param|var|set|minimize|maximize|subject[ \t]+to)[ \t]+\w/m],
  ],
  ".ms": [["Roff", /^[.'][A-Za-z]{2}(?:\s|$)/m], ["Unix Assembly", /^[ \t]*\.(?:text|globl|data|align|section)\b/m]],
  ".n": [["Roff", /^[.']/m]],
  ".php": [["Hack", /^<\?hh\b/m]],
  ".pl": [
    ["Perl", /^[ \t]*(?:use[ \t]+(?:strict|warnings|v?5|[A-Z]\w*::)|package[ \t]+[\w:]+;|sub[ \t]+\w+[ \t]*\{|(?:my|our|local)[ \t]*[$@%(])/m],
    ["Raku", /^[ \t]*(?:use[ \t]+v6|(?:my|unit)[ \t]+class\b|unit[ \t]+module\b)/m],
    ["Prolog", /^(?::-|%|[a-z]\w*(?:\([^)\n]*\))?[ \t]*(?::-|\.[ \t]*$))/m],
  ],
  ".plist": [["OpenStep Property List", /^[ \t]*[{(]/]],
  ".pm": [["Raku", /^[ \t]*(?:use[ \t]+v6|unit[ \t]+(?:class|module)\b|(?:my|unit)[ \t]+class\b)/m], ["X PixMap", /^\/\* XPM \*\//]],
  ".pod": [["Pod 6", /^[ \t]*=(?:begin|for)[ \t]+(?:pod|table|defn)\b/m]],
  ".pp": [["Pascal", /^[ \t]*(?:unit|program|interface|implementation|uses|begin|procedure|type)\b[^{]*$/im]],
  ".pro": [
    ["Prolog", /^[a-z]\w*(?:\([^)\n]*\))?[ \t]*:-|^:-/m],
    ["Proguard", /^-(?:keep|dont|optimization|libraryjars)/m],
    ["IDL", /^[ \t]*(?:PRO|FUNCTION)[ \t]+\w+/im],
    ["QMake", /^[ \t]*(?:QT|TEMPLATE|TARGET|SOURCES|HEADERS|CONFIG|SUBDIRS|include)\b/m],
  ],
  ".r": [["Rebol", /^[ \t]*REBOL[ \t]*\[/im], ["Rez", /#include[ \t]+["<](?:Types|Carbon\/Carbon)\.r[">]/]],
  ".rs": [["RenderScript", /^[ \t]*#[ \t]*(?:include|pragma)\b|^[ \t]*(?:float|int|void)\d?[ \t]+\w+[ \t]*[=(]/m]],
  ".sc": [["SuperCollider", /(?:^[ \t]*\^|\bthis\.super\b|^[ \t]*\+[ \t]*\w+[ \t]*\{|^[ \t]*~\w+[ \t]*=)/m]],
  ".spec": [["Ruby", /^[ \t]*(?:require(?:_relative)?[ \t]+['"]|describe[ \t]|Gem::)/m], ["Python", /^(?:#.*-\*-.*python|import[ \t]+\w|a[ \t]*=[ \t]*Analysis\()/m]],
  ".sql": [
    ["PLpgSQL", /^\\i\b|\bAS[ \t]+\$\w*\$|\bLANGUAGE[ \t]+'?plpgsql/im],
    ["TSQL", /^[ \t]*GO[ \t\r]*$|\bBEGIN[ \t]+(?:TRY|CATCH)\b|\bDECLARE[ \t]+@|\[dbo\]/im],
    ["PLSQL", /\$\$PLSQL_|\bXMLTYPE\b|\.nextval\b|\bEXECUTE[ \t]+IMMEDIATE\b|\bVARCHAR2\b|\bDBMS_\w+\./i],
    ["SQLPL", /\bALTER[ \t]+MODULE\b|\bMODE[ \t]+DB2SQL\b|\bSYS(?:CAT|PROC)\.|\bASSOCIATE[ \t]+RESULT[ \t]+SET\b/i],
  ],
  ".t": [
    ["Perl", /^[ \t]*(?:use[ \t]+(?:strict|warnings|v?5|[A-Z]\w*::)|(?:my|our)[ \t]*[$@%(])/m],
    ["Raku", /^[ \t]*(?:use[ \t]+v6|use[ \t]+Test;|plan[ \t]+\d+;)/m],
    ["Terra", /^[ \t]*(?:local[ \t]+)?terra\b|terralib/m],
    ["Turing", /^[ \t]*(?:%|var[ \t]+\w+[ \t]*:)/m],
  ],
  ".toc": [["World of Warcraft Addon Data", /^## |^@no-lib-strip@/m]],
  ".txt": [["Vim Help File", /^\*[^\s*]+\*[ \t]|\bvim:.*\b(?:ft|filetype)=help\b/], ["Adblock Filter List", /^\[Adblock Plus\b/]],
  ".v": [
    ["Verilog", /^[ \t]*(?:`[a-z]|endmodule\b|module\s+\w+\s*[#(;]|always[ \t]*@|(?:input|output|wire|reg)\b)/m],
    ["Rocq Prover", /^[ \t]*(?:(?:From[ \t]+\S+[ \t]+)?Require\b|(?:Local[ \t]+|Global[ \t]+)?(?:Import|Export|Section|Module|Theorem|Lemma|Definition|Fixpoint|Inductive|Record|Notation|Ltac)[ \t]|(?:Proof|Qed)\.)/m],
    ["V", /^[ \t]*(?:(?:pub[ \t]+)?(?:fn[ \t]+[\w(]|struct[ \t]+\w+[ \t]*\{|enum[ \t]+\w+[ \t]*\{)|(?:import|module)[ \t]+[\w.]+[ \t\r]*$)/m],
  ],
  ".x": [["Linker Script", /^[ \t]*(?:SECTIONS|MEMORY|OUTPUT_ARCH|ENTRY)\b/m], ["Logos", /^%(?:end|ctor|hook|group)\b/m], ["RPC", /^[ \t]*(?:program|version|struct|union|const|typedef|enum)[ \t]+\w+|^%#/m]],
};

const manPage: readonly Clue[] = [["Roff Manpage", /^\.(?:TH|Dd|SH)[ \t]/m]];
const xml: Clue = ["XML", /^(?:\xef\xbb\xbf)?\s*<(?:\?xml|!DOCTYPE|!--|[A-Za-z][\w:.-]*(?:>|\/>|[ \t]+[\w:.-]+=))/];

/**
 * The name of the language that the first bytes of a file (as Latin-1) speak for among the languages of its
 * extension, if any.
 */
export function chooseByHead(extension: string, candidates: readonly { readonly name: string }[], head: string): string | undefined {
  const has = (name: string): boolean => candidates.some((candidate) => candidate.name === name);
  if (has("XML") && xml[1].test(head)) return "XML";
  const known = clues[extension] ?? (has("Roff Manpage") ? manPage : []);
  return known.find(([, sign]) => sign.test(head))?.[0];
}
