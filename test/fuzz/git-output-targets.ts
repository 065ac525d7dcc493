import { LogParser } from "../../src/git/history/authors.js";
import { parseBlame } from "../../src/git/history/blame.js";
import { parseCommitHeader } from "../../src/git/objects/commit-header.js";
import { parseCommits } from "../../src/git/history/commits.js";
import { parseEntry } from "../../src/git/objects/directories.js";
import { parseProgress } from "../../src/git/run/fetch-watch.js";
import { parseDiff } from "../../src/git/history/file-diffs.js";
import { parseChanges, parseTree } from "../../src/git/objects/objects.js";
import { parseRef } from "../../src/git/mirror/read-refs.js";
import { headBranch, parseLocalRefs, parseRemoteRefs, refState } from "../../src/git/objects/refs.js";
import { ChainBuilder } from "../../src/git/objects/tree-chain.js";
import { makeText, type Vocabulary } from "./inputs.js";
import { allowing } from "./query-targets.js";
import type { FuzzTarget } from "./runner.js";

const oid = "0123456789abcdef0123456789abcdef01234567";
const zeros = "0".repeat(40);

const common = [
  "\0",
  "\n",
  "\t",
  " ",
  "  ",
  "\r",
  "a",
  "a/b",
  "é",
  "100644",
  "040000",
  "160000",
  "120000",
  "7",
  "-",
  oid,
  zeros,
  oid.slice(1),
  "g".repeat(40),
  "\u00ff",
];

const refs: Vocabulary = {
  pieces: [
    ...common,
    "refs/heads/",
    "refs/tags/v1",
    "^{}",
    "HEAD",
    "ref: refs/heads/main\tHEAD",
    `${oid}\t`,
    `${oid} ${oid} refs/heads/a\n`,
  ],
  samples: [
    `ref: refs/heads/main\tHEAD\n${oid}\tHEAD\n${oid}\trefs/heads/main\n${oid}\trefs/tags/v1^{}\n`,
    `${oid} ${oid} refs/tags/v1\n${oid}  refs/heads/main\n`,
    `${oid} commit   1700000000 refs/heads/main\n`,
  ],
  lengthMax: 65_536,
};

const trees: Vocabulary = {
  pieces: [
    ...common,
    "blob",
    "tree",
    "commit",
    `100644 blob ${oid}    12\ta\0`,
    `:100644 100644 ${oid} ${oid} M\0a\0`,
    " A\0",
    " D\0",
    " R100\0",
    ":000000 ",
    `${oid} ${oid}\n`,
  ],
  samples: [
    `100644 blob ${oid}      12\ta/b\x00160000 commit ${oid}       -\tm\0`,
    `:100644 000000 ${oid} ${zeros} D\0a\0:000000 100644 ${zeros} ${oid} A\0b\0`,
    `${oid} ${oid}\n:100644 100755 ${oid} ${oid} M\0a\0`,
  ],
  lengthMax: 65_536,
};

const blame: Vocabulary = {
  pieces: [
    ...common,
    "author A\n",
    "filename a\n",
    `${oid} 1 1 1\n`,
    `${oid} 1 2\n`,
    "\tline\n",
    "previous ",
    "summary ",
  ],
  samples: [`${oid} 1 1 2\nauthor A\nsummary s\nfilename a/b\n\tline one\n${oid} 2 2\n\tline two\n`],
  lengthMax: 65_536,
};

const log: Vocabulary = {
  pieces: [
    ...common,
    `${oid}\0`,
    `${oid} ${oid}\0`,
    "A\0a@b\0",
    "1700000000\0",
    "99999999999999999999\0",
    "message\n\n\0",
    "\0\0",
    "tree ",
    "committer A <a> 1 +0000\n",
    "\n\n",
    "> ",
  ],
  samples: [
    `${oid}\0${oid}\0A\0a@b\x001700000000\0B\0b@c\x001700000000\0message\n\0\n`,
    `\0A\0a@b\0\na/b\0c\0\0B\0b@c\0\nd\0`,
    `tree ${oid}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1700000000 +0100\n\nmessage\n`,
  ],
  lengthMax: 65_536,
};

const diff: Vocabulary = {
  pieces: [
    ...common,
    "diff --git a/a b/a\n",
    "@@ -1,2 +1,3 @@ section\n",
    "@@ -1 +1 @@\n",
    "+line\n",
    "-line\n",
    " line\n",
    "\\ No newline at end of file\n",
    "\0\0",
    ` R100\0a\0b\0`,
    `:100644 100644 ${oid} ${oid} M\0a\0`,
  ],
  samples: [
    `:100644 100644 ${oid} ${oid} M\0a\0\0diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@ f\n one\n-two\n+three\n\\ No newline at end of file\n`,
  ],
  lengthMax: 65_536,
};

const progress: Vocabulary = {
  pieces: [
    "remote: ",
    "Receiving objects: ",
    "Counting objects:",
    "50%",
    "(1/2)",
    ", 1.2 MiB | 3 MiB/s",
    ", done.",
    " ",
    "9".repeat(30),
    "%",
    "\r",
  ],
  samples: ["Receiving objects:  50% (1/2), 1.00 MiB | 1.00 MiB/s", "remote: Counting objects: 100% (3/3), done."],
  lengthMax: 4096,
};

/** The same bytes in two pieces, cut where the first byte says. */
function inTwo(input: Buffer, take: (piece: Buffer) => void): void {
  const at = Math.floor((input.length * (input[0] ?? 0)) / 256);
  take(input.subarray(0, at));
  take(input.subarray(at));
}

export const gitOutputTargets: readonly FuzzTarget[] = [
  {
    name: "refs",
    cpuMsMax: 100,
    testCount: 400,
    make: (random) => makeText(random, refs),
    run: (input) => {
      allowing(["git"], () => headBranch(parseRemoteRefs(input)));
      allowing(["git"], () => refState(parseLocalRefs(input, "ref: refs/heads/main")));
      input.toString().split("\n").forEach(parseRef);
    },
  },
  {
    name: "tree-listing",
    cpuMsMax: 100,
    testCount: 400,
    make: (random) => makeText(random, trees),
    run: (input) => {
      allowing(["git"], () => parseTree(input));
      allowing(["git"], () => parseChanges(input));
      input.toString().split("\0").forEach(parseEntry);
      allowing(["git"], () => {
        const chain = new ChainBuilder(40, 1000);
        inTwo(input, (piece) => chain.push(piece));
        chain.end();
      });
    },
  },
  {
    name: "blame",
    cpuMsMax: 100,
    testCount: 400,
    make: (random) => makeText(random, blame),
    run: (input) => void parseBlame(input),
  },
  {
    name: "log",
    cpuMsMax: 100,
    testCount: 400,
    make: (random) => makeText(random, log),
    run: (input) => {
      parseCommits(input);
      parseCommitHeader(input.toString("latin1"));
      const parser = new LogParser({ commit: () => true, path: () => undefined });
      inTwo(input, (piece) => parser.add(piece));
    },
  },
  {
    name: "diff",
    cpuMsMax: 300,
    testCount: 400,
    make: (random) => makeText(random, diff),
    run: (input) => void parseDiff(input),
  },
  {
    name: "fetch-progress",
    cpuMsMax: 100,
    testCount: 400,
    make: (random) => makeText(random, progress),
    run: (input) => void parseProgress(input.toString()),
  },
];
