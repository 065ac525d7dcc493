/** Kinds of files that a file can be told to be, or not to be, whatever its path. */
export interface GivenKinds {
  readonly isGenerated: boolean;
  readonly isVendored: boolean;
}

interface WeightRule {
  readonly kind: string;
  readonly factor: number;
  readonly test: RegExp;
}

const vendoredRule: WeightRule = {
  kind: "vendored",
  factor: 0.4,
  test: /(^|\/)(vendor|vendored|third[_-]?party|node_modules|bower_components|external|deps)\//,
};

const generatedRule: WeightRule = {
  kind: "generated",
  factor: 0.4,
  test: /(^|\/)(dist|build|out|generated|__generated__)\/|\.min\.(js|css)$|\.(js|css)\.map$|\.pb\.(go|h|cc)$|[._-]generated\.|(^|\/)zz_generated|_pb2\.py$|-lock\.json$|\.lock$|\.sum$/,
};

/**
 * How much a file counts by its path: a person who searches for a name rarely wants the copy in a bundle, the vendored
 * one, or the test. The factors were chosen on the tuning half of the queries in `native-bench/ranking`.
 */
const rules: readonly WeightRule[] = [
  vendoredRule,
  generatedRule,
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

/** The largest factor of a file of some kind. */
export const largestFactor = Math.max(...rules.map(({ factor }) => factor));

/** How much a file counts, between 0 and 1. `path` is in lower case; `given` replaces what it says of those kinds. */
export function weighFile(path: string, given: GivenKinds | undefined): number {
  let factor = 1;
  for (const rule of rules) if (isOfKind(rule, path, given)) factor *= rule.factor;
  return factor;
}

function isOfKind(rule: WeightRule, path: string, given: GivenKinds | undefined): boolean {
  if (given !== undefined && rule === vendoredRule) return given.isVendored;
  if (given !== undefined && rule === generatedRule) return given.isGenerated;
  return rule.test.test(path);
}

/** Whether a path, in lower case, is one of generated files. */
export function hasGeneratedPath(path: string): boolean {
  return generatedRule.test.test(path);
}

/** Whether a path, in lower case, is one of vendored files. */
export function hasVendoredPath(path: string): boolean {
  return vendoredRule.test.test(path);
}
