import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { monotonicMs, sleep } from "../../src/base/deadline.js";
import { TrawlError } from "../../src/base/errors.js";
import { type Corpus, openMainCorpus } from "../corpus/corpus.js";
import { cloneBare, commit, headBranch, headCommit, readSource, smallFiles } from "../corpus/repositories.js";
import { literal, trawlQuery } from "../peers/queries.js";
import type { ChangesAnswer, Trawl } from "../peers/trawl.js";
import { grouped, short } from "../report/numbers.js";
import type { Results } from "../report/results.js";
import { longSearches, startDaemon, type Suite, type SuiteContext } from "./suite.js";

/** How soon a commit of one file is found, and what it changed in the results of a broad query. */
export const changesSuite: Suite = {
  name: "changes",
  title: "From a push to the results, and changes of results",
  measure,
};

const hookId = "bench";
const hookSecret = "0123456789abcdef0123456789abcdef";

/** Commits of each kind of push that count, after one that does not. */
const commitCount = { full: 20, quick: 5 } as const;

/** Before each push; nobody pushes right after the last push was indexed. */
const pauseMs = 500;

const query = trawlQuery(literal("return"), "all");
const deltaTask = "what a commit of one file changed in the results of `return`";
const whole = "the whole answer";
const pushTask = "push to searchable";

interface Scene {
  readonly name: string;
  readonly directory: string;
  readonly branch: string;
  readonly trawl: Trawl;
  /** The file that the commits change. */
  readonly path: string;
  readonly text: string;
}

/** By the name of the subject: lets the daemon know of a push, and resolves when a search finds what it brought. */
const pushes: Readonly<Record<string, (scene: Scene, word: string) => Promise<void>>> = {
  "by a hook": async ({ name, trawl }, word) => {
    const headers = { authorization: `Bearer ${hookSecret}`, "content-type": "application/json" };
    const body = JSON.stringify({ repository: name });
    const response = await fetch(`${trawl.url}/.api/webhooks/${hookId}`, { method: "POST", headers, body });
    const text = await response.text();
    if (response.status !== 202 || !text.includes(name))
      throw new TrawlError("internal", `the hook answered ${response.status}: ${text}`);
    await trawl.untilFound(word);
  },
  "by a sync that is waited for": async ({ name, trawl }, word) => {
    await trawl.sync(name);
    await requireFound(trawl, word, {});
  },
  "by a search with wait_for": async ({ name, directory, branch, trawl }, word) =>
    await requireFound(trawl, word, { wait_for: `${name}@${await headCommit(directory, branch)}` }),
};

async function requireFound(trawl: Trawl, word: string, more: Readonly<Record<string, string>>): Promise<void> {
  if ((await trawl.firstMatchMs({ q: `${word} type:file`, v: "V3", ...more })) === undefined)
    throw new TrawlError("internal", `${word} is not found`);
}

async function measure(context: SuiteContext, results: Results): Promise<void> {
  const { isQuick, workFolder, progress } = context;
  const corpus = await openMainCorpus(context);
  const directory = await cloneBare(corpus, join(workFolder, "changes-corpus.git"));
  const [secret, config] = [join(workFolder, "changes-hook-secret"), join(workFolder, "changes.trawl.jsonc")];
  writeFileSync(secret, `${hookSecret}\n`);
  writeFileSync(config, JSON.stringify({ webhooks: { secrets: { [hookId]: `file:${secret}` } } }));
  const trawl = await startDaemon(context, "changes-data", "--config", config, ...longSearches);
  await trawl.add(corpus.name, directory, progress);
  progress("waiting until the symbols are extracted");
  await trawl.waitForSymbols();
  const branch = await headBranch(directory);
  const scene: Scene = { name: corpus.name, directory, branch, trawl, ...(await chooseFile(corpus)) };
  progress("comparing two whole answers with what changed between them");
  const changeCount = await requireTrue(scene);
  const deltaTimes: number[] = [];
  const rows = Object.entries(pushes).map(([name, push]) => ({ name, push, times: [] as number[] }));
  const count = isQuick ? commitCount.quick : commitCount.full;
  for (let round = 0; round <= count; round++) {
    for (const [i, { name, push, times }] of rows.entries()) {
      progress(`commits of one file, ${name}, ${round} of ${count}`);
      const { pushMs, deltaMs } = await pushOnce(scene, push, `trawlbench${round * rows.length + i}x`);
      if (round === 0) continue;
      times.push(pushMs);
      deltaTimes.push(deltaMs);
    }
  }
  await trawl.stop();
  results.note(
    `The corpus ${corpus.name} has ${short(corpus.textBytes / 1e6)} MB in ${grouped(corpus.fileCount)} files. Each commit changes ${scene.path}; the first changed ${grouped(changeCount)} lines of the results, and the difference of two whole answers is the same.`,
    `Times are of one client on a connection that stays open, ${pauseMs} ms after the end of the last one.`,
    "Push to searchable: from the request that tells the daemon until a search has found the committed line; before the request the daemon knows nothing of the commit. After a hook, which is answered at once, searches follow each other.",
  );
  results.list("Changes of results, and pushes");
  results.less(deltaTask, whole, "ms", deltaTimes);
  results.targets({ what: deltaTask, of: [deltaTask, whole], atMost: [20, 5] });
  for (const { name, times } of rows) {
    results.less(pushTask, name, "ms", times);
    results.targets({ what: `${pushTask} ${name}, p50`, of: [pushTask, name], atMost: [100, 100] });
  }
}

