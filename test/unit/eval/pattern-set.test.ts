import assert from "node:assert";
import t from "tap";
import { resultAtOnce } from "../../../src/base/yielding.js";
import { lineBytesUnlimited, ownRequest } from "../../../src/model/search-request.js";
import { operatorViewer } from "../../../src/model/viewer.js";
import { loadKernel } from "../../../src/native/kernel/load.js";
import { escapeRegexp } from "../../../src/base/text.js";
import { compileRegexp } from "../../../src/regexp/match/matcher.js";
import { patternSetLimits, toRequestedPatterns, withSets } from "../../../src/query/plan/pattern-set.js";
import type { SearchPlan } from "../../../src/query/plan/plan.js";
import { planTreeInSteps } from "../../../src/query/plan/plan-query.js";
import { parseQuery } from "../../../src/query/syntax/parse.js";
import { readAsked, writeAsked } from "../../../src/search/fleet/fleet-messages.js";
import { LabelCheck } from "../../../src/search/fleet/label-check.js";
import { type MatchObject, runEngine, testRepository, testShard, type TestDocument } from "../../support/engine.js";
import { withoutReturns } from "../../support/naive.js";
import { fc, runs } from "../../support/property.js";

// A search for a set of patterns finds what one search for each of its patterns finds, for each kernel, with the index
// and without, in one go and with pauses.

const repositories = [testRepository(1, "one")];

function planSet(query: string, texts: readonly string[], type: "literal" | "regexp"): SearchPlan {
  return resultAtOnce(planTreeInSteps(parseQuery(query, type), undefined, toRequestedPatterns(texts, type)));
}

/** Letters that fold to s and k, parts of UTF-8, and texts longer than the windows of the kernel. */
const word = fc.stringMatching(/^[abkKsS_\u017f\u212a\u00e9]{1,6}$/);
const longWord = fc.constantFrom(
  "abkabkabkabk",
  "abkabkab",
  "ABKABKABKABKABKABK",
  "kabkabkabka",
  "aaaaaaaaaaaaaaa",
  "aaaaaaaa",
  "saks_a",
  "k\nab",
  "ab\n",
);
const bytes = fc
  .constantFrom("\xff", "\xc5", "\xe2\x84", "\x00", "\xc5\xbf", "\xe2\x84\xaa")
  .map((text) => Buffer.from(text, "latin1"));
const part = fc.oneof(
  fc
    .oneof(word, longWord, fc.constantFrom(" ", "\n", "\r\n", "", "x".repeat(4090), "abk\n".repeat(1030)))
    .map((text) => Buffer.from(text)),
  bytes,
);
const documents = fc
  .array(
    fc.array(part, { maxLength: 12 }).map((parts) => Buffer.concat(parts)),
    { minLength: 1, maxLength: 8 },
  )
  .map((contents) =>
    contents.map((content, i): TestDocument => ({ path: `f${i}.${i % 2 === 0 ? "c" : "go"}`, content })),
  );

const regexp = fc.constantFrom(
  "a+b?k",
  "(abk|ask)_?",
  "^abk",
  "abk$",
  "[ab]{2,3}",
  "s\\s+a",
  "abk|ask|kas",
  "abk|",
  "a*",
  "x{3,}abk",
  "\\babk",
  "é",
  "(?s)abk.k",
  "abkabk+",
);
const literals = fc.array(fc.oneof(word, longWord), { minLength: 1, maxLength: 12 });
const regexps = fc.array(fc.oneof(word, longWord, regexp), { minLength: 1, maxLength: 8 });

/** `START-END` of each match of one pattern. */
function naiveRanges(text: string, type: string, foldCase: boolean, content: string | Buffer): string[] {
  const source = type === "regexp" ? text : escapeRegexp(text);
  const find = (bytes: Buffer): [number, number][] => {
    const ranges: [number, number][] = [];
    compileRegexp(source, foldCase).findAll(bytes, 0, { push: (start, end) => void ranges.push([start, end]) });
    return ranges;
  };
  const bytes = Buffer.from(content);
  const ranges = type === "regexp" ? withoutReturns(source, bytes, find) : find(bytes);
  return ranges.map(([start, end]) => `${start}-${end}`);
}

function distinct(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)].sort();
}

