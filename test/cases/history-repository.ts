import { execFileSync } from "node:child_process";
import type { GitFixture } from "../support/git-fixture.js";

/** One commit of the history that the cases search. Its mark is its index plus 1. */
interface CaseCommit {
  readonly name: string;
  readonly branch: string;
  /** Names of its parents. */
  readonly parents: readonly string[];
  readonly author: string;
  readonly committer: string;
  /** Committer date; the author date is an hour earlier. */
  readonly date: string;
  readonly message: string;
  /** Path to text; null removes the file. */
  readonly files: Readonly<Record<string, string | null>>;
}

const ann = "Ann Archer <ann@acme.test>";
const bob = "Bob <bob@other.test>";
const carl = "Carl <carl@acme.test>";
const dora = "dora <Dora.D@Acme.test>";
const emile = "Émile <emile@acme.test>";

const parser = (result: string): string => `package parser\n\nfunc Parse() error {\n\treturn ${result}\n}\n`;
const lexer = (comment: string): string => `int lex(void) {\n  return TOKEN;${comment}\n}\n`;

type Row = readonly [
  name: string,
  branch: string,
  parents: string,
  author: string,
  committer: string,
  date: string,
  message: string,
  files: CaseCommit["files"],
];

const table: readonly Row[] = [
  [
    "1",
    "main",
    "",
    ann,
    ann,
    "2024-01-01",
    "Add the parser",
    { "src/parser.go": parser("nil"), "README.md": "# Tools\n\nparse things\n" },
  ],
  [
    "2",
    "main",
    "1",
    bob,
    bob,
    "2024-01-02",
    "Add lexer\n\nTokens are read one by one.\n",
    { "src/lexer.c": lexer("") },
  ],
  [
    "3",
    "main",
    "2",
    ann,
    carl,
    "2024-01-03",
    "Fix the parser: handle errors\n\nFixes #12\n",
    { "src/parser.go": parser("errLex") },
  ],
  [
    "4",
    "main",
    "3",
    bob,
    bob,
    "2024-01-04",
    "Rename README",
    { "README.md": null, "docs/README.md": "# Tools\n\nparse things\n" },
  ],
  [
    "5",
    "dev",
    "3",
    dora,
    dora,
    "2024-01-05",
    "Experimental tokens",
    { "src/tokens.py": "TOKEN = 1\nneedle = 'dev'\n" },
  ],
  ["6", "main", "4", ann, ann, "2024-01-06", "Remove lexer", { "src/lexer.c": null }],
  [
    "7",
    "main",
    "6 5",
    carl,
    carl,
    "2024-01-07",
    "Merge branch 'dev' into main",
    { "src/tokens.py": "TOKEN = 1\nneedle = 'dev'\n" },
  ],
  ["8", "main", "7", emile, emile, "2024-01-08", "Größe ändern 😀", { "src/größe.txt": "größe 😀 needle\n" }],
  [
    "9",
    "main",
    "8",
    bob,
    bob,
    "2024-01-09",
    "Binary data",
    { "bin.dat": "a\0b needle\n", "a b.txt": "needle needle\nno newline at the end" },
  ],
  ["10", "main", "9", ann, ann, "2024-01-10", "", { "empty.txt": "" }],
  ["11", "main", "10", ann, ann, "2024-01-11", 'Revert "Remove lexer"', { "src/lexer.c": lexer(" // needle") }],
  ["12", "main", "11", bob, bob, "2024-01-11", "No changes at all", {}],
  [
    "13",
    "main",
    "12",
    bob,
    bob,
    "2023-12-25",
    "The clock ran backwards",
    { "src/parser.go": `${parser("errLex")}// skew\n` },
  ],
  [
    "14",
    "feature/x",
    "13",
    dora,
    carl,
    "2024-02-01",
    "Only on feature",
    { "f.txt": "feature needle\n", "src/parser.go": `${parser("errLex")}// skewed\n` },
  ],
];

export const commits: readonly CaseCommit[] = table.map(
  ([name, branch, parents, author, committer, date, message, files]) => ({
    name,
    branch,
    parents: parents === "" ? [] : parents.split(" "),
    author,
    committer,
    date,
    message,
    files,
  }),
);

/** Writes the history, and returns the oids of the commits in their order. */
export function writeHistory(fixture: GitFixture): string[] {
  const marks = fixture.sibling("marks");
  execFileSync("git", ["fast-import", "--quiet", "--force", `--export-marks=${marks}`], {
    cwd: fixture.path,
    input: commits.map(importCommit).join(""),
  });
  const oids = fixture.git("log", "--all", "--reverse", "--topo-order", "--format=%H").split("\n");
  const oidOf = new Map(
    execFileSync("cat", [marks], { encoding: "utf8" })
      .trim()
      .split("\n")
      .map((line) => line.split(" ") as [string, string]),
  );
  const ordered = commits.map((_, i) => oidOf.get(`:${i + 1}`) ?? "");
  if (oids.length !== commits.length) throw new RangeError(`${oids.length} commits were written`);
  fixture.tag("v1", ordered[2]);
  fixture.annotatedTag("v2", ordered[10]);
  return ordered;
}

function importCommit(
  { name, branch, parents, author, committer, date, message, files }: CaseCommit,
  i: number,
): string {
  const seconds = Date.parse(`${date}T12:00:00Z`) / 1000;
  const mark = (one: string): string => `:${commits.findIndex((commit) => commit.name === one) + 1}`;
  const [first, ...others] = parents;
  return [
    ...(first === undefined ? [`reset refs/heads/${branch}`] : []),
    `commit refs/heads/${branch}`,
    `mark :${i + 1}`,
    `author ${author} ${seconds - 3600} +0100`,
    `committer ${committer} ${seconds} +0000`,
    `data ${Buffer.byteLength(message)}`,
    message,
    ...(first === undefined ? [] : [`from ${mark(first)}`]),
    ...others.map((one) => `merge ${mark(one)}`),
    ...Object.entries(files).map(([path, text]) =>
      text === null ? `D ${path}` : `M 100644 inline ${path}\ndata ${Buffer.byteLength(text)}\n${text}`,
    ),
    `# ${name}`,
    "",
  ].join("\n");
}