/** Among files of usual size the one with the most lines that the query finds. */
async function chooseFile(corpus: Corpus): Promise<Pick<Scene, "path" | "text">> {
  let chosen = { path: "", text: "", count: -1 };
  for (const path of (await smallFiles(corpus, 32 << 10)).filter((_, i) => i % 97 === 0)) {
    const text = readSource(corpus, path).text.toString("latin1");
    const count = text.split("\n").filter((each) => each.includes("return")).length;
    if (count > chosen.count) chosen = { path, text, count };
  }
  return chosen;
}

/** Commits the file with another first line, so that all its lines move, and with another result. */
async function commitFile({ directory, branch, path, text }: Scene, word: string): Promise<void> {
  const changed = Buffer.from(`${word}: return of ${word}\n${text}`, "latin1");
  await commit(directory, branch, [{ path, text: changed }], `refs/heads/${branch}^0`);
}

async function pushOnce(
  scene: Scene,
  push: (scene: Scene, word: string) => Promise<void>,
  word: string,
): Promise<{ readonly pushMs: number; readonly deltaMs: number }> {
  const { trawl } = scene;
  await commitFile(scene, word);
  await sleep(pauseMs);
  const receiptUrl = await trawl.receiptUrl();
  const startedMs = monotonicMs();
  await push(scene, word);
  const pushMs = monotonicMs() - startedMs;
  await sleep(pauseMs);
  const { ms, changes } = await trawl.changes(query, receiptUrl);
  if (!changes.some(({ line: text }) => text?.includes(word)))
    throw new TrawlError("internal", `the changes lack the line of ${word}`);
  return { pushMs, deltaMs: ms };
}

/**
 * Throws if what changed, by the daemon, is not the difference of two whole answers. Returns the number of lines that
 * changed.
 */
async function requireTrue(scene: Scene): Promise<number> {
  const { name, trawl } = scene;
  const receiptUrl = await trawl.receiptUrl();
  const gone = new Set<string>();
  await readKeys(trawl, (key) => gone.add(key));
  await commitFile(scene, "trawlbenchfirst");
  await trawl.sync(name);
  const came = new Set<string>();
  await readKeys(trawl, (key) => {
    if (!gone.delete(key)) came.add(key);
  });
  const delta = await trawl.changes(query, receiptUrl);
  requireSame(came, keysOf(delta, "newer"));
  requireSame(gone, keysOf(delta, "older"));
  return delta.changes.length;
}

const keyOf = (path: string, lineNumber: number | undefined, text: string | undefined): string =>
  `${path}\0${lineNumber}\0${text}`;

async function readKeys(trawl: Trawl, add: (key: string) => void): Promise<void> {
  await trawl.matches({ q: query, v: "V3" }, ({ path = "", lineMatches = [] }) => {
    for (const match of lineMatches) add(keyOf(path, match.lineNumber, match.line));
  });
}

/** The lines that only one side has. */
function keysOf({ changes }: ChangesAnswer, side: "older" | "newer"): Set<string> {
  const keys = new Set<string>();
  for (const { change, path, lineNumber, line: text, from } of changes) {
    if ((side === "newer") === (change !== "went")) keys.add(keyOf(path, lineNumber, text));
    if (side === "older" && from !== undefined) keys.add(keyOf(from.path, from.lineNumber, text));
  }
  return keys;
}

function requireSame(expected: ReadonlySet<string>, given: ReadonlySet<string>): void {
  const only = [...expected].find((key) => !given.has(key)) ?? [...given].find((key) => !expected.has(key));
  if (only === undefined && expected.size > 0) return;
  throw new TrawlError("internal", `what changed differs from two whole answers at ${JSON.stringify(only)}`);
}
