import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import { fieldNames, fields } from "../../src/query/syntax/fields.js";
import { GitFixture } from "../support/git-fixture.js";
import { sharedDaemon } from "../support/shared-daemon.js";
import { siteOptions } from "./site-options.js";
import { until } from "../support/waiting.js";

// docs/query-syntax.md: every example finds something in this repository, and every field has one.

const root = new URL("../../../", import.meta.url).pathname;

const examples = readFileSync(join(root, "docs/query-syntax.md"), "utf8")
  .split("\n## ")
  .filter((section) => section.startsWith("Examples\n"))
  .flatMap((section) => [...section.matchAll(/^\| (?!to find)[^|]+ \| `(.+)` \|$/gm)])
  .map(([, query]) => query);

t.test("every field has an example", async (t) => {
  t.ok(examples.length > 40);
  for (const name of fieldNames) {
    if (!fields[name].built || fields[name].value === "refused") continue;
    const typed = [name, ...fields[name].aliases];
    t.ok(
      examples.some((query) => typed.some((word) => new RegExp(`(^|[ (-])${word}:`, "i").test(query))),
      `${name}:`,
    );
  }
});

/** Everything below these, as files of a commit: what the examples name, and enough for the others to find something. */
const folders = ["docs", "src/eval", "src/native/kernel", "src/query", "src/search", "src/shard"];
const committed = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|md|cc|h)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length)),
);

t.test("every example has results", async (t) => {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({
    branch: "main",
    files: Object.fromEntries(["README.md", ...committed].map((path) => [path, readFileSync(join(root, path))])),
  });
  const daemon = await sharedDaemon(t, { repositories: [{ name: "trawl", url: fixture.path }] }, siteOptions);
  await until("the repository can be searched", async () => (await daemon.get("/readyz")).status === 200);
  for (const query of examples) {
    const { text } = await daemon.get(`/.api/search/stream?${new URLSearchParams({ q: query, v: "V3" })}`);
    const events = new SseDecoder().push(Buffer.from(text));
    const alert = events.find(({ name }) => name === "alert" || name === "error");
    t.ok(alert === undefined && events.some(({ name }) => name === "matches"), query, { alert: alert?.data });
  }
});
