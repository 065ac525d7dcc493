/** The pages of commits and files on code hosts. */
import t from "tap";
import { hostCommitUrl, hostEntryUrl, parseCodeHost } from "../../../src/browse/urls.js";

t.test("each host has its own addresses", async (t) => {
  for (const [cloneUrl, commit, file] of [
    ["https://github.com/o/r.git", "https://github.com/o/r/commit/1a", "https://github.com/o/r/blob/1a/a%20b/c.ts"],
    ["git@gitlab.com:o/r.git", "https://gitlab.com/o/r/commit/1a", "https://gitlab.com/o/r/blob/1a/a%20b/c.ts"],
    [
      "https://bitbucket.org/o/r.git",
      "https://bitbucket.org/o/r/commits/1a",
      "https://bitbucket.org/o/r/src/1a/a%20b/c.ts",
    ],
  ] as const) {
    const host = parseCodeHost(cloneUrl);
    if (host === undefined) throw new Error("it is on a host");
    t.equal(hostCommitUrl(host, "1a"), commit);
    t.equal(hostEntryUrl(host, "blob", "1a", "a b/c.ts"), file);
  }
});
