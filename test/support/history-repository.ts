import { execFileSync } from "node:child_process";
import { GitFixture } from "./git-fixture.js";
import { randomFrom } from "./random.js";

/*
 * Generated repositories whose histories have what goes wrong: merges of two and three parents, several roots, reverts,
 * renames, equal dates and clocks that ran backwards, messages in other encodings, empty commits, names with any bytes,
 * changes of mode and type, submodules, binary files, texts without a newline at the end.
 */

type Random = (below: number) => number;

const words = [
  "abk",
  "ask",
  "Kas",
  "sak_",
  "\u017fab",
  "\u212aas",
  "é",
  "x",
  "return",
  "abk abk",
  "foo(bar)",
  "a  b",
  "日本",
];
const messageWords = [
  "fix",
  "Fixes",
  "abk",
  "revert",
  "é",
  "\u017fak",
  "merge",
  "x",
  "two lines\n\nabk here",
  "```",
  "(#12)",
];

export const people = [
  "Ann <ann@example.org>",
  "Bob B <bob@x.example>",
  "Ké <k@example.org>",
  "ann <other@example.org>",
];

const paths: readonly Buffer[] = [
  "a.c",
  "b.go",
  "lib/a.c",
  "lib/with blank.go",
  'quo"te\n.c',
  "tab\there",
  "é.txt",
  "lib/deep/s.go",
]
  .map((path) => Buffer.from(path))
  .concat(Buffer.from([0x62, 0xff, 0xfe, 0x2e, 0x63]));

const encodings: readonly (readonly [name: string, encode: (text: string) => Buffer])[] = [
  ["ISO-8859-1", (text) => Buffer.from(text.replace(/[^\0-\xff]/g, "?"), "latin1")],
  ["no-such-encoding", (text) => Buffer.from(text)],
  ["EUC-JP", (text) => Buffer.from(text.replace(/[^\0-\xff]/g, "?"), "latin1")],
];

/** Creates a repository with about `commitCount` commits, all of them reachable from branches. */
export function generateHistory(seed: number, commitCount: number): GitFixture {
  const fixture = GitFixture.create("bare", seed % 5 === 0 ? "sha256" : "sha1");
  const random = randomFrom(seed);
  const stream: Buffer[] = [];
  const add = (text: string | Buffer): number => stream.push(Buffer.from(text));
  const gitlink = (seed % 5 === 0 ? "ab".repeat(32) : "cd".repeat(20)).toString();
  for (let mark = 1; mark <= commitCount; mark++) {
    const isRoot = mark === 1 || random(15) === 0;
    add(`commit refs/heads/b${mark}\nmark :${mark}\n`);
    add(
      `author ${pick(random, people)} ${dateOf(random, mark)}\ncommitter ${pick(random, people)} ${dateOf(random, mark)}\n`,
    );
    const message = messageOf(random);
    const encoding = random(6) === 0 ? pick(random, encodings) : undefined;
    if (encoding !== undefined) add(`encoding ${encoding[0]}\n`);
    addData(
      add,
      random(12) === 0
        ? Buffer.from([0x61, 0xff, 0x80, 0x20, 0x62, 0x6b])
        : (encoding?.[1](message) ?? Buffer.from(message)),
    );
    if (!isRoot) {
      const first = 1 + random(mark - 1);
      const others = random(5) === 0 ? [1 + random(mark - 1), 1 + random(mark - 1)].slice(random(2)) : [];
      add(`from :${first}\n`);
      for (const other of new Set(others)) if (other !== first) add(`merge :${other}\n`);
    }
    for (let changes = random(5); changes > 0; changes--) addChange(add, random, mark, isRoot, gitlink);
    add("\n");
  }
  add("done\n");
  execFileSync("git", ["fast-import", "--quiet", "--force", "--done", "--date-format=raw"], {
    cwd: fixture.path,
    input: Buffer.concat(stream),
    stdio: ["pipe", "pipe", "pipe"],
  });
  return fixture;
}

function addChange(
  add: (text: string | Buffer) => unknown,
  random: Random,
  mark: number,
  isRoot: boolean,
  gitlink: string,
): void {
  const path = quote(pick(random, paths));
  const kind = random(14);
  if (kind === 0) return void add(`D ${path}\n`);
  if (kind === 1) return void add(`M 160000 ${gitlink} ${path}\n`);
  if (kind === 2 && !isRoot) return void add("deleteall\n");
  const mode = kind === 3 ? "100755" : kind === 4 ? "120000" : "100644";
  add(`M ${mode} inline ${path}\n`);
  addData(add, kind === 5 ? Buffer.from(`bin\0ary ${mark}`) : textOf(random));
}

