import { TextPattern } from "../regexp/match/text-pattern.js";

/** What the first bytes of a file must have, or must not have. */
interface Condition {
  readonly pattern: TextPattern;
  readonly isNegated: boolean;
}

/** A language, and the conditions under which a file is in it: all of them; without any, it is. */
type Rule = readonly [language: string, ...conditions: readonly Condition[]];

/** `^` and `$` match at line boundaries, and case counts unless the pattern begins with `(?i)`. */
function p(source: TemplateStringsArray): Condition {
  return { pattern: new TextPattern(source.raw[0], "m"), isNegated: false };
}

function any(...conditions: readonly Condition[]): Condition {
  return { pattern: TextPattern.union(conditions.map(({ pattern }) => pattern)), isNegated: false };
}

function no({ pattern }: Condition): Condition {
  return { pattern, isNegated: true };
}

/**
 * Rules by extension or file name, tried in order. If none holds, the most popular language is used.
 *
 * They are those of linguist's `heuristics.yml` (its licence is in `languages.tsv`), in the syntax of RE2, and further rules
 * where linguist would let a classifier decide. The kinds of OpenAPI documents are not told from JSON and YAML: who looks
 * for YAML wants them.
 */
const rulesByKeys: Readonly<Record<string, readonly Rule[]>> = {
  ".1 .2 .3 .4 .5 .6 .7 .8 .9": [
    ["Roff Manpage", p`^\.(?:TH|Dd)[ \t]`],
    [
      "Roff Manpage",
      p`^[.'][ \t]*Dd +(?:[^"\s]+|"[^"]+")`,
      p`^[.'][ \t]*Dt +(?:[^"\s]+|"[^"]+") +"?(?:[1-9]|@[^\s@]+@)`,
      p`^[.'][ \t]*Sh +(?:[^"\s]|"[^"]+")`,
    ],
    [
      "Roff Manpage",
      p`^[.'][ \t]*TH +(?:[^"\s]+|"[^"]+") +"?(?:[1-9]|@[^\s@]+@)`,
      p`^[.'][ \t]*SH +(?:[^"\s]+|"[^"\s]+)`,
    ],
    ["Roff", p`^\.(?:[A-Za-z]{2}(?:\s|$)|\\")`],
    ["Text"],
  ],
  ".1in .1m .1x .3in .3m .3p .3pm .3qt .3x .man .mdoc": [
    ["Roff Manpage", p`^\.(?:TH|Dd)[ \t]`],
    [
      "Roff Manpage",
      p`^[.'][ \t]*Dd +(?:[^"\s]+|"[^"]+")`,
      p`^[.'][ \t]*Dt +(?:[^"\s]+|"[^"]+") +"?(?:[1-9]|@[^\s@]+@)`,
      p`^[.'][ \t]*Sh +(?:[^"\s]|"[^"]+")`,
    ],
    [
      "Roff Manpage",
      p`^[.'][ \t]*TH +(?:[^"\s]+|"[^"]+") +"?(?:[1-9]|@[^\s@]+@)`,
      p`^[.'][ \t]*SH +(?:[^"\s]+|"[^"\s]+)`,
    ],
    ["Roff"],
  ],
  ".action": [
    [
      "ROS Interface",
      p`(?i)^[a-z]\w*(?:\/[a-z]\w*)?(?:<=\d+)?(?:\[(?:<=\d+)?\])?\s+\w+\b`,
      p`^---\s*$`,
      no(p`^\s*[^\s@#\w-]`),
    ],
  ],
  ".al": [
    [
      "AL",
      any(
        p`(?:\A\W{0,3}|^)\s*(?i:(CODEUNIT|PAGE|PAGEEXTENSION|PAGECUSTOMIZATION|ENUM|ENUMEXTENSION|QUERY|REPORT|REPORTEXTENSION|TABLE|TABLEEXTENSION|XMLPORT|PROFILE|PROFILEEXTENSION|CONTROLADDIN|INTERFACE|PERMISSIONSET|PERMISSIONSETEXTENSION|ENTITLEMENT))\b\s+(?:\d|"|[A-Z])`,
        p`(?:\A\W{0,3}|^)\s*(?i:DOTNET)\s*$`,
        p`(?:\A\W{0,3}|^)\s*(?i:(NAMESPACE|USING))\s+[\w.]+\s*;`,
      ),
    ],
    ["Perl"],
  ],
  ".alg": [
    [
      "ALGOL",
      any(
        p`(?i)^comment\b.*(;|comment)`,
        p`^#[^#\r\n]+#$`,
        p`(?i)\b(integer|real|boolean|string)\b\s+\w+\s*:=\s*`,
        p`(?i)^begin[\s\S]*^end`,
      ),
    ],
  ],
  ".app": [
    [
      "Erlang",
      p`^\{\s*(?:application|'application')\s*,\s*(?:[a-z]+[\w@]*|'[^']+')\s*,\s*\[(?:.|[\r\n])*\]\s*\}\.[ \t]*$`,
    ],
  ],
  ".as": [
    [
      "ActionScript",
      p`^\s*(?:package(?:\s+[\w.]+)?\s+(?:\{|$)|import\s+[\w.*]+\s*;|(?:intrinsic\s+)class\s+[\w<>.]+|\s+class\s+extends\s+[\w<>.]+|(?:(?:public|protected|private|static)\s+)*(?:(?:var|const|local)\s+\w+\s*:\s*[\w<>.]+(?:\s*=.*)?\s*;|function\s+\w+\s*\((?:\s*\w+\s*:\s*[\w<>.]+\s*(,\s*\w+\s*:\s*[\w<>.]+\s*)*)?\)))`,
    ],
    [
      "AngelScript",
      p`^[ \t]*(?:#include[ \t]+"|(?:shared|mixin|external)[ \t]+\w+|(?:void|int|uint|float|bool|string)[ \t]+\w+[ \t]*\()|@`,
    ],
  ],
  ".asc": [
    ["Public Key", p`^(----[- ]BEGIN|ssh-(rsa|dss)) `],
    ["AsciiDoc", p`^[=-]+\s|\{\{[A-Za-z]`],
    [
      "AGS Script",
      p`^(\/\/.+|((import|export)\s+)?(function|int|float|char)\s+((room|repeatedly|on|game)_)?([A-Za-z]+[A-Za-z_0-9]+)\s*[;\(])`,
    ],
  ],
  ".asm": [
    ["Assembly", p`(?i)mov\s+[^\s]{2,},`],
    [
      "Motorola 68K Assembly",
      any(
        p`(?i)\bmoveq(?:\.l)?\s+#(?:\$-?[0-9a-f]{1,3}|%[0-1]{1,8}|-?[0-9]{1,3}),\s*d[0-7]\b`,
        p`(?i)^\s*move(?:\.[bwl])?\s+(?:sr|usp),\s*[^\s]+`,
        p`(?i)^\s*move\.[bwl]\s+.*\b[ad]\d`,
        p`(?i)^\s*movem\.[bwl]\b`,
        p`(?i)^\s*move[mp](?:\.[wl])?\b`,
        p`(?i)^\s*btst\b`,
        p`(?i)^\s*dbra\b`,
      ),
    ],
  ],
  ".asy": [["LTspice Symbol", p`^SymbolType[ \t]`], ["Asymptote"]],
  ".b": [
    ["B", p`^\s*(?:extrn|auto|goto)\b`, no(p`^\s*(?:implement|include|load|ref)\b`)],
    ["Brainfuck", p`(>\+>|>\+<)`],
    ["Limbo", p`(?:^\w+\s*:\s*module\s*\{)|(implement \w+;)`],
  ],
  ".bas": [
    ["B4X", p`\A\W{0,3}(?:.*(?:\r?\n|\r)){0,9}B4(?:J|A|R|i)=true`],
    [
      "FreeBASIC",
      any(
        p`(?i)^[ \t]*#(?:define|endif|endmacro|ifn?def|include|lang|macro|pragma)(?:$|\s)`,
        p`(?i)^[ \t]*dim( shared)? [a-z_][a-z0-9_]* as [a-z_][a-z0-9_]* ptr`,
      ),
    ],
    ["FreeBASIC", p`(?i)^[ \t]*return `, no(p`(?i)[ \t]*gosub `)],
    ["BASIC", p`\A\s*\d`],
    [
      "QuickBASIC",
      any(
        p`^[ ]*(CONST|DIM|REDIM|DEFINT|PRINT|DECLARE (SUB|FUNCTION)|FUNCTION|SUB) `,
        p`(#|$)lang:?\s*"?qb"?`,
        p`(?i)'\$INCLUDE:`,
        p`(?i)^[ ]*CLS[ ]*('|:|\r|\n)`,
        p`(?i)^[ ]*OPTION _EXPLICIT`,
        p`(?i)^[ ]*DIM SHARED `,
        p`(?i)^[ ]*PRINT "`,
        p`(?i) As _(Byte|Offset|MEM)`,
        p`(?i)^[ ]*_(DISPLAY|DEST|CONSOLE|SOURCE|FREEIMAGE|PALETTECOLOR|PRINTSTRING|LOADFONT|PUTIMAGE)`,
        p`(?i)^[ ]*_(TITLE|PLAYMOD) "`,
        p`(?i)^[ ]*_(LIMIT|SCREEN|DELAY) \.?\d+`,
        p`(?i)\b_(MOUSEBUTTON|NEWIMAGE|KEYDOWN|WIDTH|HEIGHT)\(`,
        p`(?i)^[ ]*\$(CONSOLE|CHECKING):`,
        p`(?i)^[ ]*\$(FULLSCREEN|RESIZE|STATIC|DYNAMIC|NOPREFIX|SCREENSHOW|SCREENHIDE|EXEICON)\b`,
      ),
    ],
    [
      "VBA",
      any(
        p`\b(?:VBA|[vV]ba)(?:\b|[0-9A-Z_])`,
        p`^[ ]*(?:Public|Private)? Declare PtrSafe (?:Sub|Function)\b`,
        p`^[ ]*#If Win64\b`,
        p`^[ ]*(?:Dim|Const) [0-9a-zA-Z_]*[ ]*As Long(?:Ptr|Long)\b`,
        p`^[ ]*Option (?:Private Module|Compare Database)\b`,
        p`(?: |\()(?:Access|Excel|Outlook|PowerPoint|Visio|Word|VBIDE)\.\w`,
        p`\b(?:(?:Active)?VBProjects?|VBComponents?|Application\.(?:VBE|ScreenUpdating))\b`,
        p`\b(?:ThisDrawing|AcadObject|Active(?:Explorer|Inspector|Window\.Presentation|Presentation|Document)|Selection\.(?:Document|Find|Paragraphs|Range))\b`,
        p`\b(?:(?:This|Active)?Workbooks?|Worksheets?|Active(?:Sheet|Chart|Cell)|WorksheetFunction)\b`,
        p`\b(?:Range\(".*|Cells\([0-9a-zA-Z_]*, (?:[0-9a-zA-Z_]*|"[a-zA-Z]{1,3}"))\)`,
      ),
    ],
    ["Visual Basic 6.0", p`^[ ]*Attribute VB_Name = `],
    ["VBA", p`(?i)^[ \t]*Attribute[ \t]+VB_Name`],
    ["B4X", p`^[ \t]*#(?:Region|End Region)|^[ \t]*Sub (?:Process_Globals|Globals|Class_Globals)\b`],
  ],
  ".bb": [
    ["BitBake", p`^(?:[A-Z_]+(?:[:_]\w+)*[ \t]*\?{0,2}[:+.]?=[ \t]*"|(?:do|python)_?\w*[ \t]*\([^)\n]*\)[ \t]*\{)`],
    ["BlitzBasic", p`(<^\s*; |End Function)`],
    ["BitBake", p`^(# |include|require|inherit)\b`],
    ["Clojure", p`\((def|defn|defmacro|let)\s`],
  ],
  ".bf": [
    ["Beef", p`^\s*using\s+(System|Beefy)(\.(.*))?;\s*$`],
    ["HyPhy", any(p`^\s*#include\s+".*";\s*$`, p`\sfprintf\s*\(`)],
    ["Brainfuck", p`(>\+>|>\+<)`],
    ["Befunge", p`[v^<>][^\n]*[@#_|]`],
  ],
  ".bi": [
    [
      "FreeBASIC",
      any(
        p`(?i)^[ \t]*#(?:define|endif|endmacro|ifn?def|include|lang|macro|pragma)(?:$|\s)`,
        p`(?i)^[ \t]*dim( shared)? [a-z_][a-z0-9_]* as [a-z_][a-z0-9_]* ptr`,
      ),
    ],
    ["FreeBASIC", p`(?i)^[ \t]*return `, no(p`(?i)[ \t]*gosub `)],
    [
      "QuickBASIC",
      any(
        p`^[ ]*(CONST|DIM|REDIM|DEFINT|PRINT|DECLARE (SUB|FUNCTION)|FUNCTION|SUB) `,
        p`(#|$)lang:?\s*"?qb"?`,
        p`(?i)'\$INCLUDE:`,
        p`(?i)^[ ]*CLS[ ]*('|:|\r|\n)`,
        p`(?i)^[ ]*OPTION _EXPLICIT`,
        p`(?i)^[ ]*DIM SHARED `,
        p`(?i)^[ ]*PRINT "`,
        p`(?i) As _(Byte|Offset|MEM)`,
        p`(?i)^[ ]*_(DISPLAY|DEST|CONSOLE|SOURCE|FREEIMAGE|PALETTECOLOR|PRINTSTRING|LOADFONT|PUTIMAGE)`,
        p`(?i)^[ ]*_(TITLE|PLAYMOD) "`,
        p`(?i)^[ ]*_(LIMIT|SCREEN|DELAY) \.?\d+`,
        p`(?i)\b_(MOUSEBUTTON|NEWIMAGE|KEYDOWN|WIDTH|HEIGHT)\(`,
        p`(?i)^[ ]*\$(CONSOLE|CHECKING):`,
        p`(?i)^[ ]*\$(FULLSCREEN|RESIZE|STATIC|DYNAMIC|NOPREFIX|SCREENSHOW|SCREENHIDE|EXEICON)\b`,
      ),
    ],
  ],
  ".bs": [
    ["Bikeshed", p`^(?i:<pre\s+class)\s*=\s*('|\"|\b)metadata\b('|\"|\b)[^>\r\n]*>`],
    [
      "BrighterScript",
      any(
        p`(?i:^\s*(?:sub\s*\w+\(.*?\))|(?::\s*sub\(.*?\))$)`,
        p`(?i:^\s*(end\ssub)$)`,
        p`(?i:^\s*(?:function\s*\w+\(.*?\)\s*as\s*\w*)|(?::\s*function\(.*?\)\s*as\s*\w*)$)`,
        p`(?i:^\s*(end\sfunction)$)`,
      ),
    ],
    ["Bluespec BH", p`^package\s+[A-Za-z_][A-Za-z0-9_']*(?:\s*\(|\s+where)`],
  ],
  ".bst": [["BibTeX Style", p`ENTRY\s*\{`], ["BuildStream"]],
  ".builds": [["XML", p`^(\s*)(?i:<Project|<Import|<Property|<?xml|xmlns)`]],
  ".cairo": [
    [
      "Cairo Zero",
      p`(^(\s*)%lang(\s+)([A-Za-z0-9_]+))|(^(\s*)%builtins(\s+)([A-Za-z0-9_]+\s*)*$)|(^(\s*)from(\s+)starkware\.(cairo|starknet)\.([A-Za-z0-9_.\s]+?)import)|(,\s*ap\+\+;$)|(;\s*ap\+\+$)`,
    ],
    ["Cairo"],
  ],
  ".ch": [
    ["xBase", p`^\s*#\s*(?i:if|ifdef|ifndef|define|command|xcommand|translate|xtranslate|include|pragma|undef)\b`],
  ],
  ".cl": [
    ["Common Lisp", p`^\s*\((?i:defun|in-package|defpackage) `],
    ["Cool", p`^class`],
    ["OpenCL", p`\/\* |\/\/ |^\}`],
  ],
  ".cls": [
    [
      "Visual Basic 6.0",
      p`^[ ]*VERSION [0-9]\.[0-9] CLASS`,
      p`^\s*BEGIN(?:\r?\n|\r)\s*MultiUse\s*=.*(?:\r?\n|\r)\s*Persistable\s*=`,
    ],
    ["VBA", p`^[ ]*VERSION [0-9]\.[0-9] CLASS`],
    ["TeX", p`^\s*\\(?:NeedsTeXFormat|ProvidesClass)\{`],
    ["ObjectScript", p`^Class\s`],
    ["OpenEdge ABL", p`(?i)^\s*(?:end\s+(?:class|interface)\.|(?:class|interface)\s+[a-z_][a-z0-9_#$%&-]*:)`],
    [
      "Apex",
      p`(?i)^[ \t]*(?:@(?:isTest|RestResource|AuraEnabled|InvocableMethod)\b|(?:(?:public|private|global|virtual|abstract|with[ \t]+sharing|without[ \t]+sharing|inherited[ \t]+sharing)[ \t]+)+(?:class|interface|enum)[ \t]+\w+)`,
    ],
    [
      "VBA",
      p`(?i)^[ \t]*(?:Attribute[ \t]+VB_|Option[ \t]+Explicit\b|(?:(?:Public|Private|Friend)[ \t]+)?(?:Sub|Function|Property[ \t]+(?:Get|Let|Set))[ \t]+\w+[ \t]*\()`,
    ],
    ["OpenEdge ABL", p`(?i)^[ \t]*(?:using[ \t]+[\w.]+[ \t]*(?:from[ \t]+\w+)?\.|block-level[ \t]+on[ \t]+error)`],
    ["Apex", p`^[ \t]*(?:/\*|//)|(?i)^[ \t]*class[ \t]+\w+[^\n.:]*\{`],
  ],
  ".cmp": [["Gerber Image", p`^[DGMT][0-9]{2}\*(?:\r?\n|\r)`]],
  ".container .mount .network .service .socket .target .timer": [
    ["INI", p`^[#\s]*\[[^\]]+\]\s*$`, p`^[^#!;][^=]*=`, no(p`^[^#;=\[]+[^ \r\n=]$`)],
  ],
  ".cs": [
    ["Smalltalk", p`![\w\s]+methodsFor: `],
    ["C#", p`^\s*(using\s+[A-Z][\s\w.]+;|namespace\s*[\w\.]+\s*(\{|;)|\/\/)`],
  ],
  ".csc": [
    [
      "GSC",
      any(
        p`^\s*#\s*(?:using|insert|include|define|namespace)[ \t]+\w`,
        p`^\s*((?:autoexec|private)\s+){0,2}function\s+((?:autoexec|private)\s+){0,2}\w+\s*\(`,
        p`\b(?:level|self)[ \t]+thread[ \t]+(?:\[\[[ \t]*(\w+\.)+[ \t]*\]\]|\w+)[ \t]*\([^\r\n\)]*\)[ \t]*;`,
        p`^[ \t]*#[ \t]*(?:precache|using_animtree)[ \t]*\(`,
      ),
    ],
  ],
  ".csl": [
    ["XML", p`(?i:^\s*(<\?xml|xmlns))`],
    ["Kusto", p`(^\|\s*(where|extend|project|limit|summarize))|(^\.\w+)`],
  ],
  ".d": [
    [
      "D",
      p`^module\s+[\w.]*\s*;|import\s+[\w\s,.:]*;|\w+\s+\w+\s*\(.*\)(?:\(.*\))?\s*\{[^}]*\}|unittest\s*(?:\(.*\))?\s*\{[^}]*\}`,
    ],
    [
      "DTrace",
      p`^(\w+:\w*:\w*:\w*|BEGIN|END|provider\s+|(tick|profile)-\w+\s+\{[^}]*\}|#pragma\s+D\s+(option|attributes|depends_on)\s|#pragma\s+ident\s)`,
    ],
    ["Makefile", p`([\/\\].*:\s+.*\s\\$|: \\$|^[ %]:|^[\w\s\/\\.]+\w+\.\w+\s*:\s+[\w\s\/\\.]+\w+\.\w+)`],
    ["DTrace", p`^#!.*dtrace|^#pragma[ \t]+D[ \t]`],
    ["Makefile", p`^[^\s:]+\.o[ \t]*:|: \\$`],
  ],
  ".dsp": [
    ["Microsoft Developer Studio Project", p`# Microsoft Developer Studio Generated Build File`],
    ["Faust", p`\bprocess\s*[(=]|\b(library|import)\s*\(\s*"|\bdeclare\s+(name|version|author|copyright|license)\s+"`],
  ],
  ".e": [
    [
      "Eiffel",
      p`^[ \t]*(?:(?:deferred|expanded|frozen|note|indexing|class|feature|inherit|create|redefine)[ \t]*$|(?:deferred |expanded )?class[ \t]+[A-Z_]+|feature[ \t]+(?:--|\{))`,
    ],
    ["E", any(p`^\s*(def|var)\s+(.+):=`, p`^\s*(def|to)\s+(\w+)(\(.+\))?\s+\{`, p`^\s*(when)\s+(\(.+\))\s+->\s+\{`)],
    [
      "Eiffel",
      any(
        p`^\s*\w+\s*(?:,\s*\w+)*[:]\s*\w+\s`,
        p`^\s*\w+\s*(?:\(\s*\w+[:][^)]+\))?(?:[:]\s*\w+)?(?:--.+\s+)*\s+(?:do|local)\s`,
        p`^\s*(?:across|deferred|elseif|ensure|feature|from|inherit|inspect|invariant|note|once|require|undefine|variant|when)\s*$`,
      ),
    ],
    [
      "Euphoria",
      any(
        p`^\s*namespace\s`,
        p`^\s*(?:public\s+)?include\s`,
        p`^\s*(?:(?:public|export|global)\s+)?(?:atom|constant|enum|function|integer|object|procedure|sequence|type)\s`,
      ),
    ],
  ],
  ".ecl": [
    ["ECLiPSe", p`^[^#]+:-`],
    ["ECL", p`:=`],
  ],
  ".es": [
    ["Erlang", p`^\s*(?:%%|main\s*\(.*?\)\s*->)`],
    ["JavaScript", p`\/\/|["']use strict["']|export\s+default\s|\/\*(?:.|[\r\n])*?\*\/`],
  ],
  ".eslintrc": [["YAML", p`^[ \t]*(?:#|(?:[^/"\s:{}\[\]]|\/[^/*:\n])[^:\n]*:)`], ["JSON with Comments"]],
  ".ex": [
    [
      "Elixir",
      any(
        p`^\s*@moduledoc\s`,
        p`^\s*(?:cond|import|quote|unless)\s`,
        p`^\s*def(?:exception|impl|macro|module|protocol)[(\s]`,
      ),
    ],
    [
      "Euphoria",
      any(
        p`^\s*namespace\s`,
        p`^\s*(?:public\s+)?include\s`,
        p`^\s*(?:(?:public|export|global)\s+)?(?:atom|constant|enum|function|integer|object|procedure|sequence|type)\s`,
      ),
    ],
  ],
  ".f": [
    ["Forth", p`^: `],
    ["Filebench WML", p`flowop`],
    ["Fortran", p`^(?i:[c*][^abd-z]|      (subroutine|program|end|data)\s|\s*!)`],
  ],
  ".for": [
    ["Forth", p`^: `],
    ["Fortran", p`^(?i:[c*][^abd-z]|      (subroutine|program|end|data)\s|\s*!)`],
  ],
  ".fpp": [
    [
      "FPP",
      any(
        p`^\s*(active|passive|queued)\s+component\s`,
        p`^\s*(module|topology|struct|enum|port|interface)\s+[A-Za-z_$][A-Za-z0-9_]*\s*\{`,
        p`^\s*instance\s+[A-Za-z_$][A-Za-z0-9_]*\s*:`,
      ),
    ],
    ["Fortran", p`^(?i:[c*][^abd-z]|      (subroutine|program|end|data)\s|\s*!)`],
  ],
  ".fr": [
    ["Forth", p`^(: |also |new-device|previous )`],
    ["Frege", p`^\s*(import|module|package|data|type) `],
    ["Text"],
  ],
  ".frm": [
    ["VBA", p`^[ ]*VERSION [0-9]\.[0-9]{2}`, p`^\s*Begin\s+\{[0-9A-Z\-]*\}\s?`],
    ["Visual Basic 6.0", p`^[ ]*VERSION [0-9]\.[0-9]{2}`, p`^\s*Begin\s+VB\.Form\s+`],
    ["INI", p`\ATYPE=VIEW`],
    ["Visual Basic 6.0", p`(?i)^[ \t]*(?:Begin[ \t]+VB\.|VERSION[ \t]+[456]\.)`],
  ],
  ".fs": [
    ["Forth", p`^(: |new-device)`],
    ["F#", p`^\s*(#light|import|let|module|namespace|open|type)`],
    ["GLSL", p`^\s*(#version|precision|uniform|varying|vec[234])`],
    ["Filterscript", p`#include|#pragma\s+(rs|version)|__attribute__`],
    ["GLSL", p`^[ \t]*(?:(?:in|out)[ \t]+vec[234]\b)`],
  ],
  ".ftl": [
    [
      "FreeMarker",
      p`^(?:<|[a-zA-Z-][a-zA-Z0-9_-]+[ \t]+\w)|\$\{\w+[^\r\n]*?\}|^[ \t]*(?:<#--.*?-->|<#(?:[a-z]+)\s[^>]*>.*?</#(?:[a-z]+)>|\[#--.*?--\]|\[#(?:[a-z]+)\s[^\]]*\].*?\[#(?:[a-z]+)\])`,
    ],
    ["Fluent", p`^-?[a-zA-Z][a-zA-Z0-9_-]* *=|\{\$-?[a-zA-Z][-\w]*(?:\.[a-zA-Z][-\w]*)?\}`],
  ],
  ".g": [
    ["GAP", p`\s*(Declare|BindGlobal|KeyDependentOperation|Install(Method|GlobalFunction)|SetPackageInfo)`],
    ["G-code", p`^[MG][0-9]+(?:\r?\n|\r)`],
  ],
  ".gd": [
    ["GAP", p`\s*(Declare|BindGlobal|KeyDependentOperation)`],
    ["GDScript", p`\s*(extends|var|const|enum|func|class|signal|tool|yield|assert|onready)`],
  ],
  ".gml": [
    ["XML", p`(?i:^\s*(<\?xml|xmlns))`],
    ["Graph Modeling Language", p`(?i:^\s*(graph|node)\s+\[$)`],
    ["Gerber Image", p`^[DGMT][0-9]{2}\*$`],
    ["Game Maker Language"],
  ],
  ".gs": [
    ["GLSL", p`^#version\s+[0-9]+\b`],
    ["Gosu", p`^uses (java|gw)\.`],
    ["Genie", p`^\[indent=[0-9]+\]`],
  ],
  ".gsc": [
    [
      "GSC",
      any(
        p`^\s*#\s*(?:using|insert|include|define|namespace)[ \t]+\w`,
        p`^\s*((?:autoexec|private)\s+){0,2}function\s+((?:autoexec|private)\s+){0,2}\w+\s*\(`,
        p`\b(?:level|self)[ \t]+thread[ \t]+(?:\[\[[ \t]*(\w+\.)+[ \t]*\]\]|\w+)[ \t]*\([^\r\n\)]*\)[ \t]*;`,
        p`^[ \t]*#[ \t]*(?:precache|using_animtree)[ \t]*\(`,
      ),
    ],
  ],
  ".gsh": [
    [
      "GSC",
      any(
        p`^\s*#\s*(?:using|insert|include|define|namespace)[ \t]+\w`,
        p`^\s*((?:autoexec|private)\s+){0,2}function\s+((?:autoexec|private)\s+){0,2}\w+\s*\(`,
        p`\b(?:level|self)[ \t]+thread[ \t]+(?:\[\[[ \t]*(\w+\.)+[ \t]*\]\]|\w+)[ \t]*\([^\r\n\)]*\)[ \t]*;`,
        p`^[ \t]*#[ \t]*(?:precache|using_animtree)[ \t]*\(`,
      ),
    ],
  ],
  ".gts": [
    ["Gerber Image", p`^G0.`],
    ["Glimmer TS", no(p`^G0.`)],
  ],
  ".h": [
    [
      "Objective-C",
      p`^[ \t]*(?:@(?:interface|class|protocol|property|end|implementation|import|autoreleasepool)\b|#[ \t]*import[ \t]+["<])`,
    ],
    [
      "Objective-C",
      p`^\s*(@(interface|class|protocol|property|end|synchronised|selector|implementation)\b|#import\s+.+\.h[">])`,
    ],
    [
      "C++",
      any(
        p`^\s*#\s*include <(cstdint|string|vector|map|list|array|bitset|queue|stack|forward_list|unordered_map|unordered_set|(i|o|io)stream)>`,
        p`^\s*template\s*<`,
        p`^[ \t]*(try|constexpr)`,
        p`^[ \t]*catch\s*\(`,
        p`^[ \t]*(class|(using[ \t]+)?namespace)\s+\w+`,
        p`^[ \t]*(private|public|protected):$`,
        p`__has_cpp_attribute|__cplusplus >`,
        p`std::\w+`,
      ),
    ],
    [
      "C++",
      any(
        p`^[ \t]*(?:template[ \t]*<|(?:inline[ \t]+)?namespace(?:[ \t]+[\w:]+)?\s*\{|using[ \t]+(?:namespace[ \t]+)?[\w:]+[ \t]*[=;]|(?:public|private|protected):|class\s+(?:\w+\s+)?\w+\s*(?:final\s*)?[:;{]|\[\[nodiscard\]\]|(?:static[ \t]+|inline[ \t]+)*constexpr\b)`,
        p`^[ \t]*#[ \t]*include[ \t]*<(?:c?std\w*|[cs]string|vector|map|set|list|array|memory|utility|functional|algorithm|unordered_\w+|[io]*stream|optional|atomic|mutex|tuple|type_traits|concepts)>`,
        p`^[ \t]*(?:\[\[\w+\]\]|(?:virtual|explicit|friend)[ \t]+\w)|\b(?:operator[ \t]*(?:==|<<|\(\))|noexcept\b|nullptr\b)`,
      ),
    ],
    ["C"],
  ],
  ".hh": [["Hack", p`<\?hh`]],
  ".html": [
    [
      "Ecmarkup",
      p`<emu-(?:alg|annex|biblio|clause|eqn|example|figure|gann|gmod|gprose|grammar|intro|not-ref|note|nt|prodref|production|rhs|table|t|xref)(?:$|\s|>)`,
    ],
    ["HTML"],
  ],
  ".i": [
    [
      "Motorola 68K Assembly",
      any(
        p`(?i)\bmoveq(?:\.l)?\s+#(?:\$-?[0-9a-f]{1,3}|%[0-1]{1,8}|-?[0-9]{1,3}),\s*d[0-7]\b`,
        p`(?i)^\s*move(?:\.[bwl])?\s+(?:sr|usp),\s*[^\s]+`,
        p`(?i)^\s*move\.[bwl]\s+.*\b[ad]\d`,
        p`(?i)^\s*movem\.[bwl]\b`,
        p`(?i)^\s*move[mp](?:\.[wl])?\b`,
        p`(?i)^\s*btst\b`,
        p`(?i)^\s*dbra\b`,
      ),
    ],
    ["SWIG", p`^[ \t]*%[a-z_]+\b|^%[{}]$`],
    ["Assembly", any(p`(?i)mov\s+[^\s]+,`, p`^\s+(i?)db\s+[a-z\d]`)],
  ],
  ".ice": [["JSON", p`\A\s*[{\[]`], ["Slice"]],
  ".inc": [
    [
      "Motorola 68K Assembly",
      any(
        p`(?i)\bmoveq(?:\.l)?\s+#(?:\$-?[0-9a-f]{1,3}|%[0-1]{1,8}|-?[0-9]{1,3}),\s*d[0-7]\b`,
        p`(?i)^\s*move(?:\.[bwl])?\s+(?:sr|usp),\s*[^\s]+`,
        p`(?i)^\s*move\.[bwl]\s+.*\b[ad]\d`,
        p`(?i)^\s*movem\.[bwl]\b`,
        p`(?i)^\s*move[mp](?:\.[wl])?\b`,
        p`(?i)^\s*btst\b`,
        p`(?i)^\s*dbra\b`,
      ),
    ],
    ["PHP", p`^<\?(?:php)?`],
    [
      "SourcePawn",
      any(
        p`^public\s+(?:SharedPlugin(?:\s+|:)__pl_\w+\s*=(?:\s*\{)?|(?:void\s+)?__pl_\w+_SetNTVOptional\(\)(?:\s*\{)?)`,
        p`^methodmap\s+\w+\s+<\s+\w+`,
        p`^\s*MarkNativeAsOptional\s*\(`,
      ),
    ],
    [
      "NASL",
      any(
        p`^\s*include\s*\(\s*(?:"|')[\\/\w\-\.:\s]+\.(?:nasl|inc)\s*(?:"|')\s*\)\s*;`,
        p`^\s*(?:global|local)_var\s+(?:\w+(?:\s*=\s*[\w\-"']+)?\s*)(?:,\s*\w+(?:\s*=\s*[\w\-"']+)?\s*)*\s*;`,
        p`^\s*namespace\s+\w+\s*\{`,
        p`^\s*object\s+\w+\s*(?:extends\s+\w+(?:::\w+)?)?\s*\{`,
        p`^\s*(?:public\s+|private\s+|\s*)function\s+\w+\s*\([\w\s,]*\)\s*\{`,
      ),
    ],
    ["POV-Ray SDL", p`^\s*#(declare|local|macro|while)\s`],
    ["Pascal", any(p`(?i:^\s*\{\$(?:mode|ifdef|undef|define)[ ]+[a-z0-9_]+\})`, p`^\s*end[.;]\s*$`)],
    ["BitBake", p`^inherit(\s+[\w.-]+)+\s*$`],
    ["Assembly", any(p`^(?i)[^"m]*mov\s+[^\s]+,`, p`^\s+(?i)db\s+[a-z\d]`)],
    ["PHP", p`^[ \t]*<\?(?:php|=|\s)`],
    ["HTML", p`(?i)^[ \t]*<(?:!DOCTYPE|!--|/?[a-z]+[ \t>])`],
    [
      "C++",
      any(
        p`^[ \t]*#[ \t]*(?:if|ifdef|ifndef|include|define|undef|pragma|endif|error)\b`,
        p`^[ \t]*(?://|(?:static|const|struct|extern|namespace|template|class|enum)\b)|^[A-Z]\w+\([^)\n]*\)[ \t]*;?$|\w+::\w+`,
      ),
    ],
    [
      "SQL",
      p`(?i)^[ \t]*(?:select|insert[ \t]+into|create[ \t]+(?:table|procedure|function)|drop[ \t]+\w+|--(?:source|connection|echo|error|disable|enable|let|eval))\b`,
    ],
    ["BitBake", p`^(?:[A-Z_]+(?:[:_]\w+)*[ \t]*\?{0,2}[:+.]?=[ \t]*"|(?:do|python)_?\w*[ \t]*\([^)\n]*\)[ \t]*\{)`],
    [
      "Pascal",
      p`(?i)^[ \t]*(?:\{\$|unit\b|(?:procedure|function|constructor|destructor)[ \t]+[\w.]+[^\n]*;|\{[^\n]*\}[ \t]*$)`,
    ],
    [
      "SourcePawn",
      p`^[ \t]*(?:public[ \t]+Plugin|stock\b|native\b|methodmap\b|forward\b|#pragma[ \t]+(?:newdecls|semicolon))`,
    ],
    [
      "Assembly",
      p`(?i)^[ \t]*(?:;|%(?:define|macro|ifdef|ifndef|include)\b|\w+[ \t]+(?:equ|macro|proc)\b|\.(?:macro|globl|text|align)\b)`,
    ],
  ],
  ".j": [
    ["Jasmin", p`^\s*\.(?:class|super|method|end\s+method|limit|field|source|bytecode)\b`],
    ["Objective-J", p`^\s*@(?:import|implementation|protocol|interface|typedef|end)\b`],
    [
      "JASS",
      any(
        p`^\s*(?:constant\s+)?(?:function|native)\s+\w+\s+takes\b`,
        p`^\s*end(?:function|globals|loop)\s*$`,
        p`^\s*(?:call|set|local|exitwhen)\s+\S`,
      ),
    ],
  ],
  ".json": [["JSON"]],
  ".k": [
    ["KCL", any(p`^schema [A-Za-z0-9_-]+`, p`^\}$`, p`\s*\}\s*`)],
    ["KFramework", any(p`^requires\s+"[^"]+"$`, p`^syntax\s+\w+\s+::=.*`, p`^endmodule$`)],
  ],
  ".l": [
    ["Common Lisp", p`\(def(un|macro)\s`],
    ["Lex", p`^(%[%{}]xs|<.*>)`],
    ["Roff", p`^\.[A-Za-z]{2}(\s|$)`],
    ["PicoLisp", p`^\((de|class|rel|code|data|must)\s`],
  ],
  ".lean": [
    ["Lean", p`^import [a-z]`],
    ["Lean 4", p`^import [A-Z]`],
  ],
  ".lp": [
    [
      "Lambdapi",
      p`^\s*(?:opaque\s+symbol|symbol|rule|notation|constant|injective|require(?:\s+open)?|open|type|assert(?:not)?|compute)\b`,
    ],
    ["Linear Programming", p`(?i)^\s*(?:minimize|minimum|min|maximize|maximum|max)(?:\s+multi-objectives)?\s*$`],
    [
      "Answer Set Programming",
      any(
        p`^\s*#(?:include|const|program|script|show|minimize|maximize|heuristic|project|edge|theory|defined)\b`,
        p`^\s*(?:[A-Za-z_]\w*(?:\([^)]*\))?\s*:-|:-)\s[^.]*\.`,
        p`^\s*[a-z_][a-zA-Z0-9_]*(?:\([^)]*\))?\s*\.\s*$`,
      ),
    ],
  ],
  ".ls": [["LoomScript", p`^\s*package\s*[\w\.\/\*\s]*\s*\{`], ["LiveScript"]],
  ".lsp .lisp": [
    ["Common Lisp", p`^\s*\((?i:defun|in-package|defpackage) `],
    ["NewLisp", p`^\s*\(define `],
  ],
  ".m": [
    [
      "Objective-C",
      p`^\s*(@(interface|class|protocol|property|end|synchronised|selector|implementation)\b|#import\s+.+\.h[">])`,
    ],
    ["Mercury", p`:- module`],
    ["MUF", p`^: `],
    ["M", p`^\s*;`],
    ["Wolfram Language", p`\(\*`, p`\*\)$`],
    ["MATLAB", p`^\s*%`],
    ["Limbo", p`^\w+\s*:\s*module\s*\{`],
    ["Objective-C", p`^[ \t]*#[ \t]*(?:import|include|define|pragma|if)\b`],
    ["M", p`^[A-Za-z]\w*(?:\([^)\n]*\))?[ \t]+(?:;|(?:new|set|write|quit|do|kill)\b)`],
    ["Wolfram Language", p`\bBeginPackage\[|^\w+\[[^\]\n]*\][ \t]*:=`],
    ["MATLAB", p`^[ \t]*(?:function\b|classdef\b|clear\b|clc\b|close[ \t]+all\b|end;?[ \t]*$)|\.\.\.[ \t]*$`],
  ],
  ".m4": [["M4Sugar", any(p`AC_DEFUN|AC_PREREQ|AC_INIT`, p`^_?m4_`)], ["M4"]],
  ".mask": [["Unity3D Asset", p`tag:unity3d.com`]],
  ".mc": [
    ["Win32 Message File", p`(?i)^[ \t]*(\/\*\s*)?MessageId=|^\.$`],
    ["M4", p`^dnl|^divert\((?:-?\d+)?\)|^\w+\(\x60[^\r\n]*?'[),]`],
    ["Monkey C", p`\b(?:using|module|function|class|var)\s+\w`],
  ],
  ".md": [
    ["Markdown", any(p`(^[-A-Za-z0-9=#!\*\[|>])|<\/`, p`\A\z`)],
    ["GCC Machine Description", p`^(;;|\(define_)`],
    ["Markdown"],
  ],
  ".ml": [
    ["OCaml", p`(^\s*module)|let rec |match\s+(\S+\s)+with`],
    ["Standard ML", p`=> |case\s+(\S+\s)+of`],
    ["Standard ML", p`^[ \t]*(?:structure[ \t]+\w+[ \t]*=|fun[ \t]+\w+[^=\n]*=|functor\b)`],
  ],
  ".mod": [
    ["XML", p`<!ENTITY `],
    ["NMODL", p`\b(NEURON|INITIAL|UNITS)\b`],
    ["Modula-2", p`^\s*(?i:MODULE|END) [\w\.]+;`],
    ["Modula-2", p`^[ \t]*(?:(?:DEFINITION|IMPLEMENTATION)[ \t]+)?MODULE[ \t]+\w+`],
    ["NMODL", p`^[ \t]*(?:PARAMETER|BREAKPOINT|STATE|ASSIGNED|NET_RECEIVE)[ \t]*(?:\(\w+\)[ \t]*)?\{`],
    ["AMPL", p`^[ \t]*(?:param|var|set|minimize|maximize|subject[ \t]+to)[ \t]+\w`],
  ],
  ".mojo": [
    ["Mojo", p`^\s*(alias|def|from|fn|import|struct|trait)\s`],
    ["XML", p`^\s*<\?xml`],
  ],
  ".mps": [
    ["JetBrains MPS", p`<persistence`],
    ["Mathematical Programming System", p`(?i)^\s*(ROWS|COLUMNS)\s*$`],
  ],
  ".ms": [
    ["Roff", p`^[.'][A-Za-z]{2}(\s|$)`],
    ["Unix Assembly", no(p`/\*`), p`^\s*\.(?:include\s|globa?l\s|[A-Za-z][_A-Za-z0-9]*:)`],
    ["MiniScript", p`^\s*\bend (?:function|while|if|for)\b|\s\b(?:isa)\b\s`],
    ["Unix Assembly", p`^[ \t]*\.(?:text|globl|data|align|section)\b`],
    ["MAXScript"],
  ],
  ".msg": [
    [
      "OMNeT++ MSG",
      p`^cplusplus\(?[\S]*\)?[\s]*\{?\{?|^namespace[\s]+([^.\s]*\.)*[^.\s]*;|^struct[\s]+[\S]+|^message[\s]+[\S]+(extends )?[\S]*[\s]*|^packet[\s]+[\S]+|^class[\s]+[\S]+(extends )?[\S]*[\s]*|^enum[\s]+[\S]+|^import ([^.\s]*\.)*[^.\s]*;`,
    ],
    ["ROS Interface", p`(?i)^[a-z]\w*(?:\/[a-z]\w*)?(?:<=\d+)?(?:\[(?:<=\d+)?\])?\s+\w+\b`, no(p`^\s*[^\s@#\w-]`)],
  ],
  ".n": [
    ["Roff", p`^[.']`],
    ["Nemerle", p`^(module|namespace|using)\s`],
  ],
  ".ncl": [
    ["XML", p`^\s*<\?xml\s+version`],
    ["Gerber Image", p`^[DGMT][0-9]{2}\*(?:\r?\n|\r)`],
    [
      "Nickel",
      any(p`^let(?:\srec)?(?:\s[a-zA-Z_][a-zA-Z0-9_]*)?`, p`^import\s"[^"]+"\s+as\s`, p`std\.[a-zA-Z_][a-zA-Z0-9_]*\.`),
    ],
    ["Text", p`THE_TITLE`],
    ["NCL", any(p`^load "`, p`^begin$`, p`[0-9]\.$`, p`^;`)],
  ],
  ".nl": [["NL", p`^(b|g)[0-9]+ `], ["NewLisp"]],
  ".nr": [["Roff", p`^\.`], ["Noir"]],
  ".nu": [["Nushell", p`^\s*(import|export|module|def|let|let-env) `], ["Nu"]],
  ".odin": [
    ["Object Data Instance Notation", p`(?:^|<)\s*[A-Za-z0-9_]+\s*=\s*<`],
    ["Odin", p`package\s+\w+|\b(?:im|ex)port\s*"[\w:./]+"|\w+\s*::\s*(?:proc|struct)\s*\(|^\s*//\s`],
  ],
  ".p": [
    ["Gnuplot", any(p`^s?plot\b`, p`^set\s+(term|terminal|out|output|[xy]tics|[xy]label|[xy]range|style)\b`)],
    [
      "OpenEdge ABL",
      any(
        p`(?i)\bDEFINE\s+(?:VARIABLE|TEMP-TABLE|BUFFER|QUERY|INPUT\s+PARAMETER|OUTPUT\s+PARAMETER)\b`,
        p`(?i)\bEND(?:\s+(?:PROCEDURE|FUNCTION|DO|FOR\s+EACH))?\.`,
      ),
    ],
  ],
  ".pc": [
    ["Pro*C", p`^\s*EXEC\s+SQL\s`],
    ["pkg-config", p`^Name:[ \t]+\S`, p`^Description:[ \t]+\S`, p`^Version:[ \t]+\S`],
  ],
  ".php": [
    ["Hack", p`<\?hh`],
    ["PHP", p`<\?[^h]`],
  ],
  ".pkl": [
    [
      "Pkl",
      any(
        p`^\s*(module|import|amends|extends|local|const|fixed|abstract|open|class|typealias|@\w+)\b`,
        p`^\s*[a-zA-Z0-9_$]+\s*(=|{|:)|^\s*\x60[^\x60]+\x60\s*(=|{|:)|for\s*\(|when\s*\(`,
      ),
    ],
    ["Pickle"],
  ],
  ".pl": [
    ["Prolog", p`^[^#]*:-`],
    [
      "Perl",
      no(p`^\s*use\s+v6\b`),
      any(
        p`\buse\s+(?:strict\b|v?5\b)`,
        p`^\s*use\s+(?:constant|overload)\b`,
        p`^\s*(?:\*|(?:our\s*)?@)EXPORT\s*=`,
        p`^\s*package\s+[^\W\d]\w*(?:::\w+)*\s*(?:[;{]|\sv?\d)`,
        p`[\s$][^\W\d]\w*(?::\w+)*->[a-zA-Z_\[({]`,
      ),
    ],
    ["Raku", p`^\s*(?:use\s+v6\b|\bmodule\b|\b(?:my\s+)?class\b)`],
    [
      "Perl",
      p`^[ \t]*(?:use[ \t]+(?:strict|warnings|v?5|[A-Z]\w*::)|package[ \t]+[\w:]+;|sub[ \t]+\w+[ \t]*\{|(?:my|our|local)[ \t]*[$@%(])`,
    ],
    ["Prolog", p`^(?::-|%|[a-z]\w*(?:\([^)\n]*\))?[ \t]*(?::-|\.[ \t]*$))`],
  ],
  ".plist": [
    ["OpenStep Property List", p`\A\s*[{(]`],
    [
      "XML Property List",
      p`^\s*(?:<\?xml\s|<!DOCTYPE\s+plist|<plist(?:\s+version\s*=\s*["']\d+(?:\.\d+)?["'])?\s*>\s*$)`,
    ],
    ["OpenStep Property List"],
  ],
  ".plt": [["Prolog", p`^\s*:-`]],
  ".pm": [
    [
      "Perl",
      no(p`^\s*use\s+v6\b`),
      any(
        p`\buse\s+(?:strict\b|v?5\b)`,
        p`^\s*use\s+(?:constant|overload)\b`,
        p`^\s*(?:\*|(?:our\s*)?@)EXPORT\s*=`,
        p`^\s*package\s+[^\W\d]\w*(?:::\w+)*\s*(?:[;{]|\sv?\d)`,
        p`[\s$][^\W\d]\w*(?::\w+)*->[a-zA-Z_\[({]`,
      ),
    ],
    ["Raku", p`^\s*(?:use\s+v6\b|\bmodule\b|\b(?:my\s+)?class\b)`],
    ["X PixMap", p`^\s*\/\* XPM \*\/`],
  ],
  ".pod": [["Pod 6", p`^[ \t]*=(comment|begin pod|begin para|item\d+)`], ["Pod"]],
  ".pp": [
    ["Pascal", p`^\s*end[.;]`],
    ["Puppet", p`^\s+\w+\s+=>\s`],
    ["Pascal", p`(?i)^[ \t]*(?:unit|program|interface|implementation|uses|begin|procedure|type)\b[^{]*$`],
  ],
  ".pro": [
    ["Proguard", p`^-(include\b.*\.pro$|keep\b|keepclassmembers\b|keepattributes\b)`],
    ["Prolog", p`^[^\[#]+:-`],
    ["INI", p`last_client=`],
    ["QMake", p`HEADERS`, p`SOURCES`],
    ["IDL", p`^\s*(?i:function|pro|compile_opt) \w[ \w,:]*$`],
    ["Prolog", p`^[a-z]\w*(?:\([^)\n]*\))?[ \t]*:-|^:-`],
    ["Proguard", p`^-(?:keep|dont|optimization|libraryjars|assume)`],
    ["IDL", p`(?i)^[ \t]*(?:PRO|FUNCTION)[ \t]+\w+`],
    ["QMake", p`^[ \t]*(?:QT|TEMPLATE|TARGET|SOURCES|HEADERS|CONFIG|SUBDIRS|include)\b`],
    ["INI", p`^\[[^\]\n]+\][ \t]*$`],
  ],
  ".properties": [
    ["INI", p`^[^#!;][^=]*=`, p`^[;\[]`],
    ["Java Properties", p`^[^#!;][^=]*=`, p`^[#!]`],
    ["INI", p`^[^#!;][^=]*=`],
    ["Java Properties", p`^[^#!][^:]*:`],
  ],
  ".q": [
    ["q", p`((?i:[A-Z.][\w.]*:\{)|^\\(cd?|d|l|p|ts?) )`],
    ["HiveQL", p`(?i:SELECT\s+[\w*,]+\s+FROM|(CREATE|ALTER|DROP)\s(DATABASE|SCHEMA|TABLE))`],
  ],
  ".qs": [
    ["Q#", p`^((\/{2,3})?\s*(namespace|operation)\b)`],
    ["Qt Script", p`(\w+\.prototype\.\w+|===|\bvar\b)`],
  ],
  ".r": [
    ["Rebol", p`(?i:\bRebol\b)`],
    [
      "Rez",
      p`(#include\s+["<](Types\.r|Carbon\/Carbon\.r)[">])|((resource|data|type)\s+'[A-Za-z0-9]{4}'\s+((\(.*\)\s+){0,1}){)`,
    ],
    ["R", p`<-|^\s*#`],
    ["Rez", p`^[ \t]*(?:resource|data|type)[ \t]+'[^'\n]{4}'`],
  ],
  ".re": [
    [
      "Reason",
      any(
        p`^\s*module\s+type\s`,
        p`^\s*(?:include|open)\s+\w+\s*;\s*$`,
        p`^\s*let\s+(?:module\s\w+\s*=\s*\{|\w+:\s+.*=.*;\s*$)`,
      ),
    ],
    ["C++", any(p`^\s*#(?:(?:if|ifdef|define|pragma)\s+\w|\s*include\s+<[^>]+>)`, p`^\s*template\s*<`)],
    ["C++", p`^[ \t]*(?:/\*!re2c|//|#[ \t]*include)`],
  ],
  ".releaserc": [["YAML", p`^[ \t]*(?:#|(?:[^/"\s:{}\[\]]|\/[^/*:\n])[^:\n]*:)`], ["JSON"]],
  ".res": [["ReScript", any(p`^\s*(let|module|type)\s+\w*\s+=\s+`, p`^\s*(?:include|open)\s+\w+\s*$`)]],
  ".resource": [["RobotFramework", p`^\*{3} (Settings|Variables|Keywords) \*{3}$`]],
  ".rno": [
    [
      "RUNOFF",
      p`(?i:^\.!|^\f|\f$|^\.end lit(?:eral)?\b|^\.[a-zA-Z].*?;\.[a-zA-Z](?:[; \t])|\^\*[^\s*][^*]*\\\*(?:$|\s)|^\.c;[ \t]*\w+)`,
    ],
    ["Roff", p`^\.\\" `],
  ],
  ".rpy": [["Python", p`^(import|from|class|def)\s`], ["Ren'Py"]],
  ".rs": [
    ["Rust", p`^(use |fn |mod |pub |macro_rules|impl|#!?\[)`],
    ["RenderScript", p`#include|#pragma\s+(rs|version)|__attribute__`],
    ["XML", p`^\s*<\?xml`],
  ],
  ".s": [
    ["Unix Assembly", p`(?i:mov[lq]?)\s+[%\$]`],
    ["Assembly", p`(?i:mov)\s+[^\s%]{2,},`],
    [
      "Motorola 68K Assembly",
      any(
        p`(?i)\bmoveq(?:\.l)?\s+#(?:\$-?[0-9a-f]{1,3}|%[0-1]{1,8}|-?[0-9]{1,3}),\s*d[0-7]\b`,
        p`(?i)^\s*move(?:\.[bwl])?\s+(?:sr|usp),\s*[^\s]+`,
        p`(?i)^\s*move\.[bwl]\s+.*\b[ad]\d`,
        p`(?i)^\s*movem\.[bwl]\b`,
        p`(?i)^\s*move[mp](?:\.[wl])?\b`,
        p`(?i)^\s*btst\b`,
        p`(?i)^\s*dbra\b`,
      ),
    ],
  ],
  ".sc": [
    ["SuperCollider", p`(?i:\^(this|super)\.|^\s*~\w+\s*=\.)`],
    ["Scala", p`(^\s*import (scala|java)\.|^\s*class\b)`],
  ],
  ".scd": [
    ["SuperCollider", p`(?i:\^(this|super)\.|^\s*(~\w+\s*=\.|SynthDef\b))`],
    ["Markdown", p`^#+\s+(NAME|SYNOPSIS|DESCRIPTION)`],
  ],
  ".scm": [
    [
      "Tree-sitter Query",
      any(
        p`\(#[\w-]+[!\?]`,
        p`(?:[\)\]]\s*[\*\+\?](?:\s|$))`,
        p`(?:^\s*\w+:\s*[\(\[\"])`,
        p`\(#(?:set!|(?:not-)?(?:any-of|match)\?)`,
        p`@[\w.-]+(?:\)\s|$)`,
      ),
      no(p`\([+\-:<>\/=~\)]`),
    ],
    [
      "Scheme",
      any(
        p`(?:'[\(\*#]|\w->\w|\.\.\.[\s\)]|\([+\-:<>\/=~\)]|~>|[#\x60]\(|#:\w)`,
        p`^\s*\((?:define\*?|import|library|lambda)`,
      ),
      no(p`\(#[\w-]+[!\?]`),
      no(p`(?:[\)\]]\s*[\*\+\?](?:\s|$))`),
      no(p`@[\w.-]+(?:\)\s|$)`),
    ],
  ],
  ".sol": [
    [
      "Solidity",
      p`\bpragma\s+solidity\b|\b(?:abstract\s+)?contract\s+[a-zA-Z$_][a-zA-Z0-9$_]*(?:\s+is\s+(?:[a-zA-Z0-9$_][^\{]*?)?)?\s*\{`,
    ],
    ["Gerber Image", p`^[DGMT][0-9]{2}\*(?:\r?\n|\r)`],
  ],
  ".sql": [
    ["PLpgSQL", p`(?i:^\\i\b|AS\s+\$\$|LANGUAGE\s+'?plpgsql'?|BEGIN(\s+WORK)?\s*;)`],
    ["SQLPL", p`(?i:ALTER\s+MODULE|MODE\s+DB2SQL|\bSYS(CAT|PROC)\.|ASSOCIATE\s+RESULT\s+SET|\bEND!\s*$)`],
    [
      "PLSQL",
      p`(?i:\$\$PLSQL_|XMLTYPE|systimestamp|\.nextval|CONNECT\s+BY|AUTHID\s+(DEFINER|CURRENT_USER)|constructor\W+function)`,
    ],
    ["TSQL", p`(?i:^\s*GO\b|BEGIN(\s+TRY|\s+CATCH)|OUTPUT\s+INSERTED|DECLARE\s+@|\[dbo\])`],
    [
      "TSQL",
      p`(?i)^[ \t]*(?:set[ \t]+(?:ansi_nulls|quoted_identifier|nocount)[ \t]+on|use[ \t]+\[|print[ \t]+N?'|exec(?:ute)?[ \t]+sp_)|\bnvarchar\b|\bvarchar[ \t]*\(max\)|\bidentity[ \t]*\(\d`,
    ],
    [
      "PLSQL",
      p`(?i)\bvarchar2\b|^[ \t]*create[ \t]+(?:or[ \t]+replace[ \t]+)?package\b|%rowtype\b|\bdbms_\w+\.|^/[ \t]*$`,
    ],
    ["PLpgSQL", p`(?i)\bas[ \t]+\$\w+\$|\bas\s+\$\$|\breturns[ \t]+(?:trigger|setof)\b`],
    ["SQL"],
  ],
  ".srt": [["SubRip Text", p`^(\d{2}:\d{2}:\d{2},\d{3})\s*(-->)\s*(\d{2}:\d{2}:\d{2},\d{3})$`]],
  ".srv": [
    [
      "ROS Interface",
      p`(?i)^[a-z]\w*(?:\/[a-z]\w*)?(?:<=\d+)?(?:\[(?:<=\d+)?\])?\s+\w+\b`,
      p`^---\s*$`,
      no(p`^\s*[^\s@#\w-]`),
    ],
  ],
  ".st": [
    ["StringTemplate", p`\$\w+[($]|.!\s*.+?\s*!.|<!\s*.+?\s*!>|\[!\s*.+?\s*!\]|\{!\s*.+?\s*!\}`],
    [
      "Smalltalk",
      p`\A\s*[\[{(^"'\w#]|[a-zA-Z_]\w*\s*:=\s*[a-zA-Z_]\w*|class\s*>>\s*[a-zA-Z_]\w*|^[a-zA-Z_]\w*\s+[a-zA-Z_]\w*:|^Class\s*\{|if(?:True|False):\s*\[`,
    ],
  ],
  ".star": [["STAR", p`^loop_\s*$`], ["Starlark"]],
  ".stl": [["STL", p`\A\s*solid(?:$|\s)[\s\S]*^endsolid(?:$|\s)`]],
  ".svx": [["Survex data", p`\A(;|\*[^*]+$)`], ["mdsvex"]],
  ".sw": [
    ["Sway", p`^\s*(?:(?:abi|dep|fn|impl|mod|pub|trait)\s|#\[)`],
    ["XML", p`^\s*<\?xml\s+version`],
  ],
  ".t": [
    [
      "Perl",
      no(p`^\s*use\s+v6\b`),
      any(
        p`\buse\s+(?:strict\b|v?5\b)`,
        p`^\s*use\s+(?:constant|overload)\b`,
        p`^\s*(?:\*|(?:our\s*)?@)EXPORT\s*=`,
        p`^\s*package\s+[^\W\d]\w*(?:::\w+)*\s*(?:[;{]|\sv?\d)`,
        p`[\s$][^\W\d]\w*(?::\w+)*->[a-zA-Z_\[({]`,
      ),
    ],
    ["Raku", p`^\s*(?:use\s+v6\b|\bmodule\b|\bmy\s+class\b)`],
    ["Turing", p`^\s*%[ \t]+|^\s*var\s+\w+(\s*:\s*\w+)?\s*:=\s*\w+`],
    ["Raku", p`^[ \t]*(?:#![^\n]*\b(?:raku|perl6)\b|use[ \t]+v6|plan[ \t]+\d+;[ \t]*$)`],
  ],
  ".tact": [["JSON", p`\A\s*\{\"`], ["Tact"]],
  ".tag": [["Java Server Pages", p`<%[@!=\s]?\s*(taglib|tag|include|attribute|variable)\s`]],
  ".tl": [["Teal", p`--.*`, p`\b(local|function|end|record|interface|enum)\b`], ["Type Language"]],
  ".tlv": [["TL-Verilog", p`^\\.{0,10}TLV_version`]],
  ".toc": [
    ["World of Warcraft Addon Data", p`^## |@no-lib-strip@`],
    ["TeX", p`^\\(contentsline|defcounter|beamer|boolfalse)`],
  ],
  ".tpl": [["Go Template", p`\{\{-?\s*(\x60?\"\\?\"?|\/\*\s|\w*)\b`]],
  ".ts": [["XML", p`<TS\b`], ["TypeScript"]],
  ".tsp": [
    ["TypeSpec", p`^(import|using|namespace|interface|op|model|scalar|alias|union|enum)\s`],
    ["TSPLIB data", p`^(NAME|TYPE|DIMENSION|EDGE_WEIGHT_TYPE|EDGE_WEIGHT_FORMAT)\s*:`],
  ],
  ".tst": [["GAP", p`gap> `], ["Scilab"]],
  ".tsx": [["XML", p`(?i:^\s*<\?xml\s+version)`], ["TSX"]],
  ".txt": [["Adblock Filter List", p`\A\[(?:[Aa]d[Bb]lock|u[Bb]lock|[Aa]d[Gg]uard)\b`], ["Text"]],
  ".typ": [["Typst", p`^#(import|show|let|set)`], ["XML"]],
  ".uc": [
    [
      "ucode",
      any(
        p`^#!.*\bucode\b`,
        p`^\s*['"]use strict['"];`,
        p`^[ \t]*(?:export|import)\b`,
        p`\b(?:require|include)\s*\(\s*['"]`,
        p`^\s*let\s+\w+`,
        p`\b(?:printf|sprintf)\s*\(`,
      ),
    ],
    ["UnrealScript"],
  ],
  ".url": [["INI", p`^\[InternetShortcut\](?:\r?\n|\r)([^\s\[][^\r\n]*(?:\r?\n|\r)){0,20}URL=`]],
  ".v": [
    ["Rocq Prover", p`(?:^|\s)(?:Proof|Qed)\.(?:$|\s)|(?:^|\s)Require[ \t]+(Import|Export)\s`],
    [
      "Verilog",
      p`^[ \t]*module\s+[^\s()]+\s*\#?\(|^[ \t]*\x60(?:define|ifdef|ifndef|include|timescale|pragma)|^[ \t]*always[ \t]*@|^[ \t]*initial[ \t]*(begin|@)`,
    ],
    ["V", p`\$(?:if|else)[ \t]|^[ \t]*fn\s+[^\s()]+\(.*?\).*?\{|^[ \t]*for\s*\{`],
    ["Verilog", p`^[ \t]*(?:\x60[a-z]|endmodule\b|module\s+\w+\s*[#(;]|always[ \t]*@|(?:input|output|wire|reg)\b)`],
    [
      "Rocq Prover",
      p`^[ \t]*(?:(?:From[ \t]+\S+[ \t]+)?Require\b|(?:Local[ \t]+|Global[ \t]+)?(?:Import|Export|Section|Module|Theorem|Lemma|Definition|Fixpoint|Inductive|Record|Notation|Ltac)[ \t]|(?:Proof|Qed)\.)`,
    ],
    [
      "V",
      p`^[ \t]*(?:(?:pub[ \t]+)?(?:fn[ \t]+[\w(]|struct[ \t]+\w+[ \t]*\{|enum[ \t]+\w+[ \t]*\{)|(?:import|module)[ \t]+[\w.]+[ \t]*$)`,
    ],
  ],
  ".vba": [["Vim script", p`^UseVimball`], ["VBA"]],
  ".vcf": [
    ["TSV", p`\A##fileformat=VCF`],
    ["vCard", p`\ABEGIN:VCARD`],
  ],
  ".w": [
    ["OpenEdge ABL", p`&ANALYZE-SUSPEND _UIB-CODE-BLOCK _CUSTOM _DEFINITIONS`],
    ["CWeb", p`^@(<|\w+\.)`],
  ],
  ".x": [
    ["DirectX 3D File", p`^xof 030(2|3)(?:txt|bin|tzip|bzip)\b`],
    ["RPC", p`\b(program|version)\s+\w+\s*\{|\bunion\s+\w+\s+switch\s*\(`],
    ["Logos", p`^%(end|ctor|hook|group)\b`],
    ["Linker Script", p`OUTPUT_ARCH\(|OUTPUT_FORMAT\(|SECTIONS`],
    ["RPC", p`^[ \t]*(?:program|version|struct|union|const|typedef|enum)[ \t]+\w+|^%#`],
  ],
  ".yaml .yml": [["MiniYAML", p`^\t+.*?[^\s:].*?:`, no(p`---`)], ["YAML"]],
  ".yy": [["JSON", p`\A\s*[{\[]`], ["Yacc"]],
  ".sch": [["KiCad Schematic", p`\(kicad_sch\b|^EESchema Schematic File`]],
  ".cue": [["Cue Sheet", p`^[ \t]*(?:FILE[ \t]+".*"[ \t]+\w+|TRACK[ \t]+\d+[ \t]+\w+)`]],
  ".jq": [["JSONiq", p`^[ \t]*(?:jsoniq version|xquery version|let \$|for \$|declare (?:function|variable))`]],
  ".ks": [
    [
      "Kickstart",
      p`^(?:%(?:packages|post|pre|end|include|addon|ksappend)\b|(?:lang|keyboard|timezone|rootpw|clearpart|autopart|bootloader|repo|url|auth|authconfig|part|network)[ \t]+-?)`,
    ],
  ],
  ".trigger": [["Apex", p`(?i)^[ \t]*trigger[ \t]+\w+[ \t]+on[ \t]+\w+`]],
  ".vhost": [["Nginx", p`^[ \t]*(?:server|location|upstream)\b[^\n]*\{`]],
  ".mo": [
    [
      "Modelica",
      p`^[ \t]*(?:within\b|(?:partial[ \t]+|encapsulated[ \t]+)?(?:model|package|class|block|connector|function|record)[ \t]+\w+[ \t]*(?:"|$|;)|equation[ \t]*$|end[ \t]+\w+;)`,
    ],
  ],
  ".nas": [["Nasal", p`^[ \t]*(?:var[ \t]+\w+[ \t]*=|#)`]],
  ".cfg": [["HAProxy", p`^(?:global|defaults|frontend[ \t]+\S+|backend[ \t]+\S+|listen[ \t]+\S+)[ \t]*$`]],
};

