import t from "tap";
import { hasBit } from "../../../src/base/bits.js";
import { listCommits, listedOids } from "../../../src/git/history/commit-list.js";
import { neverStop } from "../../../src/base/stop-signal.js";
import { CommitCover } from "../../../src/history/commit-cover.js";
import { HistoryReader } from "../../../src/history/history-reader.js";
import { generateHistory } from "../../support/history-repository.js";
import { buildHistoryShard } from "../../support/history-shards.js";
import { seed } from "../../support/property.js";

t.test("each commit of a list is in one shard, or missing", async (t) => {
  for (const offset of [0, 1]) {
    const repository = generateHistory(seed + offset, 40);
    t.teardown(() => repository.remove());
    const all = repository.git("rev-list", "--all").split("\n");
    const shards = [all.slice(0, 15), all.slice(10, 25), all.slice(30)];
    const tip = all[0];
    const list = await listCommits(repository.path, [tip], [], neverStop);
    const listed = listedOids(list, 0, list.count);
    const cover = new CommitCover(list);
    const found: string[] = [];
    for (const commits of shards) {
      const reader = new HistoryReader(1, await buildHistoryShard(repository.path, commits, "ts", "without-postings"));
      const visible = cover.add(reader);
      commits.forEach((oid, i) => {
        if (hasBit(visible, i)) found.push(oid);
      });
    }
    const missing = [...cover.missing()].map((at) => listed[at]);
    t.same([...found, ...missing].sort(), [...listed].sort(), "once each");
    const indexed = new Set(shards.flat());
    t.same(
      missing,
      listed.filter((oid) => !indexed.has(oid)),
    );
  }
});