/** `PATTERN PATH:START-END` of each label. */
function labelsOf(matches: readonly MatchObject[]): string[] {
  return matches
    .flatMap(({ path, chunkMatches, lineMatches }) =>
      (chunkMatches ?? lineMatches ?? []).flatMap(({ patterns = [] }) =>
        patterns.map(([pattern, start, end]) => `${pattern} ${path}:${start}-${end}`),
      ),
    )
    .sort();
}

for (const kernelName of ["native", "ts"] as const) {
  t.test(`a set finds what its patterns find: ${kernelName} kernel`, (t) => {
    const kernel = loadKernel(kernelName);
    fc.assert(
      fc.property(
        documents,
        fc.oneof(
          literals.map((texts) => ({ texts, type: "literal" as const })),
          regexps.map((texts) => ({ texts, type: "regexp" as const })),
        ),
        fc.constantFrom("", "case:yes", "file:c$", "case:yes -file:c$", "abk", "(file:c$ abk) or (file:go$ k)"),
        fc.boolean(),
        fc.boolean(),
        (files, { texts, type }, query, useIndex, pauses) => {
          const shard = testShard(kernel, files, repositories);
          const foldCase = !query.includes("case:yes");
          const run = (patterns: readonly string[], chunkMatches: boolean): readonly MatchObject[] =>
            runEngine(kernel, [shard], planSet(query, patterns, type), {
              useIndex,
              chunkMatches,
              credit: pauses ? 1 : 2 ** 30,
            }).matches;
          const got = run(texts, true);
          const found = got.map(({ path }) => path);
          const all = files.flatMap(({ path, content }) =>
            texts.flatMap((text, i) =>
              naiveRanges(text, type, foldCase, content).map((range) => `${i} ${path}:${range}`),
            ),
          );
          const isFound = (label: string): boolean =>
            found.includes(label.slice(label.indexOf(" ") + 1, label.lastIndexOf(":")));
          const title = JSON.stringify({ texts, type, query });
          assert.deepStrictEqual(labelsOf(got), all.filter(isFound).sort(), title);
          // Matches that consist of line ends alone have no line.
          if (texts.every((text) => type === "literal" && !text.includes("\n")))
            assert.deepStrictEqual(labelsOf(run(texts, false)), all.filter(isFound).sort(), title);
          const each = texts.flatMap((text) => run([text], true).map(({ path }) => path));
          assert.deepStrictEqual(distinct(found), distinct(each), title);
          if (query === "" || query === "case:yes") assert.ok(all.every(isFound), title);
        },
      ),
      { numRuns: kernelName === "native" ? runs(120) : runs(30), verbose: false },
    );
    t.end();
  });
}

/** Texts that occur often, within others and over the ends of lines. */
const dense = fc.constantFrom("a", "b", "k", "s", "ab", "abk", "\n", "\n\n", "k\nab", "abk\n", "x", "é");

t.test("a coordinator accepts all labels that a node writes", (t) => {
  const kernel = loadKernel("native");
  let labelled = 0;
  fc.assert(
    fc.property(
      documents,
      fc.oneof(
        fc.array(dense, { minLength: 1, maxLength: 9 }).map((texts) => ({ texts, type: "literal" as const })),
        fc.array(fc.oneof(dense, regexp), { minLength: 1 }).map((texts) => ({ texts, type: "regexp" as const })),
      ),
      fc.record({
        query: fc.constantFrom("", "case:yes", "abk or a", "case:yes count:3"),
        chunkMatches: fc.boolean(),
        contextLines: fc.nat({ max: 2 }),
        lineBytesMax: fc.constantFrom(1, 5, 20, lineBytesUnlimited),
        cutsAround: fc.boolean(),
        credit: fc.constantFrom(1, 2 ** 30),
        batchBytes: fc.constantFrom(1, 64 * 1024),
        groupsContents: fc.boolean(),
      }),
      (files, { texts, type }, { query, ...more }) => {
        const check = new LabelCheck(more, texts.length);
        const onBatch = ({ bytes }: { readonly bytes: Uint8Array }): void => {
          if (Buffer.from(bytes).includes('"patterns":[[')) labelled++;
          check.check(bytes);
        };
        const shard = testShard(kernel, files, repositories);
        runEngine(kernel, [shard], planSet(query, texts, type), { ...more, onBatch });
      },
    ),
    { numRuns: runs(1_200) },
  );
  t.ok(labelled > 20, `${labelled} batches with labels`);
  t.end();
});

