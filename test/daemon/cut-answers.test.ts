/**
 * What limits cut is said by the stream, by GraphQL and by the command line, ranges lie in the text they come with, and counts
 * have no limit.
 */
import { execFile, execFileSync } from "node:child_process";
import t, { type Test } from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import { testDaemon, textsOnly, type DaemonProcess } from "../support/daemon.js";
import { inLongRuns } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";
import { ask } from "../support/graphql.js";
import { cliUrl } from "../support/program.js";

const padding = 1_900_000;
const longLine = `${"x".repeat(100_000)}needle1${"y".repeat(padding)}é needle2${"z".repeat(padding)}needle3`;
const files = {
  "long.txt": `first line\n${longLine}\nlast needle\n`,
  "dense.txt": `${"a".repeat(100_000)}\n`,
  "separators.txt": "foo\u2028bar\u2029baz\n",
};

async function stream(daemon: DaemonProcess, q: string, more: Readonly<Record<string, string>>) {
  const { text } = await daemon.get(`/.api/search/stream?${new URLSearchParams({ q, v: "V3", ...more })}`);
  const events = [...new SseDecoder().push(Buffer.from(text))];
  const of = (name: string): unknown[] => events.filter((e) => e.name === name).map((e) => JSON.parse(e.data));
  return { text, matches: (of("matches") as StreamMatch[][]).flat(), progress: of("progress").at(-1) as Progress };
}

const entry = `const { run } = await import(${JSON.stringify(cliUrl)}); process.exitCode = await run(["node", "trawl", ...process.argv.slice(1)]);`;

async function trawl(daemon: DaemonProcess, ...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const all = ["--input-type=module", "-e", entry, "--", "search", "--endpoint", daemon.url, ...args];
  return new Promise((resolve) => {
    execFile(process.execPath, all, { maxBuffer: 64 << 20 }, (error, out, err) =>
      resolve({ code: Number(error?.code ?? 0), out, err }),
    );
  });
}

const linesOfText = 440_000;
const namesOfFolder = 70;
const matchesOfAll = linesOfText * namesOfFolder ** 2;

/** Commits one text under many paths: as many folders as names in each. */
function commitText(source: GitFixture, text: string): void {
  const git = (args: readonly string[], input: string): string =>
    execFileSync("git", args, { cwd: source.path, input, encoding: "utf8" }).trim();
  const folder = (entry: string): string =>
    git(["mktree"], Array.from({ length: namesOfFolder }, (_, i) => `${entry}\t${i}\n`).join(""));
  const blob = git(["hash-object", "-w", "--stdin"], text);
  const root = folder(`040000 tree ${folder(`100644 blob ${blob}`)}`);
  const people = ["-c", "user.name=Fixture", "-c", "user.email=fixture@example.org"];
  source.updateRef("refs/heads/main", git([...people, "commit-tree", root], "a commit\n"));
}

async function start(t: Test): Promise<DaemonProcess> {
  const source = fixture(t);
  source.commit({ branch: "main", files });
  const daemon = await testDaemon(t, textsOnly);
  await daemon.add("r", source.path);
  return daemon;
}

