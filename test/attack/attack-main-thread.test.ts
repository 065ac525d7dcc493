/**
 * Requests that are made to keep the main thread away, on a live daemon with 10,000 repositories, users, contexts and
 * saved searches, in `make test` with 5,000. Whatever comes, it is away for no more than 100 ms, and serves another client meanwhile.
 */
import { request } from "node:http";
import t from "tap";
import { sleep } from "../../src/base/deadline.js";
import { repeatedBounds, underAttack } from "../support/attack.js";
import { chosen, isFull } from "../support/full-run.js";
import { dataDirectory, preparedAhead, testDaemon, type DaemonProcess } from "../support/daemon.js";
import { hostileDocuments } from "../support/hostile-documents.js";
import { hostileQueries } from "../support/hostile-queries.js";
import { writeLargeSite } from "../support/large-site.js";
import { until, within } from "../support/waiting.js";

/** The longest head of a request that the server reads has 64 KiB. */
const pathLengthMax = 60_000;

const secret = "0123456789abcdef-hook";
const data = dataDirectory(t);
const site = await writeLargeSite(data);
// What a search may take by itself is for other tests: here it is what the main thread does for it.
const options = [
  "--set",
  "search.defaultTimeoutSeconds=1",
  "--set",
  "search.maxTimeoutSeconds=1",
  "--set",
  "graphql.timeoutSeconds=1",
  "--set",
  `webhooks.secrets=${JSON.stringify({ host: secret })}`,
];
const { daemon, turnMs } = await calmlyStarted();

/** Reading thousands of everything takes half a second or more, which goes on in steps. */
async function calmlyStarted(): Promise<{ readonly daemon: DaemonProcess; readonly turnMs: number }> {
  const started = await testDaemon(t, [...options, ...preparedAhead], data, { METERED_START: "1" });
  await until("the syncs of the start have begun", () =>
    started.log.some(({ repository }) => repository !== undefined),
  );
  return { daemon: started, turnMs: await started.longestTurnMs() };
}

interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
  readonly from?: string;
}

/** The status; 0 where the connection was cut. */
function send(path: string, { headers = {}, body, from = "127.0.0.2" }: Sent): Promise<number> {
  return within(
    new Promise((resolve) => {
      const method = body === undefined ? "GET" : "POST";
      const sending = request(daemon.url + path, { method, headers, agent: false, localAddress: from }, (response) => {
        response.resume().on("close", () => resolve(response.statusCode ?? 0));
      });
      sending.on("error", () => resolve(0)).end(body);
    }),
    path.slice(0, 200),
  );
}

const admin = { authorization: `token ${site.adminToken}` };
const user = { authorization: `token ${site.userToken}` };

interface Attack {
  readonly name: string;
  readonly path: string;
  readonly sent: Sent;
}

/** Between the requests of the other client. */
const othersPauseMs = isFull ? 0 : 50;

/** So many at a time: they share the main thread, and each is bounded all the same. */
const togetherMax = 4;

/** Sends the attacks and asks for little from another address meanwhile, again and again. */
async function attack(attacks: readonly Attack[]): Promise<readonly number[]> {
  let isOver = false;
  const others = (async () => {
    do {
      t.equal(
        await send("/.api/search/stream?q=repo:nothing+a", { from: "127.0.0.3" }),
        200,
        "another client is served",
      );
      await sleep(othersPauseMs);
    } while (!isOver);
  })();
  const statuses = await Promise.all(attacks.map(({ path, sent }) => send(path, sent)));
  isOver = true;
  await others;
  return statuses;
}

async function attackAll(attacks: readonly Attack[]): Promise<void> {
  for (let from = 0; from < attacks.length; from += togetherMax) {
    const group = attacks.slice(from, from + togetherMax);
    const names = group
      .map(({ name }) => name)
      .join("; ")
      .slice(0, 400);
    const statuses = await underAttack(t, daemon, repeatedBounds, names, () => attack(group));
    for (const [i, status] of statuses.entries())
      t.ok(status < 500 || [501, 502, 503, 505].includes(status), `${group[i].name}: ${status}`);
  }
}

/**
 * The modules of the daemon are evaluated in one turn, of 60 to 120 ms, before anybody can connect. Beside a full load of the
 * processors it takes up to 270 ms of processor time.
 */
const startTurnMsMax = isFull ? 250 : 500;

t.test("a start", async (t) => {
  t.ok(
    turnMs <= startTurnMsMax,
    `the main thread ran for ${turnMs.toFixed(1)} ms of ${startTurnMsMax} in one turn while the daemon started`,
  );
});

t.test("what warms up", async () => {
  await attack([
    {
      name: "warm up",
      path: "/.api/graphql",
      sent: {
        headers: user,
        body: JSON.stringify({ query: "{ repositories(first: 1) { totalCount } users(first: 1) { totalCount } }" }),
      },
    },
  ]);
});

const queries = chosen(
  hostileQueries,
  "nested groups of or and not",
  "an or of filters around an or of filters",
  "500 basic queries with regexps",
  "a repository filter with large classes",
  "all repositories in 499 ways",
  "metadata by regexps",
  "commits after a date",
  "a union of contexts",
  "revisions of all repositories",
  "a file filter",
  "dates",
  "contributors",
  "a regexp of repeated classes",
  "many regexps",
  "escapes in quotes",
  "a predicate of parentheses",
);

