/** A single request: its time, its client, and the effect of a field that fails. */
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { silentLog } from "../../../src/base/log.js";
import { createMetrics } from "../../../src/base/metrics.js";
import { RepositoryTable } from "../../../src/catalog/repository-table.js";
import type { RequestServices } from "../../../src/browse/request-context.js";
import { GraphqlExecutor } from "../../../src/graphql/execution/executor.js";
import { GitCache } from "../../../src/browse/mirror-reads.js";
import { createSchema } from "../../../src/graphql/execution/schema.js";
import type { Repository } from "../../../src/model/repository.js";
import type { SearchListener } from "../../../src/model/search-listener.js";
import { anonymous } from "../../../src/model/viewer.js";
import { until } from "../../support/waiting.js";

const oid = "a".repeat(40);
const repository = (id: number): Repository => ({
  id,
  name: `example.org/${id}`,
  url: "/nowhere",
  credential: "",
  branches: [],
  fork: false,
  archived: false,
  private: false,
  readers: [],
  stars: 0,
  description: "",
  topics: [],
  metadata: {},
  intervalSeconds: 0,
  history: "all",
  generation: 1,
  indexedBranches: [{ name: "main", bit: 0, commit: oid }],
  defaultBranch: "main",
  lastFetched: "2026-01-01T00:00:00Z",
  lastChanged: "2026-01-01T00:00:00Z",
  lastError: "",
  documentCount: 1,
  contentBytes: 1,
  skippedCounts: {},
  addedMetadata: {},
  configured: true,
  removedAt: "",
});

interface Read {
  readonly request: { readonly kind: string; readonly [key: string]: unknown };
  readonly limits: { readonly timeoutMs: number; readonly stop: Int32Array };
}

/** An executor with two repositories. `read` answers reads, and `search` searches. */
function executor(read: (read: Read) => Promise<unknown>, search: (sink: SearchListener) => void = () => undefined) {
  const reads: Read[] = [];
  const records = [repository(1), repository(2)];
  const table = RepositoryTable.of(records, true, undefined);
  const pool = {
    run: (request: Read["request"], limits: Read["limits"]) => {
      reads.push({ request, limits });
      return read({ request, limits });
    },
  };
  const services = {
    catalog: { repositoryTable: () => table, shardsOf: () => [] },
    searcher: { admit: () => undefined, run: (_: unknown, sink: SearchListener) => search(sink), contexts: [] },
    reads: pool,
    mirrors: pool,
    gitCache: new GitCache(),
    log: silentLog(),
    activityOf: () => "",
    historyStatusOf: ({ history }: Repository) => ({
      wanted: history,
      isUpToDate: false,
      reachableCount: null,
      indexedCount: 0,
      storedBytes: 0,
      error: "",
    }),
    externalUrl: () => "http://localhost",
    configuration: () => "{}",
    checkConfiguration: async () => [],
    siteId: "x",
  } as unknown as RequestServices;
  const limits = { aliases: 0, fields: 0, depth: 0, duplicateFields: 0, uniqueFields: 0 };
  const made = new GraphqlExecutor(createSchema(), services, limits, 5_000, silentLog(), createMetrics().metrics);
  const ask = async (query: string, onGone: (cancel: () => void) => void = () => undefined): Promise<unknown> => {
    const { json } = await made.answer(
      { query, operationName: undefined, variables: {} },
      anonymous,
      { remoteAddress: "192.0.2.1", requestId: "abc", traceParent: undefined },
      (running) => onGone(() => running.cancel()),
    );
    return JSON.parse(Buffer.from(json).toString());
  };
  return { ask, reads };
}

const commitData = {
  oid,
  parents: [],
  author: { name: "A", email: "a@example.org", date: "2026-01-01T00:00:00Z" },
  committer: { name: "A", email: "a@example.org", date: "2026-01-01T00:00:00Z" },
  message: "Subject\n\nBody",
};

t.test("reads in one iteration of the event loop become one task per repository, and are cached", async (t) => {
  const { ask, reads } = executor(async () => ({ commits: [commitData] }));
  const query =
    '{ a: repository(name: "example.org/1") { ...f } b: repository(name: "example.org/1") { ...f } } fragment f on Repository { commit(rev: "") { subject body author { person { name } } parents { oid } } }';
  const commit = { subject: "Subject", body: "Body", author: { person: { name: "A" } }, parents: [] };
  t.strictSame(await ask(query), { data: { a: { commit }, b: { commit } } });
  t.equal(reads.length, 1, "eight fields of two objects are one read");
  await ask(query);
  t.equal(reads.length, 1, "the second request reads nothing");
});

t.test("a read that fails affects only its fields", async (t) => {
  const { ask } = executor(async ({ request }) => {
    if (request["repositoryId"] === 1) throw new TrawlError("git", "the mirror is damaged");
    return { commits: [commitData] };
  });
  const query = '{ repositories(first: 9) { nodes { name commit(rev: "HEAD") { oid message } } } }';
  const expected = {
    data: {
      repositories: {
        nodes: [
          { name: "example.org/1", commit: { oid, message: null } },
          { name: "example.org/2", commit: { oid, message: "Subject\n\nBody" } },
        ],
      },
    },
    errors: [{ message: "the mirror is damaged", path: ["repositories", "nodes", 0, "commit", "message"] }],
  };
  t.match(await ask(query), expected);
  t.match(await ask(query), expected, "compiled");
});

t.test("internal errors are not disclosed", async (t) => {
  const { ask } = executor(async () => {
    throw new RangeError("secret");
  });
  const answer = await ask('{ repository(name: "example.org/1") { name commit(rev: "") { oid message } } }');
  t.match(answer, {
    data: { repository: { name: "example.org/1", commit: { oid, message: null } } },
    errors: [{ message: "internal error in request abc" }],
  });
  t.notMatch(JSON.stringify(answer), /secret/);
});

t.test("the deadline of a request applies to its reads", async (t) => {
  const { ask, reads } = executor(async () => ({ commits: [] }));
  await ask('{ repository(name: "example.org/1") { commit(rev: "") { message } } }');
  t.ok(reads[0].limits.timeoutMs > 0 && reads[0].limits.timeoutMs <= 5_000);
});

t.test("a client that disconnects stops its reads and its search", async (t) => {
  let cancel = (): void => undefined;
  let isSearchClosed = false;
  const { ask } = executor(
    async ({ limits: { stop } }) => {
      cancel();
      t.equal(Atomics.load(stop, 0), 1, "the worker sees it");
      throw new TrawlError("cancelled", "stopped");
    },
    (sink) =>
      sink.onClosed(() => {
        isSearchClosed = true;
      }),
  );
  const both =
    '{ repository(name: "example.org/1") { commit(rev: "") { message } } search(query: "a") { results { matchCount } } }';
  t.match(
    await ask(both, (callback) => {
      cancel = callback;
    }),
    { errors: [{}, {}] },
  );
  await until("the search is closed", () => isSearchClosed);
});
