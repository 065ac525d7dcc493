import { isDeepStrictEqual } from "node:util";
import t from "tap";
import type { StreamEvent } from "../../src/cli/connection/sse-decoder.js";
import type { Filter, Progress, Receipt, StreamMatch } from "../../src/model/stream-events.js";
import { corpus } from "../cases/corpus.js";
import { ask, comparable, configured, configuredContexts } from "../cases/over-http.js";
import { predicates } from "../cases/predicates.js";
import { cases as queries } from "../cases/queries.js";
import { repositoryCases } from "../cases/repositories.js";
import { revisionCases } from "../cases/revisions.js";
import { type DaemonProcess, eventsOf } from "../support/daemon.js";
import { type FleetSite, startFleet } from "../support/fleet-site.js";
import { ask as askGraphql } from "../support/graphql.js";
import { inLongRuns, isFull, rounds, scaled } from "../support/full-run.js";
import { GitFixture } from "../support/git-fixture.js";
import { fc, runs, seed } from "../support/property.js";
import { atom, expressionOf, filters } from "../support/search-generator.js";
import { shared } from "../support/shared.js";
import { until } from "../support/waiting.js";

// N processes answer as one: a search of three nodes, each with some of the repositories, has the results, counts,
// filters and receipt of one daemon with all of them.

const timeout = ["--set", "search.defaultTimeoutSeconds=60"];

/** Lines with a match, in a repository of its own: enough that a client which does not read stops the search. */
const manyLines = 100_000;

const site = shared(async (owner): Promise<FleetSite & { readonly whole: DaemonProcess }> => {
  const repositories = corpus.map((repository) => configured(owner, repository));
  const large = GitFixture.create();
  owner.teardown(() => large.remove());
  large.commit({ branch: "main", files: { "many.txt": "plenty of results\n".repeat(manyLines) } });
  const all = [...repositories, { name: "large", url: large.path }];
  const nodes = [0, 1, 2].map((node) => all.filter((_, i) => i % 3 === node));
  const configuration = { contexts: configuredContexts };
  const [fleet, { nodes: alone }] = await Promise.all([
    startFleet(owner, nodes, configuration, [...timeout, "--set", "index.symbols=false"]),
    // In the order in which nodes number them.
    startFleet(owner, [nodes.flat()], configuration, [...timeout, "--set", "index.symbols=false"], {
      names: ["alone"],
    }),
  ]);
  return { ...fleet, whole: alone[0] };
}, t);

function one<T>(events: readonly StreamEvent[], kind: string): T | undefined {
  const event = events.findLast(({ name }) => name === kind);
  return event && (JSON.parse(event.data) as T);
}

function matchesOf(events: readonly StreamEvent[]): readonly StreamMatch[] {
  return events.flatMap(({ name, data }) => (name === "matches" ? (JSON.parse(data) as StreamMatch[]) : []));
}

/** What two answers must have in common: everything but ids, times and addresses. */
function essence(events: readonly StreamEvent[]): object {
  const matches = matchesOf(events).map((match) => JSON.stringify({ ...match, repositoryID: 0, repoLastFetched: "" }));
  const progress = one<Progress>(events, "progress");
  const receipt = progress?.receipt;
  const kept = receipt && {
    complete: receipt.complete,
    matchCount: receipt.matchCount,
    documentsSearched: receipt.documentsSearched,
    digest: receipt.digest,
    digestedMatches: receipt.digestedMatches,
    excludedByReason: receipt.excludedByReason,
    repositories: receipt.repositories.items
      .map(({ repository, revisions }) => JSON.stringify({ repository, revisions }))
      .sort(),
  };
  return {
    matches: matches.sort(),
    matchCount: progress?.matchCount,
    repositoriesCount: progress?.repositoriesCount,
    skipped: progress?.skipped.map(({ reason, title }) => `${reason} ${title}`),
    receipt: kept,
    filters: one<readonly Filter[]>(events, "filters"),
    error: one<{ message: string }>(events, "error")?.message,
  };
}

const cases = [...queries, ...predicates, ...repositoryCases, ...revisionCases];

