import type { Test } from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import { nothingFoundTitle, type StreamMatch } from "../../src/model/stream-events.js";
import type { DaemonProcess } from "../support/daemon.js";
import { GitFixture } from "../support/git-fixture.js";
import { configure, sharedDaemon } from "../support/shared-daemon.js";
import { until } from "../support/waiting.js";
import { commits, writeHistory } from "./history-repository.js";
import { siteOptions } from "./site-options.js";

/** A daemon with the history of the cases, a small one, and an empty repository; and the names of commits. */
export interface HistorySite {
  readonly daemon: DaemonProcess;
  /** By oid. */
  readonly nameOf: ReadonlyMap<string, string>;
  readonly repositories: readonly object[];
}

/** The histories are read from mirrors. */
export async function startHistorySite(t: Pick<Test, "teardown">): Promise<HistorySite> {
  const [history, other, empty] = [GitFixture.create(), GitFixture.create(), GitFixture.create()];
  t.teardown(() => {
    for (const fixture of [history, other, empty]) fixture.remove();
  });
  const oids = writeHistory(history);
  const others = [
    other.commit({ branch: "main", files: { "a.txt": "needle\n" }, message: "Add needle\n" }),
    other.commit({ branch: "main", files: { "a.txt": "thread\n" }, message: "Lexer, not needle\n" }),
  ];
  const repositories = [
    { name: "acme/history", url: history.path, stars: 5 },
    { name: "other", url: other.path, stars: 1 },
    { name: "empty", url: empty.path },
  ].map((repository) => ({ ...repository, history: "off" }));
  const daemon = await sharedDaemon(t, { repositories }, siteOptions);
  await until("all repositories can be searched", async () => (await daemon.get("/readyz")).status === 200);
  const nameOf = new Map([
    ...oids.map((oid, i) => [oid, commits[i].name] as const),
    ...others.map((oid, i) => [oid, `other${i + 1}`] as const),
  ]);
  return { daemon, nameOf, repositories };
}

/** The histories of the default branches are in history shards from now on, which those of other branches are not. */
export async function indexHistories(site: HistorySite): Promise<void> {
  const { daemon, repositories } = site;
  await configure(daemon, { repositories: repositories.map((repository) => ({ ...repository, history: "all" })) });
  const count = async (index: string) => (await askHistory(site, `type:commit count:all index:${index}`)).length;
  const commitCount = await count("no");
  await until("the histories are indexed", async () => (await count("only")) === commitCount);
}

/**
 * The results in their order: `c` or `d` and the name of the commit; the matches follow, in a diff with their signs:
 * `d3 +errLex -nil`. A file is `repository:path`, and a repository its name. Alerts come last.
 */
export async function askHistory(
  { daemon, nameOf }: Omit<HistorySite, "repositories">,
  query: string,
): Promise<string[]> {
  const parameters = new URLSearchParams({ q: query, t: "standard" });
  const { text } = await daemon.get(`/.api/search/stream?${parameters}`);
  const found: string[] = [];
  for (const { name, data } of new SseDecoder().push(Buffer.from(text))) {
    const value: unknown = JSON.parse(data);
    if (name === "matches") found.push(...(value as StreamMatch[]).map((match) => describeMatch(match, nameOf)));
    if (name === "error") found.push(`error: ${(value as { message: string }).message}`);
    if (name === "alert") {
      const { title, description } = value as { title: string; description?: string };
      // What is offered for a query that finds nothing is tested in cases.test.ts.
      if (title !== nothingFoundTitle)
        found.push(`alert: ${title}${description === undefined ? "" : `: ${description}`}`);
    }
  }
  return found;
}

function describeMatch(match: StreamMatch, nameOf: HistorySite["nameOf"]): string {
  const { type, oid = "", content = "", ranges = [], repository = "", path } = match;
  if (type !== "commit" && type !== "diff") return path === undefined ? repository : `${repository}:${path}`;
  const lines = content.split("\n");
  const matches = ranges.map(([line, from, length]) => {
    const text = [...lines[line]].slice(from, from + length).join("");
    return type === "diff" ? lines[line][0] + text : text;
  });
  return [`${type === "diff" ? "d" : "c"}${nameOf.get(oid) ?? oid}`, ...matches].join(" ");
}