/** Lines of which many occur in other files too. */
function textOf(random: Random): Buffer {
  const lines: string[] = [];
  for (let count = random(12); count > 0; count--) lines.push(lineOf(random));
  const text = lines.join(random(8) === 0 ? "\r\n" : "\n") + (random(4) === 0 ? "" : "\n");
  const bytes = Buffer.from(text);
  return random(10) === 0 ? Buffer.concat([bytes, Buffer.from([0xff, 0x61, 0x62, 0x6b, 0x0a])]) : bytes;
}

function lineOf(random: Random): string {
  if (random(6) === 0) return "";
  if (random(30) === 0) return `${"y ".repeat(400)}${pick(random, words)}`;
  const parts: string[] = [];
  for (let count = 1 + random(3); count > 0; count--) parts.push(pick(random, words));
  return parts.join(" ");
}

function messageOf(random: Random): string {
  const parts: string[] = [];
  for (let count = random(4); count > 0; count--) parts.push(pick(random, messageWords));
  return parts.join(" ") + "\n".repeat(random(3));
}

/** Clocks differ by an hour, stand still and run backwards; some dates are before 1970 or beyond 32 bits. */
function dateOf(random: Random, mark: number): string {
  const zone = pick(random, ["+0000", "-0730", "+0545", "+1400"]);
  switch (random(20)) {
    case 0:
      return `${2 ** 32 + random(3)} ${zone}`;
    case 1:
      return `${random(3)} ${zone}`;
    case 2:
      return `1700000000 ${zone}`;
    default:
      return `${1_600_000_000 + mark * 1_000 + random(5_000)} ${zone}`;
  }
}

function addData(add: (text: string | Buffer) => unknown, content: Buffer): void {
  add(`data ${content.length}\n`);
  add(content);
  add("\n");
}

function quote(path: Buffer): string {
  return `"${[...path].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("")}"`;
}

function pick<T>(random: Random, items: readonly T[]): T {
  return items[random(items.length)];
}

const patterns = [
  "abk",
  "ask",
  "x",
  "return",
  "é",
  "ab",
  "kas",
  "SAK_",
  "foo(bar)",
  "bk",
  "a",
  "日本",
  "absent",
  "abk abk",
];
const regexps = [
  "/a.k/",
  "/^abk$/",
  "/^$/",
  "/(abk|ask)/",
  "/a\\s+b/",
  "/[^a]k/",
  "/\\Aabk/",
  "/k\\z/",
  "/b$/",
  "/./",
  "/\\w+\\(/",
  "/é|x/",
  "/a.*$/",
  "/x*/",
  "/.$/",
  "/\\W$/",
];

/** A query text in the keyword syntax for commits or diffs. */
export function generateQuery(random: Random): string {
  const parts = [random(3) === 0 ? "type:commit" : "type:diff", patternOf(random, 2)];
  const filters = [
    () => `author:${pick(random, ["ann", "^Bob", "example\\.org$", "k"])}`,
    () => `-author:${pick(random, ["ann", "bob"])}`,
    () => `committer:${pick(random, ["ann", "@x"])}`,
    () => `before:${1_600_000_000 + random(40_000)}`,
    () => `after:${1_600_000_000 + random(40_000)}`,
    () => `message:${pick(random, ["fix", "abk", "^two", "here$", "k", "^$"])}`,
    () => `-message:${pick(random, ["fix", "abk", "^$"])}`,
    () => `file:${pick(random, ["\\.c$", "lib", "a", "^b", "é"])}`,
    () => `-file:${pick(random, ["\\.c$", "lib"])}`,
    () => "lang:go",
    () => "case:yes",
    () => `select:commit.diff.${pick(random, ["added", "removed"])}`,
  ];
  for (const filter of filters) if (random(8) === 0) parts.push(filter());
  return parts.join(" ");
}

function patternOf(random: Random, depth: number): string {
  const one = (): string => (depth > 0 && random(3) === 0 ? `(${patternOf(random, depth - 1)})` : leafOf(random));
  switch (random(8)) {
    case 0:
      return depth === 2 ? "" : leafOf(random);
    case 1:
      return `${one()} and ${one()}`;
    case 2:
      return `${one()} or ${one()}`;
    case 3:
      return `not ${leafOf(random)}`;
    case 4:
      return `${one()} and not ${leafOf(random)}`;
    default:
      return leafOf(random);
  }
}

function leafOf(random: Random): string {
  return random(3) === 0 ? pick(random, regexps) : `"${pick(random, patterns)}"`;
}