t.test("what is cut", async (t) => {
  const daemon = await start(t);

  await t.test("a long line is sent in parts around its matches", async (t) => {
    const expected = [...longLine.matchAll(/needle\d/g)].map(({ index }) => index);
    const { matches } = await stream(daemon, "file:long /needle[0-9]/", {});
    const parts = matches.flatMap(({ lineMatches }) => lineMatches ?? []);
    const places = parts.flatMap(({ line, lineNumber, offsetAndLengths, lineStart }) =>
      offsetAndLengths.map(([start, length]) => {
        t.equal(lineNumber, 1);
        t.match(
          Array.from(line)
            .slice(start, start + length)
            .join(""),
          /^needle\d$/,
        );
        return start + (lineStart?.column ?? 0);
      }),
    );
    t.same(places, expected);
    t.ok(parts.every(({ lineTruncated, line }) => lineTruncated === true && Buffer.byteLength(line) <= 1_500_000));
    const chunks = (await stream(daemon, "file:long /needle[0-9]/", { cm: "true", cl: "1" })).matches.flatMap(
      ({ chunkMatches }) => chunkMatches ?? [],
    );
    t.same(
      chunks.flatMap(({ content, contentStart, ranges }) =>
        ranges.map(({ start, end }) => {
          t.match(
            Array.from(content)
              .slice(start.column - contentStart.column, end.column - contentStart.column)
              .join(""),
            /^needle\d$/,
          );
          t.match(
            Buffer.from(content)
              .subarray(start.offset - contentStart.offset)
              .toString(),
            /^needle\d/,
          );
          return start.column;
        }),
      ),
      expected,
    );
    t.ok(chunks.every(({ contentTruncated }) => contentTruncated === true));
    const query = `{ search(query: "file:long /needle[0-9]/", version: V3) { results { matchCount results { ... on FileMatch { lineMatches { preview limitHit offsetAndLengths } chunkMatches { content contentTruncated contentStart { character } ranges { start { character } } } } } } } }`;
    const answer = (await ask(daemon.url, query)) as {
      data: {
        search: {
          results: {
            results: {
              lineMatches: { preview: string; limitHit: boolean; offsetAndLengths: number[][] }[];
              chunkMatches: {
                content: string;
                contentTruncated: boolean;
                contentStart: { character: number };
                ranges: { start: { character: number } }[];
              }[];
            }[];
          };
        };
      };
    };
    const [file] = answer.data.search.results.results;
    t.equal(file.lineMatches.length, 3);
    for (const { preview, limitHit, offsetAndLengths } of file.lineMatches) {
      t.match(preview.slice(offsetAndLengths[0][0]), /^needle\d/);
      t.equal(limitHit, true);
    }
    for (const { content, contentTruncated, contentStart, ranges } of file.chunkMatches) {
      t.match(content.slice(ranges[0].start.character - contentStart.character), /^needle\d/);
      t.equal(contentTruncated, true);
    }
  });

  await t.test("the command line prints what a long line matches, and says that the line is cut", async (t) => {
    const query = "file:long /needle[0-9]?/";
    const columns = [...longLine.matchAll(/needle\d/g)].map(
      ({ index }) => 1 + Buffer.byteLength(longLine.slice(0, index)),
    );
    const only = await trawl(daemon, "-o", "--column", query);
    t.same(only.out.trimEnd().split("\n"), [
      ...columns.map((column, i) => `r:long.txt:2:${column}:needle${i + 1}`),
      "r:long.txt:3:6:needle",
    ]);
    t.equal(only.code, 0);
    for (const more of [["--column"], ["--vimgrep"], ["--column", "-C1"]]) {
      const whole = await trawl(daemon, ...more, query);
      const numbers = whole.out.split("\n").flatMap((line) => /^r:long\.txt:2:(\d+):/.exec(line)?.[1] ?? []);
      t.same(numbers.map(Number), columns, more.join(" "));
      t.equal(whole.code, 3, "whole lines are incomplete");
      t.match(whole.err, "cut around their matches");
    }
    t.equal((await trawl(daemon, "--json", query)).code, 3);
    t.equal((await trawl(daemon, "last needle")).code, 0);
  });

  await t.test("symbols that are not extracted are an error that says why", async (t) => {
    for (const field of ["symbols { nodes { name } }", "outline { symbol { name } }"]) {
      const answer = await ask(
        daemon.url,
        `{ repository(name: "r") { commit(rev: "HEAD") { blob(path: "dense.txt") { ${field} } } } }`,
      );
      t.match(answer, {
        errors: [{ message: "symbols of dense.txt cannot be extracted: `index.symbols` is false" }],
      });
    }
  });

  await t.test("a line with too many matches", async (t) => {
    const q = "file:dense type:file a count:all";
    const { progress } = await stream(daemon, q, { cm: "true" });
    t.match(progress, { matchCount: 0, skipped: [{ reason: "document-match-limit", message: /dense\.txt/ }] });
    const query = `{ search(query: "${q}", version: V3) { results { matchCount limitHit alert { title description } approximateResultCount } } }`;
    t.match(await ask(daemon.url, query), {
      data: {
        search: {
          results: {
            matchCount: 0,
            limitHit: true,
            approximateResultCount: "0+",
            alert: {
              title: "Results may be missing: 1 file excluded",
              description: /dense\.txt: too many matches on one line/,
            },
          },
        },
      },
    });
    const cut = await trawl(daemon, "-C1", q);
    t.equal(cut.code, 3);
    t.match(cut.err, /dense\.txt: too many matches on one line/);
  });

  await t.test("line separators are escaped", async (t) => {
    for (const more of [{ cm: "false" }, { cm: "true" }]) {
      const { text, matches } = await stream(daemon, "file:separators foo", more);
      t.notMatch(text, /[\u2028\u2029]/);
      t.match(JSON.stringify(matches), "foo\u2028bar\u2029baz");
    }
    const { text } = await stream(daemon, "foo\u2028bar file:none lang:nothing\u2029", {});
    t.notMatch(text, /[\u2028\u2029]/, "nor in an alert");
  });

  await t.test("more matches than 31 bits can count", inLongRuns, async (t) => {
    const source = fixture(t);
    commitText(source, "!\n".repeat(linesOfText));
    await daemon.add("many", source.path);
    const { matches, progress } = await stream(daemon, "! count:all", { receipt: "1", display: "5" });
    t.ok(matchesOfAll > 2 ** 31);
    t.equal(progress.matchCount, matchesOfAll);
    t.match(progress.receipt, { matchCount: matchesOfAll, digestedMatches: 5 });
    t.same(
      Object.keys(progress.receipt?.excludedByReason ?? {}),
      ["display-limit"],
      "no other limit than that of the display",
    );
    t.equal(matches[0]?.lineMatches?.length, 5);
    const limited = (await stream(daemon, "! count:2147483647", { display: "5" })).progress;
    t.equal(limited.matchCount, 2 ** 31 - 1, "a limit is exact");
    const [suggested] = limited.skipped.flatMap((one) => one.suggested ?? []);
    t.equal(suggested?.queryExpression, "count:all", "there is no larger number");
  });
});
