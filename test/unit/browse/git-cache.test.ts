/** What is kept of mirrors has a limit in bytes. */
import t from "tap";
import { GitCache } from "../../../src/browse/mirror-reads.js";

t.test("the last commits of directories count with the names of their entries", async (t) => {
  const { lastCommits } = new GitCache();
  const long = "n".repeat(20 << 20);
  const commit = "a".repeat(40);
  lastCommits.set("found", { found: [{ name: long, commit }], left: [] });
  t.ok(lastCommits.get("found"));
  lastCommits.set("left", { found: [], left: [{ commit, names: [long] }] });
  t.ok(lastCommits.get("left"));
  t.equal(lastCommits.get("found"), undefined, "both have more than 32 MiB");
});
