/** `duplicates=1`: the matches of a blob are reported once, and every place that has it by its path. */
import t from "tap";
import { SseDecoder } from "../../src/cli/connection/sse-decoder.js";
import type { Progress, StreamMatch } from "../../src/model/stream-events.js";
import { runCommand, testDaemon, withSymbols } from "../support/daemon.js";
import { fixture } from "../support/git-mirror.js";
import { ask } from "../support/graphql.js";
import { becomes } from "../support/waiting.js";

const eventBytesMax = 1 << 20;
const placeCount = 20_000;
const shared = "int needle(void) { return 1; }\nint other; // needle needle\n";
const matchesOfShared = 3;

t.test("contents in several places", { timeout: 900_000 }, async (t) => {
  const daemon = await testDaemon(t, [...withSymbols, "--set", "workers=2"]);
  const [first, second, hidden] = [fixture(t), fixture(t), fixture(t)];
  first.commit({ branch: "main", files: { "a.c": shared, "copy/b.c": shared, "own.c": "needle\n" } });
  first.commit({ branch: "dev", files: { "a.c": shared, "dev.c": shared } });
  first.updateRef("refs/tags/v1", first.git("rev-parse", "dev"));
  second.commit({ branch: "main", files: { "vendored/a.c": shared, "x.h": "needle here\n" } });
  hidden.commit({ branch: "main", files: { "secret.c": shared } });
  await daemon.add("host/first", first.path, ["dev"]);
  await daemon.add("host/second", second.path);
  await daemon.add("host/hidden", hidden.path);
  await daemon.control("POST", "/.api/repos/host%2Fhidden/attributes", { private: true, readers: [] });

  const search = async (q: string, parameters: Readonly<Record<string, string>> = {}) => {
    const query = new URLSearchParams({ q, t: "literal", v: "V3", cm: "true", receipt: "1", ...parameters });
    const { status, text } = await daemon.get(`/.api/search/stream?${query}`);
    const events = status === 200 ? new SseDecoder().push(Buffer.from(text)) : [];
    const matches = events.flatMap(({ name, data }) => (name === "matches" ? (JSON.parse(data) as StreamMatch[]) : []));
    const last = events.findLast(({ name }) => name === "progress");
    return {
      status,
      text,
      matches,
      progress: JSON.parse(last?.data ?? "{}") as Progress,
      eventBytes: Math.max(0, ...events.map(({ data }) => data.length)),
    };
  };
  const grouped = (q: string, parameters: Readonly<Record<string, string>> = {}) =>
    search(q, { duplicates: "1", ...parameters });
  const nameOf = ({ repository, branches, path }: StreamMatch): string => `${repository}@${branches?.join()}:${path}`;
  const isPlace = ({ duplicate }: StreamMatch): boolean => duplicate === true;

  await t.test("each place is reported, and the matches once", async (t) => {
    const plain = await search("needle count:all");
    const found = await grouped("needle count:all");
    t.same(found.matches.map(nameOf).sort(), plain.matches.map(nameOf).sort());
    t.notMatch(found.text, "secret", "places in repositories that the viewer does not see are left out");
    const ofShared = found.matches.filter(({ path }) => !/own|x\.h/.test(path ?? ""));
    t.equal(new Set(ofShared.map(({ contentKey }) => contentKey)).size, 1);
    t.equal(new Set(found.matches.map(({ contentKey }) => contentKey)).size, 3);
    t.equal(ofShared.filter(isPlace).length, 2);
    const [full] = ofShared.filter((match) => !isPlace(match));
    t.equal(full?.chunkMatches?.flatMap(({ ranges }) => ranges).length, matchesOfShared);
    for (const place of ofShared.filter(isPlace)) t.match([place.chunkMatches, place.type], [undefined, "path"]);
    t.match(found.progress, {
      matchCount: matchesOfShared + 2,
      duplicates: { places: 2, matchesInAllPlaces: 3 * matchesOfShared + 2, complete: true },
    });
    t.equal(plain.progress.matchCount, 3 * matchesOfShared + 2);
    t.equal(plain.progress.duplicates, undefined);
    t.equal(found.progress.receipt?.digest, plain.progress.receipt?.digest, "the digest is that of all places");
    t.match(found.text, /"contentKey":"[0-9a-f]{40}\./, "the key begins with the blob");
  });

  await t.test("in several revisions, indexed or not", async (t) => {
    for (const q of ["repo:first rev:main:dev needle count:all", "repo:first rev:main:v1 needle count:all"]) {
      const [plain, found] = [await search(q), await grouped(q)];
      t.same(found.matches.map(nameOf).sort(), plain.matches.map(nameOf).sort(), q);
      t.equal(found.matches.filter((match) => !isPlace(match)).length, 2, q);
      t.equal(found.progress.duplicates?.matchesInAllPlaces, plain.progress.matchCount, q);
    }
  });

  await t.test("each place counts as one match to a limit", async (t) => {
    const { matches, progress } = await grouped("needle file:\\.c$ count:5");
    const counted = matches.reduce(
      (sum, match) => sum + (isPlace(match) ? 1 : (match.chunkMatches?.flatMap(({ ranges }) => ranges).length ?? 1)),
      0,
    );
    t.equal(counted, 5);
    t.match(progress.skipped, [{ reason: "shard-match-limit" }]);
  });

  await t.test("other kinds of results", async (t) => {
    t.equal((await grouped("needle select:repo count:all")).progress.duplicates?.places, 0);
    const paths = await grouped("type:path file:c$ count:all");
    t.same(paths.progress.duplicates?.places, 2, "results without matches have the same blob");
    const places = async () => (await grouped("type:symbol needle count:all")).matches.filter(isPlace).length;
    await becomes(t, places, 2, "symbols, once they are extracted");
  });

  await t.test("what cannot be combined", async (t) => {
    t.match(await grouped("needle", { resume: "1" }), { status: 400, text: /cannot be combined with resume=1/ });
    t.match(await grouped("needle", { watch: "1" }), { status: 400, text: /cannot be combined with since or watch/ });
    t.match((await grouped("needle", { duplicates: "2" })).text, /duplicates must be parseable as a boolean/);
  });

  await t.test("GraphQL and the command line", async (t) => {
    const answer = await ask(
      daemon.url,
      `{ search(query: "needle count:all", duplicates: true) { results {
        matchCount duplicates { places matchesInAllPlaces complete }
        results { ... on FileMatch { file { path } places(first: 1) { count files { path } } } }
      } } }`,
    );
    t.match(answer, {
      data: {
        search: {
          results: { matchCount: 5, duplicates: { places: 2, matchesInAllPlaces: 11, complete: true }, results: Array },
        },
      },
    });
    t.equal(JSON.stringify(answer).match(/"count":2,"files":\[\{"path":"[^"]*"\}\]/g)?.length, 1);
    const { out, exitCode } = await runCommand(
      "search",
      "--endpoint",
      daemon.url,
      "--duplicates",
      "--count",
      "all",
      "needle",
    );
    t.equal(exitCode, 0);
    const places = [...out.matchAll(/^([^=\n]+)=(.+)$/gm)].map(([, , first]) => first ?? "");
    t.equal(places.length, 2, out);
    for (const first of places) t.ok(out.includes(`${first}:1:int needle`), out);
    t.equal(out.match(/int needle/g)?.length, 1, out);
  });

  await t.test(`a content in ${placeCount} places`, async (t) => {
    const many = fixture(t);
    const files = Array.from({ length: placeCount }, (_, i) => [`d${i % 100}/f${i}.txt`, "thread and haystack\n"]);
    many.commit({ branch: "main", files: Object.fromEntries(files) });
    await daemon.add("host/many", many.path);
    const { matches, progress, eventBytes } = await grouped("haystack count:all");
    t.equal(matches.length, placeCount);
    t.equal(matches.filter(isPlace).length, placeCount - 1);
    t.match(progress, {
      matchCount: 1,
      duplicates: { places: placeCount - 1, matchesInAllPlaces: placeCount, complete: true },
    });
    t.ok(eventBytes < eventBytesMax, `the places are in events of at most ${eventBytes} bytes`);
  });
});