interface Rules {
  readonly rules: readonly Rule[];
  /** Matches where any of the conditions that are not negated does: most files satisfy none. */
  readonly anyClue: TextPattern;
}

const rulesOf: ReadonlyMap<string, Rules> = new Map(
  Object.entries(rulesByKeys).flatMap(([keys, rules]) => {
    const clues = rules.flatMap(([, ...conditions]) => conditions.filter(({ isNegated }) => !isNegated));
    const known: Rules = { rules, anyClue: TextPattern.union(clues.map(({ pattern }) => pattern)) };
    return keys.split(" ").map((key) => [key, known] as const);
  }),
);

const xml = new TextPattern(
  String.raw`^(?:\xef\xbb\xbf)?\s*<(?:\?xml|!DOCTYPE|!--|[A-Za-z][\w:.-]*(?:>|/>|[ \t]+[\w:.-]+=))`,
);

/**
 * The language that the first bytes of a file indicate among the languages of its extension or name, if any. `head` is
 * Latin-1, or bytes if they are ASCII; its lines are ended by line feeds.
 */
export function chooseByHead(
  key: string,
  candidates: readonly { readonly name: string }[],
  head: string | Buffer,
): string | undefined {
  const isCandidate = (language: string): boolean => candidates.some(({ name }) => name === language);
  if (isCandidate("XML") && xml.test(head)) return "XML";
  const known = rulesOf.get(key);
  if (known === undefined) return undefined;
  const hasClue = known.rules.length === 1 || known.anyClue.test(head);
  const holds = ([language, ...conditions]: Rule): boolean =>
    isCandidate(language) &&
    conditions.every(({ pattern, isNegated }) => (isNegated || hasClue) && pattern.test(head) !== isNegated);
  return known.rules.find(holds)?.[0];
}
