import { renameSync } from "node:fs";
import t from "tap";
import { SseDecoder, type StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import type { FleetSite } from "../support/fleet-site.js";
import { type Answer, faultsOf, failoverSite, isConnected, search } from "../support/failover-site.js";
import { isFull, quantile, record, rounds, scaled } from "../support/full-run.js";
import { seed } from "../support/property.js";
import { randomFrom } from "../support/random.js";
import { shared } from "../support/shared.js";
import { until } from "../support/waiting.js";

// A search goes on at another node with the same repositories if one dies, is paused or is cut off: nothing is lost, nothing is there
// twice, and the client sees no error.

/**
 * In a short run the fault comes within these bytes, and the node that is searched cannot send more than those before it: with the
 * credit that it has, that is less than it has to send, so that it has not finished.
 */
const early = { faultBytes: 64 * 1024, heldBytes: 256 * 1024 } as const;

/** Of a search with a limit, whose documents are ranked: what is read at once may pass beyond it, and is less than half of the answer. */
const heldRankedBytes = 16 * 1024;

/** In a long run a search has a million matches. */
const site = shared((owner) => failoverSite(owner, isFull ? 1_000 : 100), t);

/** The kinds of faults, with what is done to the node that is searched and how it comes back; and the bound on added time. */
interface Fault {
  readonly name: string;
  readonly count: number;
  readonly addedMsMax: number;
  readonly begin: (site: FleetSite, node: number) => void;
  readonly end: (site: FleetSite, node: number) => Promise<void>;
}

const faults: readonly Fault[] = [
  {
    name: "kill -9 of a node",
    count: scaled(1, 300),
    addedMsMax: 1_000,
    begin: ({ nodes }, node) => nodes[node].signal("SIGKILL"),
    end: ({ restart }, node) => restart(node),
  },
  {
    name: "a node that is stopped (SIGSTOP)",
    count: scaled(1, 100),
    addedMsMax: 2_500,
    begin: ({ nodes }, node) => nodes[node].signal("SIGSTOP"),
    end: ({ nodes }, node) => Promise.resolve(nodes[node].signal("SIGCONT")),
  },
  {
    name: "a link that is cut without a sign",
    count: scaled(1, 150),
    addedMsMax: 2_500,
    begin: ({ links }, node) => links[node].cut(),
    end: ({ links }, node) => Promise.resolve(links[node].restore()),
  },
];

for (const { name, count, addedMsMax, begin, end } of faults) {
  t.test(`${name} during a search`, { timeout: 7_200_000 }, async (t) => {
    const fleet = await site();
    const [coordinator] = fleet.nodes;
    const calm: number[] = [];
    for (let i = 0; i < (isFull ? 5 : 1); i++) {
      const answer = await search(coordinator, 0, () => undefined);
      t.equal(faultsOf(answer, fleet.matchCount), "", "before");
      calm.push(answer.ms);
    }
    const usualMs = quantile(calm, 0.5);
    const added: number[] = [];
    const before = await coordinator.metric("trawl_fleet_failovers_total");
    let wrong = 0;
    const below = randomFrom(seed);
    for (const round of rounds(count)) {
      const bytes = 1 + below(isFull ? fleet.bytesMin : early.faultBytes);
      if (!isFull) fleet.links[1].holdAfter(early.heldBytes);
      const answer = await search(coordinator, bytes, () => {
        begin(fleet, 1);
        fleet.links[1].release();
      });
      const found = faultsOf(answer, fleet.matchCount);
      if (found !== "") {
        wrong++;
        t.fail(`seed ${seed}, round ${round}, at ${bytes} bytes: ${found}`);
      }
      added.push(answer.ms - usualMs);
      await end(fleet, 1);
      await until("it is asked again", async () => {
        await search(coordinator, 0, () => undefined, "needle repo:^r1$ file:/1.txt count:5");
        return await isConnected(fleet);
      });
    }
    const failovers = (await coordinator.metric("trawl_fleet_failovers_total")) - before;
    t.ok(failovers > 0, `${failovers} failovers`);
    const figure = `${wrong} wrong of ${added.length}, ${failovers} failovers, added p95 ${Math.round(quantile(added, 0.95))} ms`;
    record(37, name, figure);
    t.comment(`${name}: ${figure}; ${Math.round(usualMs)} ms without`);
    if (isFull) t.ok(quantile(added, 0.95) <= addedMsMax, `p95 of the added time at most ${addedMsMax} ms`);
  });
}

/** `PATTERN START-END` of each label, with its file. */
function labelsIn({ events }: Answer): readonly string[] {
  return events
    .flatMap(({ name, data }) => (name === "matches" ? (JSON.parse(data) as StreamMatch[]) : []))
    .flatMap(({ repository, path, lineMatches = [] }) =>
      lineMatches.flatMap(({ patterns = [] }) =>
        patterns.map(([pattern, start, end]) => `${repository} ${path}: ${pattern} ${start}-${end}`),
      ),
    )
    .sort();
}

t.test("the labels of patterns are all there, and once, when a node is lost", async (t) => {
  const fleet = await site();
  const [coordinator] = fleet.nodes;
  const patterns = ["needle", "dle need", "needle needle", ...Array.from({ length: 500 }, (_, i) => `absent ${i}`)];
  const find = (bytes: number, fault: () => void): Promise<Answer> =>
    search(coordinator, bytes, fault, "file:txt", {}, patterns);
  const calm = await find(0, () => undefined);
  const labels = labelsIn(calm);
  // Between two needles of a line there are more.
  t.ok(labels.length > fleet.matchCount, `${labels.length} labels`);
  t.equal(faultsOf(calm, countIn(calm)), "");
  const failovers = () => coordinator.metric("trawl_fleet_failovers_total");
  const before = await failovers();
  for (let i = 0; i < 10 && (await failovers()) === before; i++) {
    await until("the first replica is asked", async () => {
      await search(coordinator, 0, () => undefined, "needle repo:^r1$ file:/1.txt count:5");
      return await isConnected(fleet);
    });
    fleet.links[1].holdAfter(early.heldBytes);
    const answer = await find(early.faultBytes, () => {
      fleet.nodes[1].signal("SIGKILL");
      fleet.links[1].release();
    });
    t.equal(faultsOf(answer, countIn(calm)), "");
    const found = labelsIn(answer);
    if (found.join() !== labels.join()) t.fail(`${found.length} labels of ${labels.length}`);
    await fleet.restart(1);
  }
  t.ok((await failovers()) > before);
});

/** As the search has counted. */
function countIn({ events }: Answer): number {
  const progress = JSON.parse(events.findLast(({ name }) => name === "progress")?.data ?? "{}") as Partial<Progress>;
  return progress.matchCount ?? 0;
}

/** The files of an answer, in their order. */
function filesIn({ events }: Answer): readonly string[] {
  const files = events.flatMap(({ name, data }) =>
    name === "matches"
      ? (JSON.parse(data) as StreamMatch[]).map(({ repository = "", path = "" }) => `${repository} ${path}`)
      : [],
  );
  return files.filter((file, i) => file !== files[i - 1]);
}

t.test("ranked documents keep their order when a node is lost", async (t) => {
  const fleet = await site();
  const [coordinator] = fleet.nodes;
  const query = "needle count:9900";
  // With the range of each match: several times the credit of a node, which then has not sent all when it is lost.
  const long = { cm: "true" };
  const calm = filesIn(await search(coordinator, 0, () => undefined, query, long));
  t.ok(calm.length > 2);
  const failovers = () => coordinator.metric("trawl_fleet_failovers_total");
  const before = await failovers();
  // A node that has not answered for a moment is not asked.
  for (let i = 0; i < 10 && (await failovers()) === before; i++) {
    await until("the first replica is asked", async () => {
      await search(coordinator, 0, () => undefined, "needle repo:^r1$ file:/1.txt count:5");
      return await isConnected(fleet);
    });
    fleet.links[1].holdAfter(heldRankedBytes);
    const answer = await search(
      coordinator,
      heldRankedBytes / 2,
      () => {
        fleet.nodes[1].signal("SIGKILL");
        fleet.links[1].release();
      },
      query,
      long,
    );
    t.same(filesIn(answer), calm);
    await fleet.restart(1);
  }
  t.ok((await failovers()) > before);
});

/** Searches, pauses after the first results, calls `change`, kills the node that is asked first, and reads the rest. */
async function searchWithLoss(change: () => Promise<void>): Promise<readonly StreamEvent[]> {
  const { nodes, restart, ...fleet } = await site();
  const [coordinator] = nodes;
  await until("the first replica is asked", async () => {
    await search(coordinator, 0, () => undefined, "needle repo:^r1$ file:/1.txt count:5");
    return await isConnected({ nodes, restart, ...fleet });
  });
  const stream = await coordinator.openStream("needle", "literal", { receipt: "1" });
  const decoder = new SseDecoder();
  const events: StreamEvent[] = [];
  await new Promise<void>((resolve) => {
    stream.on("data", (bytes: Buffer) => {
      events.push(...decoder.push(bytes));
      if (stream.isPaused() || !events.some(({ name, data }) => name === "matches" && /"r[0-2]"/.test(data))) return;
      stream.pause();
      resolve();
    });
  });
  await change();
  await nodes[1].kill();
  const closed = new Promise((resolve) => stream.on("close", resolve));
  stream.removeAllListeners("data");
  stream.on("data", (bytes: Buffer) => events.push(...decoder.push(bytes)));
  stream.resume();
  await closed;
  await restart(1);
  return events;
}

t.test("a repository is searched at one commit, which the replica may have only in its mirror", async (t) => {
  const { fixtures, nodes, matchCount } = await site();
  const changed = fixtures.slice(0, 3).map((fixture, i) => ({ fixture, name: `r${i}` }));
  const heads = new Map<string, string>();
  const events = await searchWithLoss(async () => {
    for (const { fixture, name } of changed) {
      heads.set(name, fixture.commit({ branch: "main", files: { "later.txt": "a needle\n" } }));
      await nodes[2].sync(name);
    }
  });
  // Of a repository of which nothing was sent, the later commit may be searched.
  const commits = new Map<string, Set<string>>();
  let count = 0;
  for (const { name, data } of events) {
    if (name !== "matches") continue;
    for (const { repository = "", commit = "", lineMatches = [] } of JSON.parse(data) as (StreamMatch & {
      commit: string;
    })[]) {
      commits.set(repository, (commits.get(repository) ?? new Set()).add(commit));
      for (const { offsetAndLengths } of lineMatches) count += offsetAndLengths.length;
    }
  }
  const progress = JSON.parse(events.findLast(({ name }) => name === "progress")?.data ?? "{}") as Partial<Progress>;
  t.same(
    [...commits.values()].map(({ size }) => size),
    [1, 1, 1, 1],
    "no repository at two commits",
  );
  const later = [...heads].filter(([name, head]) => commits.get(name)?.has(head) === true).length;
  t.ok(later < changed.length, `${later} at the later one`);
  t.same([count, progress.matchCount, progress.receipt?.complete], [matchCount + later, matchCount + later, true]);
});

t.test("what a replica does not have at the commit that was begun is named", async (t) => {
  const { fixtures, nodes } = await site();
  // The replica that is asked first is ahead, and the other one has never fetched that commit.
  for (const [i, fixture] of fixtures.slice(0, 3).entries()) {
    fixture.commit({ branch: "main", files: { "latest.txt": "another needle\n" } });
    await nodes[1].sync(`r${i}`);
  }
  const paths = fixtures.map(({ path }) => path);
  for (const path of paths.slice(0, 3)) renameSync(path, `${path}-away`);
  try {
    const events = await searchWithLoss(() => Promise.resolve());
    const progress = JSON.parse(events.findLast(({ name }) => name === "progress")?.data ?? "{}") as Partial<Progress>;
    t.equal(progress.receipt?.complete, false);
    t.match(progress.skipped?.map(({ message }) => message).join(), /r[0-2]/);
    t.equal(events.at(-1)?.name, "done");
  } finally {
    for (const path of paths.slice(0, 3)) renameSync(`${path}-away`, path);
  }
});
