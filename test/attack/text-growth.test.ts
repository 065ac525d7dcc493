/**
 * Readers of text that clients, commits and remotes choose, each with the largest text that it accepts, made of every
 * single character and every pair of characters repeated: none takes long. `PAIRS=all` tries all pairs (half an hour);
 * otherwise some of them, by a fixed seed. `make test` tries texts of up to 32 KiB, of which a reader whose time grows with
 * the square takes a second.
 */
import { escapeUrlPath } from "../../src/base/path-text.js";
import t from "tap";
import { readCredential, readSession } from "../../src/account/sign-in/credential.js";
import { checkEmail, checkName, readLifetime } from "../../src/account/records/validation.js";
import { checkSettings } from "../../src/account/settings/settings-text.js";
import { hashOfToken } from "../../src/account/identity/secret-text.js";
import { CodeOwners } from "../../src/eval/people/code-owners.js";
import { codeOwnersBytesMax } from "../../src/git/history/commit-attributes.js";
import { parseCommitHeader } from "../../src/git/objects/commit-header.js";
import { parseContributor } from "../../src/git/history/commits.js";
import { parseProgress } from "../../src/git/run/fetch-watch.js";
import { includeGlob } from "../../src/git/mirror/ref-glob.js";
import { parseRemoteRefs } from "../../src/git/objects/refs.js";
import { parseRemoteUrl, redactUrl } from "../../src/git/run/remote-url.js";
import { linksMarkdown } from "../../src/browse/markdown.js";
import { Operations } from "../../src/graphql/execution/operations.js";
import { createSchema } from "../../src/graphql/execution/schema.js";
import { parseCodeHost, nameOfCloneUrl } from "../../src/browse/urls.js";
import { ClientAddresses } from "../../src/http/server/client-address.js";
import { acceptedFormat, isKnown, wantedBytes } from "../../src/http/routes/conditional.js";
import { readPagePath } from "../../src/model/page-path.js";
import { Router } from "../../src/http/server/router.js";
import { acceptedEncoding } from "../../src/http/stream/sse.js";
import { parseStreamParams } from "../../src/http/stream/stream-params.js";
import { detectLanguage, headBytesMax } from "../../src/indexer/detect-language.js";
import { languageByName } from "../../src/model/language.js";
import { refGlobProblem, revisionLengthMax, revisionProblem, splitRange } from "../../src/model/revision-syntax.js";
import { readDateMs } from "../../src/query/fields/dates.js";
import { queryLimits } from "../../src/query/syntax/limits.js";
import { planQuery } from "../../src/query/plan/plan-query.js";
import { isRevision, readCount, readSelect, readTimeoutMs, splitRepository } from "../../src/query/fields/values.js";
import { analyseRegexp } from "../../src/regexp/analysis/analyse.js";
import { parseSubmodules, submodulesBytesMax } from "../../src/git/objects/gitmodules.js";
import { isFull } from "../support/full-run.js";
import { randomFrom } from "../support/random.js";
import { seed } from "../support/property.js";

interface Reader {
  readonly name: string;
  /** The longest text that comes to it. */
  readonly lengthMax: number;
  /** May throw: that is an answer. */
  readonly read: (text: string) => unknown;
  /** Tried besides those that all are tried with. */
  readonly pieces?: readonly string[];
  /** Processor time for one text; `cpuMsUsual` where it is left out. */
  readonly cpuMsMax?: number;
}

/** Some ten times what the slowest reader takes on a quiet machine. */
const cpuMsUsual = 50;

/** Of src/http/access/request-check.ts. */
const headerLength = 16 << 10;
/** Of the whole head of a request, the query of its URL included. */
const urlQueryLength = 64 << 10;
/** A GraphQL argument is as long as the body of its request at most. */
const argumentLength = 1 << 20;

/** Of src/graphql/execution/operations.ts. */
const documentLength = 256 << 10;

const schema = createSchema();
/** The limits that the daemon has by default. */
const costLimits = { aliases: 500, fields: 500_000, depth: 30, duplicateFields: 500, uniqueFields: 500 };
const prepare = (text: string): unknown =>
  new Operations(schema, costLimits, () => "https://example.org/").prepare(text, undefined, {});

