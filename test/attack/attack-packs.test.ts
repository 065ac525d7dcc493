/**
 * Repositories that hold what no git would write, on a live daemon: they are indexed within 20 s as far as that is
 * possible, nobody waits for them, and what asks for their hostile parts is answered with an error or with a bounded
 * answer.
 */
import { get } from "node:http";
import t, { type Test } from "tap";
import { monotonicMs } from "../../src/base/deadline.js";
import { repeatedBounds, startingBounds, underAttack } from "../support/attack.js";
import { testDaemon, type DaemonProcess } from "../support/daemon.js";
import { chosen, inLongRuns, isFull, scaled } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { ask } from "../support/graphql.js";
import { copy, deltaOf, insert, oidOf, treeOf, writePack, type PackedObject } from "../support/pack-writer.js";

const mebibyte = 1 << 20;
const indexedMsMax = 20_000;

type TreeEntry = readonly [mode: string, name: string, oid: string];

/** Packs are copied from a local repository as they are, if they have the name of a pack. */
const packName = "1".repeat(40);

const sumOf = (number: number): string => number.toString(16).padStart(40, "0");
const plain = { type: "blob", content: Buffer.from("an ordinary needle\n") } as const;
const plainOid = oidOf("blob", plain.content);
const plainEntry: TreeEntry = ["100644", "plain.txt", plainOid];

/** A repository with one commit of this tree, and these objects besides. git is not asked whether it likes them. */
function repositoryOf(t: Test, objects: readonly PackedObject[], root: string): GitFixture {
  const repository = GitFixture.create("bare");
  t.teardown(() => repository.remove());
  const commit = Buffer.from(
    `tree ${root}\nauthor A <a@example.org> 1700000000 +0000\ncommitter A <a@example.org> 1700000000 +0000\n\nhostile\n`,
  );
  writePack(repository.path, [plain, ...objects, { type: "commit", content: commit }], packName);
  repository.updateRef("refs/heads/main", oidOf("commit", commit));
  return repository;
}

function withTree(t: Test, objects: readonly PackedObject[], entries: readonly TreeEntry[]): GitFixture {
  const content = treeOf(
    [...entries, plainEntry].sort(([, one], [, other]) => Buffer.compare(Buffer.from(one), Buffer.from(other))),
  );
  return repositoryOf(t, [...objects, { type: "tree", content }], oidOf("tree", content));
}

/** Each of seven deltas doubles its base, from 16 MiB to 1 GiB; the last takes one MiB of it. */
function deltaBomb(): PackedObject[] {
  const baseBytes = 16 * mebibyte - 1;
  const objects: PackedObject[] = [{ type: "blob", content: Buffer.alloc(baseBytes, 97), oid: sumOf(1) }];
  let byteCount = baseBytes;
  for (let step = 2; step <= 7; step++, byteCount *= 2) {
    const copies = Array.from({ length: 2 ** (step - 1) }, (_, i) =>
      copy((i % 2 ** (step - 2)) * baseBytes, baseBytes),
    );
    objects.push({
      type: "oid-delta",
      base: sumOf(step - 1),
      oid: sumOf(step),
      content: deltaOf(byteCount, 2 * byteCount, ...copies),
    });
  }
  return [
    ...objects,
    { type: "oid-delta", base: sumOf(7), oid: sumOf(8), content: deltaOf(byteCount, mebibyte, copy(0, mebibyte)) },
  ];
}

/** More than any file of which the content is read. */
const largeBytes = scaled(20_000_000, 100_000_000);

const fileNumbers = {
  "bomb-1-gib": 7,
  "bomb-1-mib": 8,
  "bomb-32-mib": 2,
  "chain-end": 5999,
  "chain-middle": 4900,
  "claims-1-gib": 20,
  "claims-1-tib": 21,
  "claims-300-kb": 22,
  "delta-claims-1-gib": 23,
  "one-line-of-many-mb": 26,
  "one-line.txt": 27,
};

