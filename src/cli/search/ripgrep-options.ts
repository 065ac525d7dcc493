const other: readonly (readonly [flags: readonly string[], instead: string])[] = [
  [["-w", "--word-regexp"], "for whole words, write a regular expression: /\\bWORD\\b/"],
  [["-x", "--line-regexp"], "for whole lines, write a regular expression: /^LINE$/"],
  [["-e", "--regexp"], "write several patterns as (A or B), or put them into a file for -f"],
  [["-F", "--fixed-strings"], "for a literal, write -t literal"],
  [
    ["-v", "--invert-match", "-L", "--files-without-match"],
    "for files without a match, write `not PATTERN` in the query",
  ],
  [["-g", "--glob", "--iglob"], "for files by their path, write file:REGEXP or -file:REGEXP in the query"],
  [["-T", "--type-not"], "to leave out a language, write -lang:NAME in the query"],
  [["-m", "--max-count"], "--count limits the matches of all files together"],
  [["-S", "--smart-case"], "upper and lower case are the same, except with -s"],
  [["-U", "--multiline", "--multiline-dotall"], "a regular expression may contain \\n, and begin with (?s)"],
  [["-P", "--pcre2"], "regular expressions are those of RE2"],
  [["-p", "--pretty"], "write --color always"],
  [["--files"], "for all files, write type:path in the query, and --count all"],
  [["-.", "-u", "-uu", "-uuu", "--hidden", "--no-ignore"], "all files of the repositories are searched"],
];

const equivalents = new Map(other.flatMap(([flags, instead]) => flags.map((flag) => [flag, instead] as const)));

/** What to write for an option of ripgrep that `trawl search` does not have. */
export function ripgrepEquivalent(flag: string): string | undefined {
  return equivalents.get(flag);
}