t.test("the cases are answered as the table says, whichever node is asked", async (t) => {
  const { nodes } = await site();
  const tokens = await Promise.all(nodes.map((node) => node.addToken("admin")));
  const rows = cases.filter((_, i) => isFull || i % 31 === 1);
  for (const [i, { name, query, request, want, skipped }] of rows.entries()) {
    const at = i % nodes.length;
    const answer = await ask(nodes[at], query, `${request}&near=0&token=${tokens[at]}`);
    const found = answer.found.filter((text) => text !== "large");
    const got = comparable(found, want);
    if (!isDeepStrictEqual(got, [...want].sort())) t.same(got, [...want].sort(), `${name}: ${query}`);
    if (skipped !== undefined && !isDeepStrictEqual(answer.skipped, skipped)) t.same(answer.skipped, skipped, name);
  }
  t.pass("every row");
});

t.test("any query has the results, counts, filters and receipt of one daemon", async (t) => {
  const { nodes, whole } = await site();
  const query = fc.tuple(
    fc.oneof(atom, expressionOf(atom)),
    filters,
    fc.constantFrom("", "select:repo", "select:file", "type:path"),
  );
  const token = await whole.addToken("admin");
  const tokens = await Promise.all(nodes.map((node) => node.addToken("admin")));
  let turn = 0;
  await fc.assert(
    fc.asyncProperty(query, async (parts) => {
      const at = turn++ % nodes.length;
      const text = parts.join(" ");
      const more = { receipt: "1", near: "0", context: "1" };
      const [wanted, got] = await Promise.all([
        whole.stream(text, "standard", { ...more, token }),
        nodes[at].stream(text, "standard", { ...more, token: tokens[at] }),
      ]);
      const [a, b] = [essence(wanted), essence(got)];
      if (!isDeepStrictEqual(a, b)) t.same(b, a, text);
      return isDeepStrictEqual(a, b);
    }),
    { seed, numRuns: runs(60) },
  );
  t.pass("every query");
});

/** Ranges of all match objects, and repositories and paths without one. */
function countOf(matches: readonly StreamMatch[]): number {
  return matches.reduce((sum, match) => {
    const lines = (match.lineMatches ?? []) as readonly { readonly offsetAndLengths: readonly unknown[] }[];
    return (
      sum +
      Math.max(
        1,
        lines.reduce((ranges, line) => ranges + line.offsetAndLengths.length, 0),
      )
    );
  }, 0);
}

/** Of a line that is longer than an event may be, a limit leaves fewer ranges than it counts, as on a single host. */
const limited = "e -repo:large";

/** What decides about the order of results, and of what they are. */
function inOrder(events: readonly StreamEvent[]): readonly string[] {
  return matchesOf(events).map((match) => JSON.stringify({ ...match, repositoryID: 0, repoLastFetched: "" }));
}

/** Words of the texts and names of the corpus. */
const words = [
  ...new Set(
    corpus.flatMap(({ name, files }) =>
      [name, ...files.flatMap(({ path, content }) => [path, content])]
        .filter((text) => typeof text === "string")
        .flatMap((text) => text.slice(0, 10_000).match(/[A-Za-z]{2,12}/g) ?? []),
    ),
  ),
];

t.test("the first results of ranked queries have the order of one daemon", async (t) => {
  const { nodes, whole } = await site();
  const token = await whole.addToken("admin");
  const tokens = await Promise.all(nodes.map((node) => node.addToken("admin")));
  const word = fc
    .constantFrom(...words)
    .chain((text) => fc.nat({ max: Math.max(0, text.length - 2) }).map((from) => text.slice(from, from + 6)));
  const query = fc.tuple(
    fc.oneof(
      { weight: 4, arbitrary: word },
      fc.tuple(word, word).map((both) => both.join(" ")),
      fc.tuple(word, word).map((both) => both.join(" or ")),
    ),
    fc.constantFrom("", "", "", "type:file", "type:path", "type:symbol", "-file:test", "lang:go", "patterntype:regexp"),
    // Without a limit nothing is ranked.
    fc.constantFrom("count:3", "count:20", "count:1000", "count:1000"),
  );
  const display = fc.constantFrom<Readonly<Record<string, string>>>({}, {}, { display: "2" }, { display: "30" });
  let ranked = 0;
  let turn = 0;
  await fc.assert(
    fc.asyncProperty(query, display, async (parts, more) => {
      const at = turn++ % nodes.length;
      const text = parts.join(" ");
      const [wanted, got] = await Promise.all([
        whole.stream(text, "keyword", { near: "0", ...more, token }),
        nodes[at].stream(text, "keyword", { near: "0", ...more, token: tokens[at] }),
      ]);
      const [a, b] = [inOrder(wanted).slice(0, 50), inOrder(got).slice(0, 50)];
      if (a.length > 1) ranked++;
      const counts = [wanted, got].map((events) => one<Progress>(events, "progress")?.matchCount);
      const isSame = isDeepStrictEqual(a, b) && counts[0] === counts[1];
      if (!isSame) t.same([b, counts[1]], [a, counts[0]], `${text} ${JSON.stringify(more)}`);
      return isSame;
    }),
    { seed, numRuns: scaled(24, 500) },
  );
  t.ok(ranked > 5, `${ranked} queries with several results`);
});

