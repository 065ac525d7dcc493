import type { ShardReader } from "../../shard/shard-reader.js";

/**
 * How much a file counts by its path: a person who searches for a name rarely wants the copy in a bundle, the vendored
 * one, or the test. The factors were chosen on the tuning half of the queries in `native-bench/ranking`.
 */
const rules: readonly { readonly kind: string; readonly factor: number; readonly test: RegExp }[] = [
  {
    kind: "vendored",
    factor: 0.4,
    test: /(^|\/)(vendor|vendored|third[_-]?party|node_modules|bower_components|external|deps)\//,
  },
  {
    kind: "generated",
    factor: 0.4,
    test: /(^|\/)(dist|build|out|generated|__generated__)\/|\.min\.(js|css)$|\.(js|css)\.map$|\.pb\.(go|h|cc)$|[._-]generated\.|(^|\/)zz_generated|_pb2\.py$|-lock\.json$|\.lock$|\.sum$/,
  },
  {
    kind: "test",
    factor: 0.5,
    test: /(^|\/)(tests?|testing|testdata|testutils?|__tests__|__mocks__|mocks?|specs?|fixtures|selftests|kunit)\/|_test\.[a-z]+$|[._-](test|spec)\.[a-z]+$|(^|\/)test_[^/]*\.py$|_mock\.go$/,
  },
  { kind: "declaration", factor: 0.7, test: /\.d\.[cm]?ts$/ },
  { kind: "example", factor: 0.7, test: /(^|\/)(examples?|samples?|demos?|tutorials?|benchmarks?|tools|scripts)\// },
  {
    kind: "text",
    factor: 0.6,
    test: /\.(md|markdown|rst|txt|adoc|html?|css|json|ya?ml|toml|xml|svg|po|pot|csv|tsv|log|lock|dts|dtsi)$|(^|\/)(docs?|documentation|changelog|changes|license|copying)[^/]*(\/|$)/,
  },
];

/** Files are grouped by weight: the largest weight of each group. */
export const largestWeights: readonly number[] = [1, Math.max(...rules.map(({ factor }) => factor)), 0.5];

/** 0 for a file that is not weighted down, 1 for 0.5 or more, otherwise 2. */
export function weightGroup(factor: number): number {
  return factor === 1 ? 0 : factor >= 0.5 ? 1 : 2;
}

const weightsOfReader = new WeakMap<ShardReader, Float64Array>();

/** How much a document of a shard counts. Computed once for each; `lowered` is its path in lower case. */
export function weighDocument(reader: ShardReader, document: number, lowered: string): number {
  let weights = weightsOfReader.get(reader);
  if (weights === undefined) weightsOfReader.set(reader, (weights = new Float64Array(reader.documentCount)));
  // No file counts nothing.
  if (weights[document] === 0) weights[document] = weighFile(lowered);
  return weights[document];
}

/** How much a file counts, between 0 and 1. `path` is in lower case. */
export function weighFile(path: string): number {
  let factor = 1;
  for (const rule of rules) if (rule.test.test(path)) factor *= rule.factor;
  return factor;
}
