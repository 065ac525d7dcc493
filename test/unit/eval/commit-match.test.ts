import t from "tap";
import { CommitWriter, timeAgo, type CommitResult } from "../../../src/eval/history/commit-match.js";
import { loadKernel } from "../../../src/native/kernel/load.js";

const result: CommitResult = {
  kind: "commit",
  oid: "0123456789abcdef0123456789abcdef01234567",
  author: { name: "Ada", email: "ada@acme.test", unixSeconds: 1_700_000_000 },
  committer: { name: "Bob", email: "bob@acme.test", unixSeconds: 1_700_003_600 },
  message: Buffer.from("Fix the parser\n\nIt was wrong"),
  diff: "",
  ranges: [
    [0, 8, 6],
    [2, 3, 3],
  ],
  isCut: false,
};

const repository = { id: 7, name: "github.com/acme/a b", stars: 0, lastFetched: "" };
const form = { diffType: "diff", nowMs: 1_700_000_000_000 + 3 * 86_400_000 } as const;
const url = "/github.com/acme/a%20b/-/commit/0123456789abcdef0123456789abcdef01234567";

/** The match object of the result, in JSON. */
function encode(
  one: CommitResult,
  ...[to, as]: Partial<[typeof repository, { diffType: "commit" | "diff"; nowMs: number }]>
): string {
  const writer = new CommitWriter(loadKernel("ts"), to ?? repository, as ?? form);
  writer.write(one);
  return writer.bytes.toString("utf8").slice(0, -1);
}

t.test("a commit", async (t) => {
  t.same(JSON.parse(encode(result)), {
    type: "commit",
    label: `[acme/a b](/github.com/acme/a%20b) › [Ada](${url}): [Fix the parser](${url})`,
    url,
    detail: `[\`0123456\` 3 days ago](${url})`,
    repositoryID: 7,
    repository: "github.com/acme/a b",
    oid: "0123456789abcdef0123456789abcdef01234567",
    message: "Fix the parser\n\nIt was wrong",
    authorName: "Ada",
    authorDate: "2023-11-14T22:13:20Z",
    committerName: "Bob",
    committerDate: "2023-11-14T23:13:20Z",
    content: "```COMMIT_EDITMSG\nFix the parser\n\nIt was wrong\n```",
    ranges: [
      [1, 8, 6],
      [3, 3, 3],
    ],
  });
});

t.test("a diff", async (t) => {
  const diff: CommitResult = { ...result, kind: "diff", diff: "/dev/null a.c\n@@ -0,0 +1 @@\n+x", ranges: [[2, 1, 1]] };
  const starred = { id: 1, name: "tools", stars: 3, lastFetched: "2026-01-01T00:00:00Z" };
  t.match(JSON.parse(encode(diff, starred)), {
    type: "diff",
    label: /^\[tools\]\(\/tools\) › /,
    repoStars: 3,
    repoLastFetched: "2026-01-01T00:00:00Z",
    content: "```diff\n/dev/null a.c\n@@ -0,0 +1 @@\n+x\n```",
    ranges: [[3, 1, 1]],
  });
  t.match(JSON.parse(encode(diff, starred, { ...form, diffType: "commit" })), { type: "commit" });
  t.notMatch(JSON.parse(encode(diff)), { contentTruncated: true });
  t.match(JSON.parse(encode({ ...diff, isCut: true })), { contentTruncated: true });
});

t.test("a time that no date can show", async (t) => {
  for (const unixSeconds of [1e15, -1e15, 1e12, -1e12])
    t.match(JSON.parse(encode({ ...result, author: { ...result.author, unixSeconds } })), {
      authorDate: "1970-01-01T00:00:00Z",
    });
});

t.test("results one after another, of any size and with any character", async (t) => {
  for (const name of ["native", "ts"] as const) {
    const writer = new CommitWriter(loadKernel(name), { ...repository, name: 'a"\u{1f600}' }, form);
    const ends: number[] = [];
    const messages = ["", "x", 'a "\\\t\u0001 \u20ac\u{1f600}\nb', "\u0001\n".repeat(100_000), "last"];
    for (const message of messages) {
      writer.write({ ...result, message: Buffer.from(message) });
      writer.write({ ...result, kind: "diff", diff: `+${message}` });
      ends.push(writer.byteCount);
    }
    messages.forEach((message, i) => {
      const written = writer.bytes.subarray(ends[i - 1] ?? 0, ends[i]).toString("utf8");
      const [commit, diff] = JSON.parse(`[${written.slice(0, -1)}]`) as Record<string, string>[];
      t.equal(commit["message"], message);
      t.equal(commit["content"], `\`\`\`COMMIT_EDITMSG\n${message}\n\`\`\``);
      t.ok(commit["label"].includes(`: [${message.split("\n")[0]}](/`));
      t.equal(commit["repository"], 'a"\u{1f600}');
      t.equal(diff["content"], `\`\`\`diff\n+${message}\n\`\`\``);
    });
  }
});

t.test("how long ago", async (t) => {
  const rows: readonly (readonly [seconds: number, text: string])[] = [
    [0, "about a second ago"],
    [1, "about a second ago"],
    [30, "30 seconds ago"],
    [61, "about a minute ago"],
    [150, "3 minutes ago"],
    [3600, "about an hour ago"],
    [7200, "2 hours ago"],
    [86_400, "one day ago"],
    [10 * 86_400, "10 days ago"],
    [31 * 86_400, "one month ago"],
    [90 * 86_400, "3 months ago"],
    [400 * 86_400, "one year ago"],
    [3650 * 86_400, "10 years ago"],
    [-7200, "in 2 hours"],
  ];
  for (const [seconds, text] of rows)
    t.equal(timeAgo(1_700_000_000 - seconds, 1_700_000_000_000), text, `${seconds} s`);
});