t.test("repositories and histories come in the order of one daemon", async (t) => {
  const { nodes, whole } = await site();
  const token = await whole.addToken("admin");
  const tokens = await Promise.all(nodes.map((node) => node.addToken("admin")));
  const queries = [
    "type:repo",
    "type:repo count:2",
    "repo:r",
    "type:commit e",
    "type:commit e count:3",
    // With a line of a megabyte, which has no t; and without the lines of the large one.
    "type:diff e",
    "type:diff e count:5",
    "-repo:large type:diff count:all select:commit.diff.added t",
    "-repo:large type:diff select:repo t",
    "-repo:large (type:commit or (type:diff t))",
    "(type:repo p) or (type:commit e)",
    "count:100 alpha or (type:commit e)",
    "type:commit author:nobody",
    "repo:parser type:diff rev:*refs/heads/* e",
  ];
  for (const [i, query] of queries.entries())
    for (const display of isFull ? [undefined, "4"] : [i % 2 === 0 ? undefined : "4"]) {
      const at = i % nodes.length;
      const more = { near: "0", receipt: "1", ...(display === undefined ? {} : { display }) };
      const [wanted, got] = await Promise.all([
        whole.stream(query, "standard", { ...more, token }),
        nodes[at].stream(query, "standard", { ...more, token: tokens[at] }),
      ]);
      t.same(inOrder(got), inOrder(wanted), `${query} display=${display}`);
      const [a, b] = [essence(wanted), essence(got)];
      if (!isDeepStrictEqual(a, b)) t.same(b, a, `${query} display=${display}`);
    }
});

t.test("limits are exact over all nodes", async (t) => {
  const { nodes, whole } = await site();
  const all = one<Progress>(await whole.stream(limited), "progress")?.matchCount ?? 0;
  t.ok(all > 50, `${all} matches`);
  const counts = isFull ? Array.from({ length: all + 1 }, (_, i) => i + 1) : [1, 2, 7, 30, all - 1, all, all + 1];
  for (const count of counts) {
    const node = nodes[count % nodes.length];
    const events = await node.stream(`${limited} count:${count}`);
    const progress = one<Progress>(events, "progress");
    const want = Math.min(count, all);
    t.same([progress?.matchCount, countOf(matchesOf(events))], [want, want], `count:${count}`);
    t.equal(
      progress?.skipped.some(({ reason }) => reason === "shard-match-limit"),
      count < all,
      `count:${count} skipped`,
    );
    const shown = await node.stream(limited, "literal", { display: String(count) });
    t.same([one<Progress>(shown, "progress")?.matchCount, countOf(matchesOf(shown))], [all, want], `display=${count}`);
  }
  // The last node has found more by then than it may, and waits for credit.
  const dense = await nodes[0].stream("(plenty or e) count:3000", "standard");
  t.same([one<Progress>(dense, "progress")?.matchCount, countOf(matchesOf(dense))], [3000, 3000], "dense");
  const mixed = "(count:3 e -repo:large) or (count:5 a -repo:large lang:go)";
  const [alone, together] = await Promise.all([whole.stream(mixed, "standard"), nodes[1].stream(mixed, "standard")]);
  t.equal(
    one<Progress>(together, "progress")?.matchCount,
    one<Progress>(alone, "progress")?.matchCount,
    "of basic queries",
  );
});

/** What is said of contents that several places have: each in full at one of them, whichever that is. */
function contentsIn(events: readonly StreamEvent[]): object {
  const matches = matchesOf(events);
  const firsts = matches.filter(({ duplicate }) => duplicate !== true);
  const nameOf = ({ repository, branches, path }: StreamMatch): string => `${repository}@${branches?.join()}:${path}`;
  const rangesOf = ({ lineMatches = [] }: StreamMatch): string => JSON.stringify(lineMatches);
  return {
    ...essence(events),
    matches: matches.map((match) => `${nameOf(match)} ${match.contentKey}`).sort(),
    firsts: firsts.map((match) => `${match.contentKey} ${rangesOf(match)}`).sort(),
    duplicates: one<Progress>(events, "progress")?.duplicates,
  };
}

