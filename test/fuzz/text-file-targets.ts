import {
  checkSettings,
  editedSettings,
  mergedSettings,
  settingsValues,
} from "../../src/account/settings/settings-text.js";
import { CodeOwners, readOwner } from "../../src/eval/people/code-owners.js";
import { detectLanguage } from "../../src/indexer/detect-language.js";
import { parseSubmodules } from "../../src/git/objects/gitmodules.js";
import { makeText, pick, type Vocabulary } from "./inputs.js";
import { allowing } from "./query-targets.js";
import type { FuzzTarget } from "./runner.js";

const codeOwners: Vocabulary = {
  pieces: [
    "*",
    "**",
    "/",
    "?",
    "[",
    "]",
    "!",
    "\\",
    "\\ ",
    " ",
    "\t",
    "\n",
    "\r\n",
    "#",
    "@a",
    "@a/b",
    "a@b.c",
    "docs",
    ".js",
    "a",
    "é",
    "[Section]",
    "^",
  ],
  samples: [
    "* @everyone\n/docs/ @a @b/c\n*.js a@b.c\nsrc/**/x.c @d # comment\n",
    "[Section][2] @a\n/a\\ b @c\n**/y @z\n",
  ],
  lengthMax: 65_536,
};

const submodules: Vocabulary = {
  pieces: [
    '[submodule "',
    '"]',
    "[submodule ",
    "]",
    "path",
    "url",
    "=",
    " ",
    "\t",
    "\n",
    "\r\n",
    "a/b",
    "../c.git",
    "https://h/x",
    "#",
    ";",
    '"',
    "\\",
    "[core]",
    "é",
  ],
  samples: [
    '[submodule "a"]\n\tpath = a/b\n\turl = https://example.org/x.git\n[submodule "c"]\n\tpath = c\n\turl = ../d\n',
  ],
  lengthMax: 65_536,
};

const settings: Vocabulary = {
  pieces: [
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    '"a"',
    '"search.contextLines"',
    "1",
    "-1e9",
    "true",
    "null",
    "//",
    "/*",
    "*/",
    "\n",
    " ",
    "\\",
    '"',
    "\\u0000",
    '"__proto__"',
    '"constructor"',
    "é",
    "[[[[",
    '{"a":',
  ],
  samples: [
    '{\n  // a comment\n  "search.contextLines": 3,\n  "a": { "b": [1, 2, null] },\n}',
    "{}",
    '{"quicklinks": [{"name": "a", "url": "b"}]}',
  ],
  lengthMax: 64 << 10,
};

/** Extensions of which more than one language has the files. */
const ambiguous = [
  "a.h",
  "b.inc",
  "c.m",
  "d.pl",
  "e.ts",
  "f.sql",
  "g.md",
  "h.v",
  "i.cls",
  "j.r",
  "k.pp",
  "l.fs",
  "m.t",
  "n.y",
  "o.as",
  "p.mod",
  "q.es",
  "r.ms",
  "s.bas",
];

const head: Vocabulary = {
  pieces: [
    "_",
    "__",
    "a",
    "A",
    ":",
    "::",
    "_:",
    " ",
    "\t",
    "\n",
    "\r\n",
    "<?php",
    "<?",
    "#include",
    "#import",
    "@interface",
    "@end",
    "use strict;",
    "package ",
    "module",
    "function",
    "=",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    '"',
    "%",
    "\\",
    "*",
    ";",
    "--",
    "//",
    "#!",
    "#!/usr/bin/env perl\n",
    "\0",
    "é",
  ],
  samples: [
    "#include <stdio.h>\nint main(void) { return 0; }\n",
    "<?php\necho 1;\n",
    "module a;\nendmodule\n",
    "#!/bin/sh\necho\n",
  ],
  lengthMax: 65_536,
};

export const textFileTargets: readonly FuzzTarget[] = [
  {
    name: "codeowners",
    cpuMsMax: 500,
    testCount: 400,
    make: (random) => makeText(random, codeOwners),
    run: (input) => {
      const owners = new CodeOwners(input.toString());
      for (const path of ["a", "docs/a.js", "src/a/b/x.c", "a b", "a/".repeat(30)]) owners.match(path);
      readOwner(input.toString());
    },
  },
  {
    name: "gitmodules",
    cpuMsMax: 100,
    testCount: 400,
    make: (random) => makeText(random, submodules),
    run: (input) => allowing(["git"], () => parseSubmodules(input.toString("latin1"))),
  },
  {
    name: "settings",
    cpuMsMax: 100,
    testCount: 400,
    make: (random) => makeText(random, settings),
    run: (input) =>
      allowing(["bad-request"], () => {
        const text = input.toString();
        checkSettings(text);
        mergedSettings([settingsValues(text), { a: 1 }]);
        editedSettings(text, ["a", "b"], { kind: "value", value: 1 });
        if (Object.hasOwn(Object.prototype, "a")) throw new RangeError("the prototype was changed");
      }),
  },
  {
    name: "language",
    cpuMsMax: 100,
    testCount: 400,
    make: (random) => Buffer.concat([Buffer.from([random(ambiguous.length)]), makeText(random, head)]),
    run: (input) =>
      void detectLanguage(
        pick(() => (input[0] ?? 0) % ambiguous.length, ambiguous),
        input.subarray(1),
      ),
  },
];
