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

export interface FileWeight {
  /** Between 0 and 1. */
  readonly factor: number;
  /** The kinds that lower it, such as `test`; empty for other source files. */
  readonly kinds: readonly string[];
}

/** `path` is in lower case. */
export function weighFile(path: string): FileWeight {
  const kinds: string[] = [];
  let factor = 1;
  for (const rule of rules) {
    if (!rule.test.test(path)) continue;
    kinds.push(rule.kind);
    factor *= rule.factor;
  }
  return { factor, kinds };
}