t.test("what several nodes have is sent once, and counts once", async (t) => {
  const { nodes, whole } = await site();
  const more = { duplicates: "1", receipt: "1", near: "0" };
  const queries = [
    "fork:yes -repo:large e count:all",
    "fork:yes -repo:large (parse or widget)",
    "fork:yes repo:parser rev:main:dev parse count:all",
    "fork:yes type:path src",
    "fork:yes select:repo parse",
  ];
  for (const [i, query] of queries.entries()) {
    const asked = [whole, nodes[i % nodes.length]];
    const [wanted, got] = await Promise.all(asked.map((node) => node.stream(query, "standard", more)));
    t.same(contentsIn(got), contentsIn(wanted), query);
  }
  const query = `fork:yes ${limited}`;
  const { matchCount = 0, duplicates } = one<Progress>(await whole.stream(query, "literal", more), "progress") ?? {};
  const all = matchCount + (duplicates?.places ?? 0);
  t.ok((duplicates?.places ?? 0) > 0, `${duplicates?.places} places`);
  for (const count of [1, 7, 30, all - 1, all]) {
    for (const display of [-1, Math.ceil(count / 2)]) {
      const events = await nodes[count % nodes.length].stream(`${query} count:${count}`, "literal", {
        ...more,
        display: String(display),
      });
      const progress = one<Progress>(events, "progress");
      t.equal((progress?.matchCount ?? 0) + (progress?.duplicates?.places ?? 0), count, `count:${count}`);
      const isCut = progress?.skipped.some(({ reason }) => reason === "shard-match-limit");
      t.equal(isCut, count < all, `count:${count} skipped`);
      t.equal(countOf(matchesOf(events)), display < 0 ? count : display, `count:${count} display=${display}`);
    }
  }
});

/** Matches, and places that refer to others: a limit counts both, and which of them come first is not told. */
function countedIn(events: readonly StreamEvent[]): number | undefined {
  const progress = one<Progress>(events, "progress");
  return progress && progress.matchCount + (progress.duplicates?.places ?? 0);
}

t.test("any patterns have the results, labels, counts and receipt of one daemon", async (t) => {
  const { nodes, whole } = await site();
  const word = fc
    .constantFrom(...words)
    .chain((text) => fc.nat({ max: Math.max(0, text.length - 2) }).map((from) => text.slice(from, from + 7)));
  const regexp = fc.oneof(
    word,
    word.map((text) => `${text}\\w*`),
    word.map((text) => `^\\s*${text}`),
    fc.constantFrom("[0-9]{2,}", "e\\n", "(parse|widget)r?", "\\bfunc\\b"),
  );
  const query = fc.tuple(
    fc.constantFrom("", "", "case:no", "file:test", "lang:go", "parse", "fork:yes", "select:repo", "select:file"),
    fc.constantFrom("", "", "", "count:3", "count:40"),
  );
  const set = fc.oneof(
    fc.record({ type: fc.constant("literal"), patterns: fc.array(word, { minLength: 1, maxLength: 12 }) }),
    fc.record({ type: fc.constant("regexp"), patterns: fc.array(regexp, { minLength: 1, maxLength: 6 }) }),
  );
  const more = fc.constantFrom<Readonly<Record<string, string>>>(
    {},
    { cm: "true", cl: "2" },
    { "max-line-len": "10" },
    { duplicates: "1" },
    { group: "repository" },
  );
  const token = await whole.addToken("admin");
  const tokens = await Promise.all(nodes.map((node) => node.addToken("admin")));
  let turn = 0;
  await fc.assert(
    fc.asyncProperty(query, set, more, async (parts, { type, patterns }, options) => {
      const at = turn++ % nodes.length;
      const text = `-repo:large ${parts.join(" ")}`;
      const given = { receipt: "1", ...options };
      const [wanted, got] = await Promise.all([
        whole.stream(text, type, { ...given, token }, patterns),
        nodes[at].stream(text, type, { ...given, token: tokens[at] }, patterns),
      ]);
      const isLimited = text.includes("count:");
      const of = options["duplicates"] === "1" ? contentsIn : essence;
      const [a, b] = [wanted, got].map((events) =>
        isLimited ? [countedIn(events)] : [of(events), one(events, "groups")],
      );
      const isSame = isDeepStrictEqual(a, b);
      if (!isSame) t.same(b, a, `${text} ${type} ${JSON.stringify({ patterns, options })}`);
      return isSame;
    }),
    { seed, numRuns: runs(40) },
  );

  const many = [...words, ...Array.from({ length: 9_000 }, (_, i) => `absent_${i}`)];
  const [wanted, got] = await Promise.all([
    whole.stream("-repo:large", "literal", { receipt: "1", token }, many),
    nodes[1].stream("-repo:large", "literal", { receipt: "1", token: tokens[1] }, many),
  ]);
  t.same(essence(got), essence(wanted), `${many.length} patterns`);
  t.ok(
    got.some(({ data }) => data.includes('"patterns":[[')),
    "with labels",
  );
  const all = one<Progress>(got, "progress")?.matchCount ?? 0;
  for (const count of [1, 2, 30, all - 1, all, all + 1]) {
    const asked = { token: tokens[count % 3] };
    const events = await nodes[count % 3].stream(`-repo:large count:${count}`, "literal", asked, many);
    const want = Math.min(count, all);
    t.same([one<Progress>(events, "progress")?.matchCount, countOf(matchesOf(events))], [want, want], `count:${count}`);
    const shown = await nodes[count % 3].stream("-repo:large", "literal", { ...asked, display: String(count) }, many);
    t.same([one<Progress>(shown, "progress")?.matchCount, countOf(matchesOf(shown))], [all, want], `display=${count}`);
  }
  const refused = await nodes[0].stream("", "regexp", { token: tokens[0] }, ["a", "b("]);
  t.match(one<{ message: string }>(refused, "error")?.message, /^patterns\[1\] "b\(": error parsing regexp/);
});