/** Files that claim to be what they are not, or are what nobody wants. */
function hostileFiles(t: Test): GitFixture {
  const chain: PackedObject[] = [{ type: "blob", content: Buffer.from("start"), oid: sumOf(1000) }];
  for (let i = 1001; i < 6000; i++)
    chain.push({
      type: "oid-delta",
      base: sumOf(i - 1),
      oid: sumOf(i),
      content: deltaOf(5, 5, copy(0, 4), insert(Buffer.from([97 + (i % 26)]))),
    });
  return withTree(
    t,
    [
      ...deltaBomb(),
      ...chain,
      { type: "blob", content: Buffer.from("small"), oid: sumOf(20), claimedBytes: 2 ** 30 - 1 },
      { type: "blob", content: Buffer.from("small"), oid: sumOf(21), claimedBytes: 2 ** 40 },
      { type: "blob", content: Buffer.from("small"), oid: sumOf(22), claimedBytes: 300_000 },
      {
        type: "oid-delta",
        base: plainOid,
        oid: sumOf(23),
        content: deltaOf(plain.content.length, 2 ** 30, copy(0, 5)),
      },
      { type: "blob", content: Buffer.alloc(largeBytes, "needles "), oid: sumOf(26) },
      { type: "blob", content: Buffer.alloc(900_000, "needles "), oid: sumOf(27) },
    ],
    Object.entries(fileNumbers).map(([name, number]) => ["100644", name, sumOf(number)]),
  );
}

const attributes = [
  "* export-subst ident eol=crlf working-tree-encoding=UTF-7 filter=x diff=x merge=x linguist-language=_",
  "plain.txt -export-subst -ident -eol !working-tree-encoding",
  `${"a/**/".repeat(2_000)}* text`,
  `${"*".repeat(1_500)}b text`,
  "[attr]a b",
  "[attr]b a",
  "* a b",
  "",
].join("\n");

/** Names that lead elsewhere, or are none. */
function hostileNames(t: Test): GitFixture {
  const blobs = [
    "../../../../etc/passwd",
    "/etc/passwd",
    "$Format:%<(2147483647)%H%G?%GS%(describe)%(trailers)$ $Id$\n",
    attributes,
    '[submodule "a"]\npath = ..\nurl = --upload-pack=touch /tmp/owned\n',
  ].map((text) => ({ type: "blob", content: Buffer.from(text) }) as const);
  const [up, absolute, format, gitattributes, gitmodules] = blobs.map(({ content }) => oidOf("blob", content));
  const inner = treeOf([plainEntry]);
  return withTree(
    t,
    [...blobs, { type: "tree", content: inner }],
    [
      ["100644", ".", plainOid],
      ["100644", "..", plainOid],
      ["40000", "..", oidOf("tree", inner)],
      ["40000", ".git", oidOf("tree", inner)],
      ["100644", ".git", plainOid],
      ["100644", "../../escaped", plainOid],
      ["100644", "/etc/escaped", plainOid],
      ["100644", "a\nb\n", plainOid],
      ["100644", "a\tb\r\u0001\u001b[31m", plainOid],
      ["100644", "n".repeat(100_000), plainOid],
      ["100644", "\u202etxt.exe", plainOid],
      ["100644", "-rf", plainOid],
      ["100644", "--output=owned", plainOid],
      ["100644", ":(glob)**", plainOid],
      ["120000", "link-up", up],
      ["120000", "link-absolute", absolute],
      ["160000", "submodule", sumOf(98)],
      ["160000", "a/..", sumOf(98)],
      ["100644", "format.txt", format],
      ["100644", ".gitattributes", gitattributes],
      ["100644", ".gitmodules", gitmodules],
      ["100777", "odd-mode", plainOid],
      ["7777777", "odder-mode", plainOid],
      ["100644", "twice", plainOid],
      ["100644", "twice", plainOid],
    ],
  );
}

function wideTree(t: Test): GitFixture {
  return withTree(
    t,
    [],
    Array.from({ length: scaled(3_000, 100_000) }, (_, i) => [
      "100644",
      `file-${String(i).padStart(6, "0")}.txt`,
      plainOid,
    ]),
  );
}

