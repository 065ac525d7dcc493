/**
 * Kinds of files that users often want to exclude; each is offered as a filter if it has matches. A document carries
 * the kinds of its path as a bit mask, bit i for `fileKinds[i]`.
 */
export interface FileKind {
  readonly label: string;
  /** The query fragment that excludes these files. */
  readonly value: string;
  readonly test: RegExp;
}

export const fileKinds: readonly FileKind[] = [
  { label: "Exclude _test.*", value: String.raw`-file:_test\.\w+$`, test: /_test\.\w+$/ },
  { label: "Exclude .test.*", value: String.raw`-file:\.test\.\w+$`, test: /\.test\.\w+$/ },
  { label: "Exclude Ruby tests", value: String.raw`-file:_spec\.rb$`, test: /_spec\.rb$/ },
  { label: "Exclude vendor", value: String.raw`-file:(^|/)vendor/`, test: /(^|\/)vendor\// },
  { label: "Exclude third party", value: String.raw`-file:(^|/)third[_\-]?party/`, test: /(^|\/)third[_-]?party\// },
  { label: "Exclude node_modules", value: String.raw`-file:(^|/)node_modules/`, test: /(^|\/)node_modules\// },
  { label: "Exclude minified JavaScript", value: String.raw`-file:\.min\.js$`, test: /\.min\.js$/ },
  { label: "Exclude JavaScript maps", value: String.raw`-file:\.js\.map$`, test: /\.js\.map$/ },
];

export function fileKindMask(path: string): number {
  let mask = 0;
  for (let i = 0; i < fileKinds.length; i++) if (fileKinds[i].test.test(path)) mask |= 1 << i;
  return mask;
}