t.test("nodes that are told the patterns find together what one finds", (t) => {
  const kernel = loadKernel("native");
  let labelled = 0;
  fc.assert(
    fc.property(
      documents,
      fc.oneof(
        fc
          .array(fc.oneof(dense, word), { minLength: 1, maxLength: 9 })
          .map((texts) => ({ texts, type: "literal" as const })),
        fc.array(fc.oneof(dense, regexp), { minLength: 1 }).map((texts) => ({ texts, type: "regexp" as const })),
      ),
      fc.constantFrom("", "case:yes", "abk or a", "(file:c$ abk) or (file:go$ case:yes k)"),
      fc.integer({ min: 1, max: 3 }),
      fc.boolean(),
      (files, { texts, type }, query, nodeCount, chunkMatches) => {
        const plan = planSet(query, texts, type);
        const told = readAsked(
          writeAsked({
            plan,
            request: { ...ownRequest(query, operatorViewer, ""), patterns: texts },
            lane: "exhaustive",
            timeoutsMs: plan.resultOptions.map(() => 1000),
            isSuggestible: false,
            secret: Buffer.alloc(16),
          }),
        );
        const run = (own: readonly TestDocument[], searched: SearchPlan): readonly MatchObject[] =>
          own.length === 0
            ? []
            : runEngine(kernel, [testShard(kernel, own, repositories)], searched, { chunkMatches }).matches;
        const one = run(files, plan);
        const nodes = Array.from({ length: nodeCount }, (_, node) => files.filter((_, i) => i % nodeCount === node));
        const all = nodes.flatMap((own) => run(own, resultAtOnce(withSets(told.plan, told.request.patterns ?? []))));
        const sorted = (matches: readonly MatchObject[]): string[] =>
          matches.map((match) => JSON.stringify(match)).sort();
        assert.deepStrictEqual(sorted(all), sorted(one), JSON.stringify({ texts, type, query, nodeCount }));
        labelled += labelsOf(one).length;
      },
    ),
    { numRuns: runs(1_200) },
  );
  t.ok(labelled > 100, `${labelled} labels`);
  t.end();
});

t.test("literals at the borders of units, with the index", (t) => {
  // The block by which the second literal is found is at its end.
  const texts = ["commonprefix_alpha", "commonprefix_omega", "common_omega", "omega"];
  const unitBytes = 4096;
  const files = Array.from({ length: 24 }, (_, i): TestDocument => {
    const before = "z".repeat(unitBytes - i);
    return { path: `f${i}.c`, content: Buffer.from(`${before}commonprefix_omega ${"y".repeat(2 * unitBytes)}`) };
  });
  for (const kernelName of ["native", "ts"] as const) {
    const kernel = loadKernel(kernelName);
    const shard = testShard(kernel, files, repositories);
    const { matches } = runEngine(kernel, [shard], planSet("case:yes", texts, "literal"), { chunkMatches: true });
    const expected = files.flatMap(({ path }, i) => {
      const start = unitBytes - i;
      return [`1 ${path}:${start}-${start + 18}`, `3 ${path}:${start + 13}-${start + 18}`];
    });
    assert.deepStrictEqual(labelsOf(matches), expected.sort(), kernelName);
  }
  t.end();
});

t.test("one literal as often as a set allows, beside longer ones that contain it", (t) => {
  const kernel = loadKernel("native");
  const texts = [...Array<string>(patternSetLimits.countMax - 2).fill("needle"), "needles and pins", "a needle"];
  const files = [{ path: "a.c", content: Buffer.from("a needle, needles and pins\n") }];
  const shard = testShard(kernel, files, repositories);
  const { matches } = runEngine(kernel, [shard], planSet("case:yes", texts, "literal"), { chunkMatches: false });
  const labels = matches.flatMap(({ lineMatches = [] }) => lineMatches.flatMap(({ patterns = [] }) => patterns));
  assert.strictEqual(labels.length, 2 * (texts.length - 2) + 2);
  const numbers = labels.map(([pattern]) => pattern);
  const same = Array.from({ length: texts.length - 2 }, (_, i) => i);
  assert.deepStrictEqual(numbers, [texts.length - 1, ...same, texts.length - 2, ...same]);
  t.end();
});