const addresses = new ClientAddresses(["10.0.0.0/8", "::/0"]);
const router = new Router<string>();
router.add("GET", "/x/NAME/y/REV/z", "two captures");
const headers = (name: string, value: string): ReadonlyMap<string, string> => new Map([[name, value]]);

const readers: readonly Reader[] = [
  { name: "Authorization", lengthMax: headerLength, read: (text) => readCredential("", text) },
  { name: "Authorization: token", lengthMax: headerLength, read: (text) => readCredential("", `token k="${text}`) },
  {
    name: "Authorization: token-sudo",
    lengthMax: headerLength,
    read: (text) => readCredential("", `token-sudo k=${text}"`),
  },
  { name: "Authorization: Basic", lengthMax: headerLength, read: (text) => readCredential("", `Basic ${text}`) },
  { name: "?token=", lengthMax: urlQueryLength, read: (text) => readCredential(`token=${text}`, undefined) },
  { name: "an access token", lengthMax: headerLength, read: hashOfToken },
  { name: "Cookie", lengthMax: headerLength, read: readSession },
  { name: "X-Forwarded-For", lengthMax: headerLength, read: (text) => addresses.of("10.0.0.1", `${text},1.2.3.4`) },
  { name: "Range", lengthMax: headerLength, read: (text) => wantedBytes(headers("range", `bytes=${text}`), "x", 100) },
  { name: "If-None-Match", lengthMax: headerLength, read: (text) => isKnown(headers("if-none-match", text), "x") },
  { name: "Accept", lengthMax: headerLength, read: acceptedFormat },
  { name: "Accept-Encoding", lengthMax: headerLength, read: acceptedEncoding },
  { name: "a path of a page", lengthMax: headerLength, read: (text) => readPagePath(`/${text}`) },
  { name: "a path with captures", lengthMax: headerLength, read: (text) => router.find("GET", `/x/${text}/z`) },
  { name: "parameters of a stream", lengthMax: urlQueryLength, read: (text) => parseStreamParams(`q=a&${text}`) },
  {
    name: "a number in the parameters",
    lengthMax: urlQueryLength,
    read: (text) => parseStreamParams(`q=a&display=${text}`),
  },
  ...(["standard", "keyword", "literal", "regexp"] as const).map((type) => ({
    name: `a query (${type})`,
    lengthMax: queryLimits.textBytesMax,
    read: (text: string) => planQuery(text, type),
    cpuMsMax: 100,
  })),
  {
    name: "repo:",
    lengthMax: queryLimits.textBytesMax - 5,
    read: (text) => planQuery(`repo:${text}`, "standard"),
    cpuMsMax: 100,
  },
  {
    name: "rev:*",
    lengthMax: queryLimits.textBytesMax - 5,
    read: (text) => planQuery(`rev:*${text}`, "standard"),
    cpuMsMax: 100,
  },
  {
    name: "timeout:",
    lengthMax: queryLimits.textBytesMax - 8,
    read: (text) => planQuery(`timeout:${text}`, "standard"),
    cpuMsMax: 100,
  },
  {
    name: "repo:has.description",
    lengthMax: queryLimits.textBytesMax - 30,
    read: (text) => planQuery(`repo:has.description(${text})`, "standard"),
    cpuMsMax: 100,
  },
  {
    name: "repo:has.meta",
    lengthMax: queryLimits.textBytesMax - 30,
    read: (text) => planQuery(`repo:has.meta(${text})`, "standard"),
    cpuMsMax: 100,
  },
  ...[
    "context:",
    "lang:",
    "file:",
    "-repo:",
    "repo:has.path(",
    "repo:has.commit.after(",
    "file:has.owner(",
    "file:has.contributor(",
    "count:",
    "type:",
    "patterntype:",
    "repo:a@",
  ].map((field) => ({
    name: `${field} in a query`,
    lengthMax: queryLimits.textBytesMax - 30,
    read: (text: string) => planQuery(`${field}${text}${field.endsWith("(") ? ")" : ""}`, "standard"),
    cpuMsMax: 100,
  })),
  { name: "a GraphQL document", lengthMax: documentLength, read: prepare, cpuMsMax: 100 },
  {
    name: "fields of a GraphQL document",
    lengthMax: documentLength - 20,
    pieces: ["a ", "a(b: 1) ", "...{a} "],
    read: (text) => prepare(`{ ${text} }`),
    cpuMsMax: 100,
  },
  {
    name: "a text in a GraphQL document",
    lengthMax: documentLength - 20,
    read: (text) => prepare(`{ a(x: "${text}") }`),
    cpuMsMax: 100,
  },
  {
    name: "a block text in a GraphQL document",
    lengthMax: documentLength - 20,
    read: (text) => prepare(`{ a(x: """${text}""") }`),
    cpuMsMax: 100,
  },
  { name: "a duration", lengthMax: queryLimits.textBytesMax, read: readTimeoutMs },
  { name: "a count", lengthMax: queryLimits.textBytesMax, read: readCount },
  { name: "a date", lengthMax: queryLimits.textBytesMax, read: (text) => readDateMs(text, 0) },
  {
    name: "a date behind a month",
    lengthMax: queryLimits.textBytesMax,
    read: (text) => readDateMs(`last january ${text}`, 0),
  },
  { name: "select:", lengthMax: queryLimits.textBytesMax, read: readSelect },
  {
    name: "a repository with revisions",
    lengthMax: queryLimits.textBytesMax,
    read: (text) => splitRepository(text).revisions.map(isRevision),
  },
  { name: "a language's name", lengthMax: argumentLength, read: languageByName },
  { name: "a regexp", lengthMax: queryLimits.textBytesMax, read: (text) => analyseRegexp(text, true), cpuMsMax: 100 },
  { name: "a revision", lengthMax: argumentLength, read: revisionProblem },
  { name: "a range of revisions", lengthMax: argumentLength, read: splitRange },
  { name: "a glob of refs", lengthMax: argumentLength, read: refGlobProblem },
  {
    name: "a glob of refs on a ref",
    lengthMax: revisionLengthMax,
    read: (text) => includeGlob(`refs/${text}*`)(`refs/${"ab".repeat(100)}`),
  },
  {
    name: "a clone URL",
    lengthMax: argumentLength,
    read: (text) => nameOfCloneUrl(text) ?? nameOfCloneUrl(`https://${text}`) ?? nameOfCloneUrl(`git@a.b:${text}`),
  },
  { name: "a clone URL's host", lengthMax: argumentLength, read: (text) => parseCodeHost(`https://${text}/a`) },
  { name: "a path in a URL", lengthMax: headerLength, read: escapeUrlPath },
  { name: "a user's name", lengthMax: argumentLength, read: checkName },
  { name: "a mail address", lengthMax: argumentLength, read: checkEmail },
  { name: "a lifetime", lengthMax: argumentLength, read: readLifetime },
  { name: "settings", lengthMax: 64 << 10, read: (text) => checkSettings(`{"a": ${text}`) },
  { name: "the URL of a repository", lengthMax: 16 << 10, read: parseRemoteUrl },
  { name: "an address by scp's rules", lengthMax: 16 << 10, read: (text) => parseRemoteUrl(`a${text}:b`) },
  { name: "words of git", lengthMax: 64 << 10, read: (text) => redactUrl(`fatal: https://${text}`) },
  { name: "progress of a fetch", lengthMax: 64 << 10, read: (text) => parseProgress(`remote: R${text}`) },
  { name: "a listing of refs", lengthMax: 1 << 20, read: (text) => parseRemoteRefs(Buffer.from(text)) },
  { name: "a contributor", lengthMax: 1 << 20, read: (text) => parseContributor(`  1\t${text} <${text}>`) },
  {
    name: "the head of a commit",
    lengthMax: 1 << 20,
    read: (text) => parseCommitHeader(`tree ${"a".repeat(40)}\n${text}\ncommitter ${text}`),
  },
  { name: "Markdown of a commit", lengthMax: 64 << 10, read: linksMarkdown },
  {
    name: ".gitmodules",
    lengthMax: submodulesBytesMax,
    read: (text) => parseSubmodules(`[submodule "a"]\n${text}`),
    cpuMsMax: 200,
  },
  {
    name: "CODEOWNERS",
    lengthMax: codeOwnersBytesMax,
    read: (text) => new CodeOwners(text).match("a/b/c/d.e"),
    cpuMsMax: 1_000,
  },
  {
    name: "a pattern of CODEOWNERS",
    lengthMax: codeOwnersBytesMax,
    read: (text) => new CodeOwners(`/a${text}b @a`).match(`a/${"ab/".repeat(1_000)}c`),
    cpuMsMax: 1_000,
  },
  { name: "#!", lengthMax: headBytesMax, read: (text) => detectLanguage("a", Buffer.from(`#!${text}`)) },
  {
    name: "a mode line",
    lengthMax: headBytesMax,
    read: (text) => detectLanguage("a", Buffer.from(`-*- ${text}`)) ?? detectLanguage("a", Buffer.from(`vim:${text}`)),
  },
  ...[".inc", ".h", ".m", ".pl", ".sql", ".fs", ".d", ".pp", ".v", ".ls", ".sc", ".svg"].map((extension) => ({
    name: `the language of *${extension}`,
    lengthMax: headBytesMax,
    read: (text: string) => detectLanguage(`a${extension}`, Buffer.from(text)),
  })),
];

