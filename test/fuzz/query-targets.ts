import { TrawlError } from "../../src/base/errors.js";
import { includeGlob, excludeGlob } from "../../src/git/mirror/ref-glob.js";
import { refGlobProblem, revisionProblem, splitRange } from "../../src/model/revision-syntax.js";
import { choosePatternType } from "../../src/query/syntax/parse.js";
import { parseRevisionSpec } from "../../src/query/plan/repository-filter.js";
import { analyseRegexp } from "../../src/regexp/analysis/analyse.js";
import { parseRegexp } from "../../src/regexp/syntax/parse.js";
import { toPlainForm } from "../../src/regexp/analysis/plain-form.js";
import { printSource } from "../../src/regexp/syntax/print.js";
import { outcomeOf, pieces, types } from "../support/query-outcome.js";
import { makeText, type Vocabulary } from "./inputs.js";
import type { FuzzTarget } from "./runner.js";

const query: Vocabulary = {
  pieces,
  samples: [
    'repo:^github\\.com/a/b$@main file:\\.go$ lang:go (foo or bar) -content:"x y" count:all timeout:5s',
    "/(a|b)+c?/ case:yes select:repo",
    "repo:has.path(src/.*) file:has.content(TODO) rev:at.time(2024-01-01)",
    'foo bar and not (baz or "quoted text")',
    "context:global r:a f:b -f:c type:path patterntype:regexp ^func .*$",
    'repo:has.meta(a:b) repo:has.topic(x) author:x before:"last week"',
  ],
  lengthMax: 65_536,
};

const regexp: Vocabulary = {
  pieces: [
    "a",
    "b",
    "é",
    "\u{1f600}",
    ".",
    "*",
    "+",
    "?",
    "{2}",
    "{1,3}",
    "{0,1000}",
    "{,",
    "(",
    ")",
    "(?:",
    "(?i)",
    "(?i:",
    "(?s)",
    "(?m:",
    "(?P<n>",
    "(?<n>",
    "(?U)",
    "|",
    "^",
    "$",
    "\\b",
    "\\B",
    "\\A",
    "\\z",
    "\\d",
    "\\W",
    "\\pL",
    "\\p{Greek}",
    "\\P{^Lu}",
    "[",
    "]",
    "[^",
    "[a-z]",
    "[[:alpha:]]",
    "[[:^space:]]",
    "-",
    "\\",
    "\\x41",
    "\\x{10ffff}",
    "\\x{",
    "\\Q",
    "\\E",
    "\\n",
    "\\.",
    "\\/",
    "\\1",
    "\\C",
    "\\u0041",
    "k",
    "s",
    "K",
  ],
  samples: [
    "^drivers/.*\\.c$",
    "(?i)foo|bar[a-z0-9_]{2,5}",
    "\\b(func|type)\\s+\\w+\\(",
    "[\\w.-]+@[\\w.-]+",
    "(?s:a.*b)$",
    "\\Qa.b\\E+",
  ],
  lengthMax: 65_536,
};

const revision: Vocabulary = {
  pieces: [
    "a",
    "main",
    "HEAD",
    "refs/",
    "refs/heads/",
    "*",
    "?",
    "[",
    "]",
    "[a-z]",
    "[!",
    "\\",
    "^",
    "~",
    "~3",
    "^{",
    "}",
    "^{commit}",
    "^{/",
    "@{",
    "@{1}",
    "@{upstream}",
    ":",
    ":/",
    "..",
    "...",
    "!",
    "-",
    "é",
    "\0",
    "\n",
    " ",
  ],
  samples: [
    "refs/heads/v1.*",
    "main~3^2",
    "*refs/heads/*",
    "*!refs/heads/release-[0-9]*",
    "v1.2.3^{commit}",
    "0123456789012345678901234567890123456789",
  ],
  lengthMax: 8192,
};

/** What a client is to be told is no failure. */
export function allowing(codes: readonly string[], run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!(error instanceof TrawlError) || !codes.includes(error.code)) throw error;
  }
}

export const queryTargets: readonly FuzzTarget[] = [
  {
    // As one regexp of 64 KiB does.
    name: "query",
    cpuMsMax: 1000,
    testCount: 300,
    make: (random) => Buffer.concat([Buffer.from([random(types.length)]), makeText(random, query)]),
    run: (input) => {
      const text = input.toString("utf8", 1);
      outcomeOf(text, types[(input[0] ?? 0) % types.length]);
      choosePatternType(text, "V3", "keyword");
    },
  },
  {
    // Analysing 64 KiB takes 200 to 400 ms, in proportion to the length.
    name: "regexp",
    cpuMsMax: 1000,
    testCount: 300,
    make: (random) => Buffer.concat([Buffer.from([random(2)]), makeText(random, regexp)]),
    run: (input) =>
      allowing(["bad-query"], () => {
        const foldCase = input[0] === 1;
        const source = input.toString("utf8", 1);
        const parsed = parseRegexp(source, foldCase);
        analyseRegexp(source, foldCase);
        toPlainForm(source, foldCase)?.test("drivers/net/a.c");
        parseRegexp(printSource(parsed, foldCase), foldCase);
      }),
  },
  {
    name: "revision",
    cpuMsMax: 100,
    testCount: 400,
    make: (random) => makeText(random, revision),
    run: (input) => {
      const text = input.toString();
      parseRevisionSpec(text);
      splitRange(text);
      if (revisionProblem(text) === null && /[\0-\x20:*?[\\]|\.\.|@\{|\^\{\/|^-/.test(text))
        throw new RangeError("git would take it for more than a revision");
      if (refGlobProblem(text) !== null) return;
      includeGlob(text)("refs/heads/main");
      excludeGlob(text)("refs/tags/v1.0");
    },
  },
];
