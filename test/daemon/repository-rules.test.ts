/** `.gitattributes` and `.sourcegraph/ignore` of commits that are indexed, and of commits that are not. */
import t from "tap";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import { type DaemonProcess, runCommand, testDaemon, textsOnly } from "../support/daemon.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture } from "../support/git-mirror.js";

const files = { "a.c": "needle one", "b.txt": "needle two", "dir/c.c": "needle three", "gen/d.c": "needle four" };

/** What each revision says of them; the files are the same. */
const rules: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  none: {},
  go: { ".gitattributes": "*.c linguist-language=golang\n" },
  nested: { ".gitattributes": "*.c linguist-language=Go\n", "dir/.gitattributes": "*.c linguist-language=C++\n" },
  ignoring: { ".gitattributes": "*.txt linguist-language=Go", ".sourcegraph/ignore": "gen/\n[\n" },
};

/** `path language` of the files with a text on each revision. */
const found: Readonly<Record<string, readonly string[]>> = {
  none: ["a.c C", "b.txt Text", "dir/c.c C", "gen/d.c C"],
  go: ["a.c Go", "b.txt Text", "dir/c.c Go", "gen/d.c Go"],
  nested: ["a.c Go", "b.txt Text", "dir/c.c C++", "gen/d.c Go"],
  ignoring: ["a.c C", "b.txt Go", "dir/c.c C"],
};

interface Found {
  readonly files: readonly string[];
  readonly progress: Progress | undefined;
}

async function search(daemon: DaemonProcess, query: string): Promise<Found> {
  const { text } = await daemon.get(`/.api/search/stream?${new URLSearchParams({ v: "V3", receipt: "1", q: query })}`);
  const events = new SseDecoder().push(Buffer.from(text));
  const matches = events.flatMap(({ name, data }) =>
    name === "matches" ? (JSON.parse(data) as (StreamMatch & { readonly language?: string })[]) : [],
  );
  const progress = events.findLast(({ name }) => name === "progress");
  return {
    files: matches.map(({ path = "", language = "" }) => `${path} ${language}`).sort(),
    progress: progress && (JSON.parse(progress.data) as Progress),
  };
}

/** A commit with these rules and no others. */
function commitRules(source: GitFixture, name: string): void {
  const commit = source.commit({ branch: "main", files: { ...files, ...rules[name] }, orphan: true });
  source.tag(name, commit);
}

t.setTimeout(900_000);

t.test("each commit has the rules that it contains", async (t) => {
  const source = fixture(t);
  for (const name of ["none", "nested", "ignoring", "go"]) commitRules(source, name);
  const daemon = await testDaemon(t, textsOnly);
  await daemon.add("code", source.path);
  t.same((await search(daemon, "needle")).files, found["go"], "the indexed branch");
  for (const round of ["first", "again"])
    for (const [name, expected] of Object.entries(found))
      t.same((await search(daemon, `repo:^code$@${name} needle`)).files, expected, `${name}, ${round}`);
  const both = await search(daemon, "repo:^code$@nested:ignoring needle");
  t.same(both.files, [...(found["nested"] ?? []), ...(found["ignoring"] ?? [])].sort());
  t.same((await search(daemon, "repo:^code$@nested lang:c++ needle")).files, ["dir/c.c C++"]);
  t.same((await search(daemon, "lang:go needle select:file")).files.length, 3);

  const left = await search(daemon, "repo:^code$@ignoring needle");
  t.match(left.progress?.receipt, {
    complete: true,
    excludedByReason: { ignored: 1 },
    excluded: { items: [{ reason: "ignored", repository: "code", path: "gen/d.c" }] },
  });
  t.match((await search(daemon, "repo:^code$@ignoring type:path d.c")).files, ["gen/d.c C"], "found by its path");
});

t.test("pages and counts of languages have them too", async (t) => {
  const source = fixture(t);
  for (const name of ["none", "nested"]) commitRules(source, name);
  const daemon = await testDaemon(t, textsOnly);
  await daemon.add("code", source.path);
  const query = `query ($revision: String!) { repository(name: "code") { commit(rev: $revision) {
    blob(path: "dir/c.c") { languages }
    languageStatistics { name }
  } } }`;
  interface Answer {
    readonly blob: { readonly languages: readonly string[] };
    readonly languageStatistics: readonly { readonly name: string }[];
  }
  const ask = async (revision: string): Promise<readonly string[][]> => {
    const body = JSON.stringify({ query, variables: { revision } });
    const answer = await fetch(`${daemon.url}/.api/graphql`, { method: "POST", body });
    const { data } = (await answer.json()) as { data: { repository: { commit: Answer } } };
    const { blob, languageStatistics } = data.repository.commit;
    return [[...blob.languages], languageStatistics.map(({ name }) => name).sort()];
  };
  t.same(await ask("nested"), [["C++"], ["C++", "Git Attributes", "Go", "Text"]]);
  t.same(await ask("none"), [["C"], ["C", "Text"]]);
});

t.test("a commit with other rules indexes again what they change", async (t) => {
  const source = fixture(t);
  commitRules(source, "none");
  const daemon = await testDaemon(t, textsOnly);
  await daemon.add("code", source.path);
  for (const name of ["ignoring", "go", "nested", "none", "nested", "ignoring"]) {
    source.commit({ branch: "main", files: { ...files, ...rules[name] }, orphan: true });
    await daemon.sync("code");
    const answer = await search(daemon, "needle");
    t.same(answer.files, found[name], name);
    t.equal(answer.progress?.receipt?.excludedByReason["ignored"] ?? 0, name === "ignoring" ? 1 : 0);
  }
  const { data } = daemon;
  const list = await runCommand("repo", "list", "--data", data);
  t.match(list.out, /1 file left out by \.sourcegraph\/ignore/);
  t.match(list.out, /warning: rules of the branch "main": \.sourcegraph\/ignore: line 2: a bracket is not closed/);
  await daemon.sync("code");
  const again = await runCommand("repo", "list", "--data", data);
  t.match(again.out, /line 2: a bracket/, "after a sync without changes");
  await daemon.kill();
  const check = await runCommand("check", "--data", data);
  t.match(check, { exitCode: 0, out: /0 faults/ });
});
