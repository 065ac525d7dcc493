import t from "tap";
import type { FleetSite } from "../support/fleet-site.js";
import { faultsOf, failoverSite, isConnected, search } from "../support/failover-site.js";
import { isFull, quantile, record, rounds, scaled } from "../support/full-run.js";
import { shared } from "../support/shared.js";
import { until } from "../support/waiting.js";

// A search goes on at another node with the same repositories if one dies, is paused or is cut off: nothing is lost, nothing is there
// twice, and the client sees no error.

/** In a long run a search has a million matches. */
const site = shared((owner) => failoverSite(owner, isFull ? 1_000 : 100));

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
    end: ({ links }, node) => Promise.resolve(links[node].mend()),
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
    for (const round of rounds(count)) {
      const bytes = 1 + Math.floor(Math.random() * fleet.bytesMin);
      const answer = await search(coordinator, bytes, () => begin(fleet, 1));
      const found = faultsOf(answer, fleet.matchCount);
      if (found !== "") {
        wrong++;
        t.fail(`round ${round}: ${found}`);
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