const documents = chosen(
  hostileDocuments,
  "selections in selections",
  "one field many times",
  "fragments that each spread all",
  "directives",
  "a text of escapes",
  "introspection, all",
  "a long variable for 400 fields",
  "a regexp for names",
  "objects in a variable",
  "keys",
  "all of the whole tables at once",
);

t.test("queries", async () => {
  const query =
    "query ($q: String!) { search(query: $q, version: V3, patternType: standard) { results { matchCount alert { title } } } }";
  await attackAll(
    queries.map(([name, text]) => ({
      name,
      path: "/.api/graphql",
      sent: { headers: user, body: JSON.stringify({ query, variables: { q: text } }) },
    })),
  );
  // Up to its results a search is the same either way, so a part of them is enough.
  const paths = queries
    .filter((_, at) => at % (isFull ? 3 : 6) === 0)
    .map(([name, text]) => [
      `${name}, streamed`,
      `/.api/search/stream?v=V3&t=standard&q=${encodeURIComponent(Buffer.from(text).toString()).replaceAll("%20", "+")}`,
    ]);
  await attackAll(
    paths
      .filter(([, path]) => path.length <= pathLengthMax)
      .map(([name, path]) => ({ name, path, sent: { headers: user } })),
  );
});

t.test("GraphQL requests", async () => {
  await attackAll(documents.map(([name, body]) => ({ name, path: "/.api/graphql", sent: { headers: admin, body } })));
});

/** The longest header that is read, made of the text. */
const header = (text: string): string => text.repeat(16_300 / text.length);

const headers: readonly (readonly [name: string, headers: Readonly<Record<string, string>>])[] = [
  ["thousands of cookies", { cookie: header("a=b;") }],
  ["cookies of the session's name", { cookie: header("sgs=a; ") }],
  ["a cookie of equals signs", { cookie: header("=") }],
  ["Accept with many types", { accept: header("a/b;q=0.1,") }],
  ["Accept of slashes", { accept: header("*/") }],
  ["Accept-Encoding with many codings", { "accept-encoding": header("gzip;q=0,") }],
  ["Accept-Encoding of semicolons", { "accept-encoding": header(";") }],
  ["Authorization of quotes", { authorization: `token-sudo user="${header("\\")}"` }],
  ["Authorization of pairs", { authorization: `token-sudo ${header("a=b,")}` }],
  ["Authorization: Basic", { authorization: `Basic ${header("QUFB")}` }],
  ["If-None-Match with many tags", { "if-none-match": header('"a",') }],
  ["If-None-Match without an end", { "if-none-match": header('W/"') }],
  ["Range with many parts", { range: `bytes=${header("0-1,")}` }],
  ["Range of digits", { range: `bytes=${header("9")}-` }],
  ["Origin", { origin: `https://${header("a.")}` }],
  ["many headers", Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`x-${at}`, "a".repeat(600)]))],
  ["X-Forwarded-For", { "x-forwarded-for": header("1.2.3.4,") }],
];

const paths = [
  `/${header("/")}`,
  `/${header("../")}`,
  `/${header("%2e%2e%2f")}`,
  `/${header("%")}`,
  `/${header("@")}`,
  `/${header("-/")}`,
  `/a/-/raw/${header("a/")}`,
  `/a@${header("^")}/-/raw/a`,
  `/a@${header("HEAD~1^")}/-/blob/a`,
  `/.api/search/trace/${header("a")}`,
  "/.api/search/trace/__proto__",
  `/.api/search/trace/${header("%00")}`,
  `/search?q=${header("(")}`,
  `/-/editor?remote_url=${header("a:")}`,
  `/.api/webhooks/${header("a")}`,
  `/.api/search/stream?${header("q=a&")}`,
  `/.api/search/stream?q=a&display=${header("9")}`,
  `/healthz/${header("a")}`,
  `/healthz?${header("&=")}`,
  `/readyz?${header("a")}`,
  "/readyz",
  "/metrics",
];

t.test("heads of requests", async () => {
  const routes = ["/.api/search/stream?q=repo:nothing+a", "/host.example/organization-1/project-00001/-/raw/a"];
  // A head is read before its route is known: one route for each is enough.
  await attackAll(
    headers.flatMap(([name, given], at) =>
      routes
        .filter((_, route) => isFull || at % routes.length === route)
        .map((path) => ({ name: `${name}: ${path}`, path, sent: { headers: given } })),
    ),
  );
  await attackAll(paths.map((path) => ({ name: path.slice(0, 60), path, sent: { headers: admin } })));
});

t.test("deliveries of webhooks", async () => {
  const bodies = [
    "[".repeat(1 << 20),
    '{"a":'.repeat(170_000),
    `{"repository":"${"\\u0061".repeat(170_000)}"}`,
    `{"repositories":[${'"a",'.repeat(250_000)}"b"]}`,
    `payload=${"%7b".repeat(340_000)}`,
  ];
  const signatures: readonly Readonly<Record<string, string>>[] = [
    { "x-gitlab-token": secret },
    { authorization: `Bearer ${secret}`, "content-type": "application/x-www-form-urlencoded" },
    { "x-hub-signature-256": `sha256=${"0".repeat(64)}` },
  ];
  await attackAll(
    bodies.flatMap((body, at) =>
      signatures
        .filter((_, kind) => isFull || kind === at % signatures.length)
        .map((given) => ({
          name: `${body.slice(0, 20)} with ${Object.keys(given)[0]}`,
          path: "/.api/webhooks/host",
          sent: { headers: { ...given, "x-gitlab-event": "push" }, body },
        })),
    ),
  );
});