/** `levels` trees, each of which holds the one below `width` times. */
function treeBomb(t: Test, levels: number, width: number, name: string): GitFixture {
  const objects: PackedObject[] = [];
  let entry: readonly [mode: string, oid: string] = ["100644", plainOid];
  for (let level = 0; level < levels; level++) {
    const content = treeOf(Array.from({ length: width }, (_, i) => [entry[0], `${name}${i}`, entry[1]]));
    objects.push({ type: "tree", content });
    entry = ["40000", oidOf("tree", content)];
  }
  return withTree(t, objects, [["40000", "bomb", entry[1]]]);
}

/** A tree that is its own subdirectory. */
function endlessTree(t: Test): GitFixture {
  return withTree(
    t,
    [{ type: "tree", content: treeOf([["40000", "d", sumOf(50)]]), oid: sumOf(50) }],
    [["40000", "endless", sumOf(50)]],
  );
}

/** At most so much of an answer is read. */
const readBytesMax = 300 * mebibyte;

function sizeOf(
  { url }: DaemonProcess,
  path: string,
): Promise<{ readonly status: number; readonly byteCount: number; readonly isWhole: boolean }> {
  return new Promise((resolve) => {
    const sent = get(`${url}${path}`, { agent: false }, (answer) => {
      let byteCount = 0;
      answer.on("error", () => undefined);
      answer.on("data", (part: Buffer) => {
        if ((byteCount += part.length) > readBytesMax) answer.destroy();
      });
      answer.on("close", () => resolve({ status: answer.statusCode ?? 0, byteCount, isWhole: answer.complete }));
    });
    sent.on("error", () => resolve({ status: 0, byteCount: 0, isWhole: false }));
  });
}

// Histories are not read: git processes of the background would count as memory of a raw read.
const daemon = await testDaemon(t, [
  "--set",
  "sync.intervalSeconds=3600",
  "--set",
  "index.workers=2",
  "--set",
  "index.historyBytes=0",
]);
const usual = GitFixture.create();
t.teardown(() => usual.remove());
usual.commit({ branch: "main", files: { "a.txt": "a usual needle\n" } });
await daemon.add("usual", usual.path);
await daemon.search("usual");
await ask(
  daemon.url,
  '{ repository(name: "usual") { commit(rev: "HEAD") { blob(path: "a.txt") { highlight(disableTimeout: false) { aborted } } } } }',
);

/**
 * A raw read runs two git children one after the other, which overlap while the first one exits: one with the limits of a
 * blob, one with those of a content. Both may unpack a delta that claims any size, up to their limits.
 */
const rawBounds = { ...repeatedBounds, grownBytesMax: 480 * 1024 * 1024 };

interface Row {
  readonly name: string;
  readonly make: (t: Test) => GitFixture;
  /** How it ends that cannot be indexed. */
  readonly error?: RegExp;
  /** What is asked of it besides. */
  readonly paths: readonly string[];
  readonly fields: readonly string[];
}

const whole = [
  "fileNames",
  "languageStatistics { name }",
  "tree { entries(first: 5) { path } }",
  "tree(recursive: true) { entries(first: 5, recursive: true) { path } }",
  "diff { fileDiffs(first: 1) { totalCount } }",
];
const [zip, tar] = ["?format=zip", "?format=tar"] as const;
/** Archives of a repository: in `make test` this one. */
const archives = (one: string): readonly string[] => (isFull ? [zip, tar] : [one]);
const odd = [
  ".",
  "..",
  ".git",
  "link-up",
  "submodule",
  "format.txt",
  "../../escaped",
  "/etc/escaped",
  "a\nb\n",
  "-rf",
  "--output=owned",
  ":(glob)**",
  "odd-mode",
  "twice",
  "n".repeat(3_000),
];

const files = chosen(Object.keys(fileNumbers), "bomb-1-gib", "chain-end", "claims-1-tib");
const usualOdd = chosen(odd, "..", "link-up", "submodule", "format.txt", "a\nb\n", "--output=owned", "n".repeat(3_000));