t.test("what a viewer may not see is hidden where it is", async (t) => {
  const { nodes } = await site();
  for (const node of nodes) {
    const hidden = await node.search("repo:^hidden$ e");
    t.same(hidden.found, []);
    const token = await node.addToken("admin");
    const seen = await node.stream("repo:^hidden$ e", "literal", { token });
    t.ok(matchesOf(seen).length > 0);
  }
});

t.test("what several nodes cannot answer is refused, and no answer of one node looks like one of all", async (t) => {
  const { nodes } = await site();
  const [node] = nodes;
  t.equal((await node.get("/.api/search/stream?q=e&resume=1")).status, 400);
  t.equal((await fetch(`${node.url}/.api/search/stream?q=e`, { headers: { "Last-Event-ID": "x" } })).status, 400);
});

t.test("GraphQL searches all nodes, and reads what another node has", async (t) => {
  const { nodes } = await site();
  const [node] = nodes;
  const query = `query { search(query: "repo:^(large|parser)$ (plenty or parser) count:2000 type:file", version: V3) {
    results { alert { title } matchCount repositories { name } results { ... on FileMatch { file { path } } } } } }`;
  const answer = JSON.stringify(await askGraphql(node.url, query));
  t.match(answer, /"alert":null,"matchCount":2000/);
  t.match(answer, /"name":"large"/);
  t.match(answer, /"name":"parser"/);
  const content = `query { search(query: "repo:^large$ plenty count:1", version: V3) {
    results { results { ... on FileMatch { file { content } } } } } }`;
  const there = JSON.stringify(await askGraphql(nodes[2].url, content));
  t.match(there, /plenty of results/, "which has it");
  t.equal(JSON.stringify(await askGraphql(node.url, content)), there);
  const named = `query { repository(name: "large") { name commit(rev: "HEAD") { oid tree { entries { path } } } } }`;
  t.strictSame(await askGraphql(node.url, named), await askGraphql(nodes[2].url, named));
  const listed = `query { repositories(first: 100) { nodes { name } totalCount notListed } }`;
  t.strictSame(await askGraphql(node.url, listed), await askGraphql(nodes[2].url, listed));
  t.match(JSON.stringify(await askGraphql(node.url, listed)), /"notListed":null/);
});

t.test("a client that does not read stops the leaf, and holds little memory", async (t) => {
  const { nodes } = await site();
  // The node that has the large repository is the last one.
  const [node] = nodes;
  await node.search("plenty count:5");
  const before = await node.heldBytes();
  const stream = await node.openStream("plenty");
  stream.pause();
  const leaf = nodes[2];
  await until("the leaf searches", async () => (await leaf.metric("trawl_fleet_searches_running")) === 1);
  t.equal((await node.search("parser repo:^parser$ count:1")).error, "", "others go on");
  t.ok((await node.heldBytes()) - before < 4 << 20);
  const events = await eventsOf(stream);
  t.equal(
    matchesOf(events).reduce((sum, { lineMatches }) => sum + (lineMatches?.length ?? 0), 0),
    manyLines,
  );
  t.equal(one<Progress>(events, "progress")?.matchCount, manyLines);
});

