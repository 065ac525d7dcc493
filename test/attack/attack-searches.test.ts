/**
 * Searches that are made to take for ever, on a live daemon: each ends at most a second after its time is over or its
 * client has left, with what was found and what was left out, and an ordinary search is answered meanwhile and at once
 * after.
 */
import t, { type Test } from "tap";
import { repeatedBounds, underAttack } from "../support/attack.js";
import { testDaemon, textsOnly, type DaemonProcess, type SearchAnswer } from "../support/daemon.js";
import { chosen, isFull } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { ProcessorWatch } from "../support/processor-time.js";
import { until } from "../support/waiting.js";

/** A search has ended so long after its `timeout:`, and after its client has left. */
const endMsMax = 1000;

/** Of searches that end before: on a busy machine they take long as well. */
const longMs = 600_000;

/** What a thread may run for one of them. */
const longRanMsMax = 20_000;

const megabyte = 1_000_000;

/** Letters in no order, so that automata meet all of their states. The same each time. */
function letters(byteCount: number): Buffer {
  const text = Buffer.alloc(byteCount);
  let state = 12345;
  for (let i = 0; i < byteCount; i++) {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    text[i] = 97 + ((state >>> 16) & 3);
  }
  return text;
}

const fixture = GitFixture.create();
t.teardown(() => fixture.remove());
fixture.commit({
  branch: "main",
  files: {
    "words.txt": "lorem ipsum dolor sit amet ".repeat(22_000),
    "more/words.txt": "the quick brown fox_jumps over ".repeat(31_000),
    "one-line.txt": letters((isFull ? 20 : 8) * megabyte),
    "usual/a.txt": "an ordinary line\nand a zqz\n",
    [`long/${"aab/".repeat(900)}path.txt`]: "text\n",
  },
});

async function attacked(): Promise<DaemonProcess> {
  const daemon = await testDaemon(t, [...textsOnly, "--set", `search.maxTimeoutSeconds=${longMs / 1000}`]);
  await daemon.add("hostile", fixture.path);
  return daemon;
}

const daemon = await attacked();

function durationMs({ progress }: SearchAnswer): number {
  return (progress as unknown as { durationMs: number }).durationMs;
}

async function endsInTime(
  t: Test,
  query: string,
  timeoutMs: number,
  ranMsMax: number = timeoutMs + 3 * endMsMax,
): Promise<SearchAnswer> {
  const watch = new ProcessorWatch(daemon.pid);
  const answer = await underAttack(t, daemon, repeatedBounds, query, () => {
    watch.start();
    return daemon.search(`${query} timeout:${timeoutMs}ms`, "standard");
  });
  const { waitedMs, workerRanMs } = watch.since();
  t.ok(workerRanMs <= ranMsMax, `${query}: a thread ran for ${workerRanMs.toFixed(0)} ms`);
  const ms = durationMs(answer) - waitedMs;
  if (isFull)
    t.ok(ms <= timeoutMs + endMsMax, `${query}: ended after ${ms.toFixed(0)} ms, excluding waits for a processor`);
  return answer;
}

t.test("a pattern that is quadratic leaves out the files that it is quadratic in, and names them", async (t) => {
  const { found, progress, skipped } = await endsInTime(
    t,
    "-file:one-line /\\w(?s:.*zqz)?/ count:all",
    longMs,
    longRanMsMax,
  );
  t.same(skipped, ["document-match-limit"]);
  t.match(
    progress?.skipped[0]?.message,
    /^2 files were left out[^]*`hostile` words\.txt[^]*`hostile` more\/words\.txt|more\/words\.txt[^]*words\.txt/,
  );
  t.ok(found.includes("hostile:usual/a.txt:1"), "other files of the same shard are searched");
});

/** Each is slow in another way: in the automaton, in the number of matches, in their length, or on paths. */
const patterns = [
  "/(?s:.*[ab].{15}){60}z/",
  "/a.*[bc].{300}z/",
  "/(?s)a.{200}z/",
  "/(?s:(?:a.*b.*c.*d){30}z)/",
  "/(?s).*/",
  "/(?s:.*)*zz/",
  "/[^x]{1000}z/",
  "/(?i)(?:[k-s\\pL]\\pL?){300}é/",
  "/x*/",
  "/\\b/",
  "/(a|b)?/",
  "/[ab]/",
  "a",
  "NOT /(?s:.*z)?/",
  "file:(a.*b.*){40}z",
  "/(?i)(.*a.*){50}z/ type:path",
  "-file:(?:a?){500}b abcd",
  "file:has.content((?s:.*[ab].{15}){60}z) a",
];

const usualPatterns = chosen(
  patterns,
  "/(?s:.*[ab].{15}){60}z/",
  "/(?s).*/",
  "/(?i)(?:[k-s\\pL]\\pL?){300}é/",
  "/x*/",
  "/[ab]/",
  "NOT /(?s:.*z)?/",
  "/(?i)(.*a.*){50}z/ type:path",
  "file:has.content((?s:.*[ab].{15}){60}z) a",
);

for (const pattern of usualPatterns) {
  t.test(`${pattern} ends in time`, async (t) => {
    const { error } = await endsInTime(t, `${pattern} count:all`, isFull ? 500 : 200);
    t.equal(error, "");
  });
}

t.test("a regexp that is too large for RE2 is the query's mistake", async (t) => {
  for (const query of ["file:[a-zé\\pL]{1000} ordinary", "type:file /[a-zé\\pL]{1000}/"]) {
    const { alert, skipped } = await endsInTime(t, query, longMs, longRanMsMax);
    t.equal(alert, "Unable To Process Query");
    t.same(skipped, []);
  }
});

t.test("searches whose clients have left end, and leave the threads to others", async (t) => {
  await underAttack(t, daemon, repeatedBounds, "leaving clients", async () => {
    const leaving = ["/\\w(?s:.*zqz)?/", "/(?s:.*[ab].{15}){60}z/", "/[ab]/", "/x*/"];
    const responses = await Promise.all(
      [...leaving, ...leaving].map((query) => daemon.openStream(`${query} timeout:60s`, "standard")),
    );
    await until(
      "all threads search, and others wait for them",
      async () => (await daemon.metric("trawl_queue_length")) > 0,
    );
    for (const response of responses) response.destroy();
    const answer = await daemon.search("ordinary", "standard");
    t.same(answer.found, ["hostile:usual/a.txt:1"]);
    if (isFull) t.ok(durationMs(answer) <= 2 * endMsMax, `an ordinary search took ${durationMs(answer)} ms`);
  });
  await until("none runs any more", async () => (await daemon.metric("trawl_searches_running")) === 0);
});