const rows: readonly Row[] = [
  {
    name: "files",
    make: hostileFiles,
    paths: ["", ...files, ...archives(tar)],
    fields: [...whole, ...files.map(fileField)],
  },
  {
    name: "names",
    make: hostileNames,
    paths: ["", ...usualOdd.map(encodeURIComponent), ...archives(zip)],
    fields: [...whole, ...usualOdd.map(fileField)],
  },
  {
    name: "wide",
    make: wideTree,
    paths: ["", ...archives(zip)],
    fields: [
      ...whole,
      "tree { entries { path } }",
      "tree(recursive: true) { entries(recursive: true) { path byteSize } }",
    ],
  },
  {
    name: "deep",
    make: (t) => treeBomb(t, scaled(2_000, 5_000), 1, "d"),
    paths: ["bomb", ...archives(tar)],
    fields: whole,
  },
  {
    name: "bomb",
    make: (t) => treeBomb(t, 10, 10, "d"),
    error: /^git ls-tree wrote more than 134217728 bytes/,
    paths: isFull ? [""] : [],
    fields: isFull ? ["fileNames"] : [],
  },
  {
    name: "endless",
    make: endlessTree,
    // Newer releases of git read it to the end of our limit.
    error: /^git ls-tree was killed by SIGSEGV|^git ls-tree needed more|^the paths of a commit take more than/,
    paths: [""],
    fields: ["fileNames"],
  },
];

function fileField(path: string): string {
  return `file(path: ${JSON.stringify(path)}) { byteSize content highlight(disableTimeout: false) { aborted } ... on GitBlob { blame(startLine: 1, endLine: 2) { startLine } } }`;
}

/** Where objects cannot be read each thread makes the mirror anew once, in case that helps. */
const threadCountMax = 4;

async function addOrSync(name: string, path: string): Promise<string> {
  const messageOf = (sync: Promise<unknown>): Promise<string> =>
    sync.then(
      () => "",
      (error: Error) => error.message,
    );
  let message = await messageOf(daemon.add(name, path));
  for (let i = 0; i < threadCountMax && message.includes("it is fetched anew at the next sync"); i++)
    message = await messageOf(daemon.sync(name));
  return message;
}

for (const { name, make, error, paths, fields } of rows) {
  // A tree that is wide, deep or both is of one kind with the last of them.
  t.test(name, ["wide", "deep"].includes(name) ? inLongRuns : {}, async (t) => {
    const { path } = make(t);
    await underAttack(t, daemon, startingBounds, `indexing ${name}`, async () => {
      const startedMs = monotonicMs();
      const hostile = addOrSync(name, path);
      await daemon.add(`beside-${name}`, usual.path);
      t.same(
        (await daemon.search(`repo:^beside-${name}$ usual`)).found,
        [`beside-${name}:a.txt:1`],
        "another repository is indexed meanwhile",
      );
      t.match(await hostile, error ?? /^$/);
      const ms = monotonicMs() - startedMs;
      if (isFull) t.ok(ms < indexedMsMax, `it took ${ms.toFixed(0)} ms`);
    });
    if (error === undefined)
      t.same(
        (await daemon.search(`repo:^${name}$ file:^plain.txt$ ordinary`)).found,
        [`${name}:plain.txt:1`],
        "its ordinary file is found",
      );
    for (const path of paths) {
      const { status, byteCount } = await underAttack(t, daemon, rawBounds, `raw ${path.slice(0, 40)}`, () =>
        sizeOf(daemon, `/${name}/-/raw/${path}`),
      );
      t.ok(
        [200, 400, 404, 413, 502, 503].includes(status) && byteCount <= readBytesMax,
        `${status} and ${byteCount} bytes`,
      );
    }
    for (const field of fields) {
      const answer = await underAttack(t, daemon, repeatedBounds, field.slice(0, 60), () =>
        ask(daemon.url, `{ repository(name: "${name}") { commit(rev: "HEAD") { ${field} } } }`),
      );
      t.ok(answer !== null && typeof answer === "object" && "data" in answer, "it was executed");
    }
    if (error === undefined) t.equal((await daemon.get(`/${name}/-/raw/plain.txt`)).text, "an ordinary needle\n");
    t.equal((await daemon.get(`/beside-${name}/-/raw/a.txt`)).text, "a usual needle\n");
    await daemon.remove(name);
  });
}