t.test("a client that leaves ends the search of the leaf", async (t) => {
  const { nodes } = await site();
  const stream = await nodes[0].openStream("plenty");
  stream.pause();
  await until("the leaf searches", async () => (await nodes[2].metric("trawl_fleet_searches_running")) === 1);
  stream.destroy();
  await until("the leaf has ended", async () => (await nodes[2].metric("trawl_fleet_searches_running")) === 0);
  t.pass();
});

t.test("a node that falls silent is named, and goes on later", { ...inLongRuns, timeout: 3_600_000 }, async (t) => {
  const { nodes, names } = await site();
  const [node, , silent] = nodes;
  for (const round of rounds(scaled(1, 100))) {
    const stream = await node.openStream("plenty or parser", "standard");
    stream.pause();
    await until("the leaf searches", async () => (await silent.metric("trawl_fleet_searches_running")) === 1);
    silent.signal("SIGSTOP");
    const events = await eventsOf(stream);
    silent.signal("SIGCONT");
    const message =
      one<Progress>(events, "progress")
        ?.skipped.map((skipped) => skipped.message)
        .join() ?? "";
    if (!message.includes(names[2]) || !message.includes("it is not reachable")) t.fail(`round ${round}: ${message}`);
    await until("the leaf has ended", async () => (await silent.metric("trawl_fleet_searches_running")) === 0);
    // A search waits only a short time for a node that was silent.
    const count = async () => one<Progress>(await node.stream("plenty"), "progress")?.matchCount;
    await until("all nodes are searched again", async () => (await count()) === manyLines);
  }
  t.pass();
});

t.test("a node that dies or is not there is named, and the others answer", { timeout: 3_600_000 }, async (t) => {
  const { nodes, whole, names, restart } = await site();
  const [node] = nodes;
  for (const round of rounds(scaled(0, 100) - 1)) {
    const stream = await node.openStream("plenty or parser", "standard");
    await nodes[2].kill();
    const events = await eventsOf(stream);
    const progress = one<Progress>(events, "progress");
    const counted = countOf(matchesOf(events));
    // Killed after it has ended, it has said everything, and has nothing to be named for.
    const isNamed = progress?.skipped.some(({ message }) => message.includes(names[2])) ?? false;
    const isWhole = counted > manyLines;
    if (progress?.matchCount !== counted || (!isNamed && !isWhole) || events.at(-1)?.name !== "done")
      t.fail(`round ${round}: ${counted} of ${progress?.matchCount} matches, ${JSON.stringify(progress?.skipped)}`);
    await restart(2);
  }
  const dying = nodes[2];
  const stream = await node.openStream("plenty or parser", "standard", { receipt: "1" });
  stream.pause();
  await until("the leaf searches", async () => (await dying.metric("trawl_fleet_searches_running")) === 1);
  await dying.kill();
  const during = await eventsOf(stream);
  const [killed, missing] = [during, await node.stream("parser", "literal", { receipt: "1" })];
  for (const [when, events] of [
    ["killed", killed],
    ["missing", missing],
  ] as const) {
    const progress = one<Progress>(events, "progress");
    const receipt: Receipt | undefined = progress?.receipt;
    t.match(progress?.skipped.map(({ message }) => message).join(), new RegExp(names[2]), `${when}: skipped`);
    t.match(JSON.stringify(one(events, "alert")), new RegExp(names[2]), `${when}: alert`);
    t.equal(receipt?.complete, false, `${when}: receipt`);
    t.match(JSON.stringify(receipt?.excluded), new RegExp(names[2]), `${when}: receipt`);
    t.equal(events.at(-1)?.name, "done");
    t.ok(
      matchesOf(events).some(({ repository }) => repository === "parser"),
      `${when}: others`,
    );
  }
  t.ok(matchesOf(killed).length > 0);
  const strict = await node.stream("parser", "literal", { strict: "1" });
  t.match(one<{ message: string }>(strict, "error")?.message, /incomplete/);
  t.equal((await whole.search("parser")).error, "");
});
