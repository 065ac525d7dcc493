/** Query texts that are expensive to parse, to plan, or to select repositories by. Each is at most 64 KiB. */

const bytesMax = 64 << 10;

/** As many numbered pieces as fit, between a prefix and a suffix. */
export function filled(piece: (at: number) => string, lengthMax: number = bytesMax, before = "", behind = ""): string {
  const pieces: string[] = [before];
  let length = before.length + behind.length;
  for (let at = 0; ; at++) {
    const text = piece(at);
    if ((length += text.length) > lengthMax) return pieces.join("") + behind;
    pieces.push(text);
  }
}

/** This many numbered pieces. */
export function many(count: number, piece: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => piece(at)).join("");
}

/** Just below the limits of queries on the depth of nesting and on the number of terms. */
const [depth, termCount] = [490, 2_990];

export const hostileQueries: readonly (readonly [name: string, text: string])[] = [
  ["parentheses that may be", `${"(".repeat(depth)}a${")".repeat(depth)}`],
  ["parentheses without an end", "(".repeat(bytesMax)],
  ["parentheses without a beginning", ")".repeat(bytesMax)],
  ["parentheses in pairs", "()".repeat(bytesMax / 2)],
  ["nested groups of or and not", `${many(depth, () => "(a or not ")}b${")".repeat(depth)}`],
  ["or", many(termCount, (at) => `${at} or `) + "x"],
  ["and", many(termCount, (at) => `${at} and `) + "x"],
  ["words", many(termCount, (at) => `w${at} `)],
  ["not", many(termCount, (at) => `not ${at} `)],
  ["not not", filled(() => "not ")],
  ["and and", filled(() => "and ")],
  ["or without operands", filled(() => "or ")],
  ["more words than may be", filled((at) => `${at} `)],
  ["an or of filters, distributed", many(20, (at) => `(repo:a${at} or repo:b${at}) `) + "x"],
  [
    "an or of filters around an or of filters",
    `(${many(22, (at) => `repo:a${at} or `)}b) (${many(22, (at) => `file:a${at} or `)}b) x`,
  ],
  ["500 basic queries of 60 terms", `(${many(499, (at) => `repo:a${at} or `)}repo:b) ${many(59, (at) => `w${at} `)}`],
  ["500 basic queries with regexps", `(${many(499, (at) => `repo:[a-z]+${at}[^b]*x or `)}repo:b) x`],
  [
    "500 basic queries with timeouts and counts",
    `${many(499, (at) => `(a${at} count:${at + 1} timeout:${at + 1}ms) or `)}b`,
  ],
  ["500 basic queries that select", `${many(250, (at) => `(a${at} select:repo) or (b${at} select:file.path) or `)}c`],
  ["repositories", many(990, (at) => `repo:project-0${at} `)],
  ["repositories that all match", many(990, (at) => `repo:o.*p.*${at % 10} `)],
  ["repositories to leave out", many(990, (at) => `-repo:project-0${at} `) + "type:repo"],
  ["a union of repositories", many(490, (at) => `repo:project-0${at} or `) + "repo:x"],
  ["more repositories than may be", filled((at) => `repo:p${at} `)],
  ["a repository filter of all lengths", `repo:${filled((at) => `project-${at}|`, 8_000)}x type:repo`],
  ["a repository filter with large classes", `repo:${"[^a]{1,100}".repeat(60)}z type:repo`],
  ["a repository filter with many branches", `repo:(${filled((at) => `o.*${at}.*p|`, 8_000)}x)$ type:repo`],
  ["many repository filters of a large automaton", many(60, (at) => `repo:(o.*){30}z{${at}} `) + "type:repo"],
  ["all repositories", "type:repo count:all"],
  ["all repositories by a pattern", "project type:repo count:all"],
  ["all repositories by a regexp", "type:repo count:all patternType:regexp (o|p|[a-z]+-?)*[0-9]{5}"],
  ["all repositories, selected from files", "select:repo count:all r"],
  ["all repositories in 499 ways", many(499, (at) => `(repo:${at % 10}$ type:repo) or `) + "repo:x"],
  ["repository names by a long pattern", `type:repo ${"a".repeat(65_000)}`],
  ["repository names by many patterns", `type:repo count:all ${many(900, (at) => `p${at} or `)}project`],
  ["metadata", many(900, (at) => `repo:has.meta(team:team-${at}) `)],
  ["tags and keys", many(900, (at) => `repo:has.key(k${at}) `)],
  ["topics", many(900, (at) => `repo:has.topic(topic-${at}) `)],
  ["topics that all have", many(900, () => "repo:has.topic(topic) ") + "type:repo"],
  ["descriptions", many(900, (at) => `repo:has.description(pro.*${at}) `)],
  ["metadata by regexps", many(600, (at) => `repo:has.meta(/te.*a[${at}m]/:/.*${at}/) `)],
  ["files that repositories have", many(900, (at) => `repo:has.path(a${at}) `)],
  ["contents that repositories have", many(900, (at) => `repo:has.content(a${at}) `)],
  ["files and contents that repositories have", many(700, (at) => `repo:has.file(path:a${at} content:b${at}) `)],
  ["commits after a date", many(900, (at) => `repo:has.commit.after(${at} days ago) `)],
  ["contexts", filled(() => "context:global ")],
  ["a union of contexts", many(400, (at) => `(context:@user-00002/context-${at} a) or `) + "b"],
  ["a context that is not there", `context:@${"a/".repeat(32_000)}`],
  ["revisions", `repo:project-00001@${filled((at) => `b${at}:`, 60_000)}x a`],
  ["globs of revisions", `repo:project@${filled((at) => `*refs/heads/${at}*:`, 60_000)}x a`],
  ["globs of revisions of all repositories", `repo:project@${many(200, (at) => `*refs/heads/*${at}*:!*x*:`)}x a`],
  ["rev: with globs", `rev:${filled((at) => `*a[${at}]*:`, 60_000)}x repo:project-00001 a`],
  ["revisions of all repositories", "repo:.@nothing:nowhere:none a count:all"],
  ["a revision of blanks", `repo:"${" ".repeat(60_000)}" a`],
  ["select:", `select:${filled(() => "symbol.", 60_000)}x a`],
  ["many select:", filled(() => "select:repo ")],
  ["languages", many(termCount, (at) => `lang:go${at} `)],
  ["languages that there are", many(1_500, (at) => (at % 2 === 0 ? "-lang:go " : "lang:c ")) + "a"],
  ["files", many(termCount, (at) => `file:[a-z]${at} `)],
  ["a file filter", `file:${"(a|b)*".repeat(10_000)}`],
  ["counts", filled(() => "count:1 ")],
  ["a count", `count:${"9".repeat(60_000)} a`],
  ["timeouts", filled(() => "timeout:1h2m3s ")],
  ["dates", `before:"${"1 day ".repeat(10_000)}" type:commit a`],
  ["owners", many(termCount, (at) => `file:has.owner(o${at}) `)],
  ["contributors", many(2_000, (at) => `file:has.contributor(o${at}) `)],
  ["contents that files have", many(900, (at) => `file:has.content(a${at}) `)],
  ["a regexp of groups", `/${"(".repeat(900)}a${")".repeat(900)}/`],
  ["a regexp of groups that nest too deeply", `/${"(".repeat(30_000)}a${")".repeat(30_000)}/`],
  ["a regexp of alternatives", `/${filled((at) => `a${at}|`, 65_000)}b/`],
  ["a regexp of repeated classes", `/${"[a-z\\pL]{1,9}".repeat(4_000)}/`],
  ["a regexp of classes", `/${"[^\\x00-\\x{10FFFF}a]".repeat(3_000)}/`],
  ["a regexp with one large class", `/[${filled((at) => `\\x{${(0x100 + 2 * at).toString(16)}}`, 65_000)}]/`],
  ["a regexp with Unicode classes", `/${"\\pL\\PN".repeat(10_000)}/`],
  ["a regexp of repetitions of repetitions", "/((((a{1,10}){1,10}){1,10}b{1,10}){1,10}c?){1,10}/"],
  ["a regexp of optional letters", `/${"a?".repeat(15_000)}${"a".repeat(15_000)}/`],
  ["a regexp of stars", `/${"(a*)*".repeat(12_000)}/`],
  ["many regexps", many(2_900, (at) => `/a${at}.*b[${at}c]/ `)],
  ["a regexp without an end", `/${"\\/".repeat(32_000)}`],
  ["folded alternatives", `case:no /${filled((at) => `(kſK${at}|Ⅷ)`, 40_000)}/`],
  ["quotes", '"'.repeat(bytesMax)],
  ["escapes in quotes", `"${'\\"'.repeat(32_000)}`],
  ["backslashes", "\\".repeat(bytesMax)],
  ["colons", ":".repeat(bytesMax)],
  ["fields that there are not", filled((at) => `f${at}:a `)],
  ["minus", "-".repeat(bytesMax)],
  ["minus before fields", filled(() => "-repo:")],
  ["blanks", " ".repeat(bytesMax)],
  ["one word", "a".repeat(bytesMax)],
  ["characters of two units", "😀".repeat(bytesMax / 4)],
  ["halves of characters", "\ud800".repeat(bytesMax / 3)],
  ["zero characters", "\0".repeat(bytesMax)],
  ["a predicate without an end", filled(() => "repo:has.file(")],
  ["a predicate of parentheses", `repo:has.content(${"(".repeat(30_000)}${")".repeat(30_000)})`],
  ["a pattern type for each word", filled(() => "patterntype:regexp a ")],
];