const characters = [
  ...Array.from({ length: 0x80 }, (_, code) => String.fromCharCode(code)),
  "\u00a0",
  "é",
  "\u2028",
  "😀",
  "\ud800",
];

/** Some end a text that would match so that it does not. */
const ends = ["", "\u0001", "!"];

function piecesOf(readerAt: number): readonly string[] {
  const singles = characters;
  if (process.env["PAIRS"] === "all") return [...singles, ...singles.flatMap((a) => singles.map((b) => a + b))];
  const below = randomFrom(seed + readerAt);
  const one = (): string => singles[below(singles.length)] ?? "";
  return [
    // In `make test` every third one, of which the next two readers have the others.
    ...singles
      .filter((character) => /[\0\t\n\r -/:-@[-`{-~aA1]|[^\0-\x7f]/.test(character))
      .filter((_, i) => isFull || (i + readerAt) % 3 === 0),
    ...Array.from({ length: pairsUsual }, () => one() + one()),
  ];
}

const pairsUsual = isFull ? 15 : 6;

const usualLengthMax = 32 << 10;

for (const [at, { name, lengthMax, read, pieces = [], cpuMsMax: idleMsMax = cpuMsUsual }] of readers.entries()) {
  // A processor that shares its core and caches with others is slower; what grows faster than the text takes seconds.
  const cpuMsMax = isFull ? idleMsMax : 4 * idleMsMax;
  t.test(name, async (t) => {
    let worst = { piece: "", ms: 0 };
    for (const [i, piece] of [...piecesOf(at), ...pieces].entries()) {
      const end = ends[i % ends.length] ?? "";
      const length = isFull ? lengthMax : Math.min(lengthMax, usualLengthMax);
      const text = piece.repeat(Math.floor((length - end.length) / piece.length)) + end;
      const ms = cpuMsOf(read, text);
      if (ms > worst.ms) worst = { piece: piece + end, ms };
      if (ms > cpuMsMax && !isFastAtTimes(read, text, cpuMsMax))
        t.fail(`${JSON.stringify(piece)}: ${ms.toFixed(0)} ms of ${cpuMsMax}`);
    }
    t.pass(`${JSON.stringify(worst.piece)} took ${worst.ms.toFixed(1)} ms of ${cpuMsMax}`);
  });
}

/** A first call compiles, and other processes take caches away: only what is slow each time is slow. */
function isFastAtTimes(read: (text: string) => unknown, text: string, cpuMsMax: number): boolean {
  return Array.from({ length: 5 }).some(() => cpuMsOf(read, text) <= cpuMsMax);
}

/** Time that the process has run, whatever else the machine does. */
function cpuMsOf(read: (text: string) => unknown, text: string): number {
  const start = process.cpuUsage();
  try {
    read(text);
  } catch {
    // An answer as any other.
  }
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
}
