/** The package trawl-client with a daemon that is only said to be there: broken connections, refusals, slow readers. */
import t from "tap";
import { type SearchEvent, TrawlClient, TrawlError } from "../../../clients/trawl-client/src/index.js";
import { EventDecoder, eventLengthMax } from "../../../clients/trawl-client/src/event-decoder.js";

interface Asked {
  readonly url: URL;
  readonly headers: Headers;
  readonly body: string;
}

type Answer = (asked: Asked, signal: AbortSignal | undefined) => Response | Promise<Response>;

/** A client whose requests get these answers, in this order; the last one again and again. */
function clientOf(...answers: Answer[]): { client: TrawlClient; asked: Asked[] } {
  const asked: Asked[] = [];
  const send: typeof fetch = async (input, init) => {
    const request = {
      url: new URL(String(input)),
      headers: new Headers(init?.headers),
      body: String(init?.body ?? ""),
    };
    asked.push(request);
    const answer = answers[Math.min(asked.length, answers.length) - 1]!;
    return await answer(request, init?.signal ?? undefined);
  };
  return { client: new TrawlClient({ url: "http://trawl.test/", token: "abc", fetch: send }), asked };
}

/** A stream of these texts. After them, it ends, breaks, or goes on for ever. */
function streamOf(texts: readonly string[], then: "end" | "break" | "hang" = "end", seen = { pulls: 0, cancels: 0 }) {
  const left = [...texts];
  return (): Response =>
    new Response(
      new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            seen.pulls++;
            const text = left.shift();
            if (text !== undefined) controller.enqueue(Buffer.from(text));
            else if (then === "end") controller.close();
            else if (then === "break") controller.error(new TypeError("reset"));
            else await new Promise(() => undefined);
          },
          cancel() {
            seen.cancels++;
          },
        },
        { highWaterMark: 0 },
      ),
    );
}

const event = (name: string, data: unknown, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const match = (path: string) => ({ type: "path", path, repository: "r", repositoryID: 1 });
const progress = (more: object = {}) => ({ done: true, matchCount: 1, durationMs: 1, skipped: [], ...more });
const fast = { resumeWaitMs: 1 };

async function read(stream: AsyncIterable<SearchEvent>): Promise<SearchEvent[]> {
  const events: SearchEvent[] = [];
  for await (const one of stream) events.push(one);
  return events;
}

t.test("events, however they are split", async (t) => {
  const text = `: hello\n\n${event("matches", [match("ü😀")])}${event("later", 1)}${event("progress", progress())}event:done\ndata:{}\n\n`;
  const bytes = Buffer.from(text);
  for (const size of [1, 2, 3, 7, bytes.length]) {
    const decoder = new EventDecoder();
    const events = [];
    for (let i = 0; i < bytes.length; i += size) events.push(...decoder.push(bytes.subarray(i, i + size)));
    t.same(
      events.map(({ name }) => name),
      ["matches", "later", "progress", "done"],
      `${size} bytes at a time`,
    );
    t.same(JSON.parse(events[0]!.data), [match("ü😀")]);
  }
  const long = new EventDecoder();
  const part = Buffer.alloc(1 << 20, "x");
  t.throws(() => {
    for (let i = 0; i <= eventLengthMax >> 20; i++) long.push(part);
  }, /longer than/);
});

t.test("a search", async (t) => {
  const receipt = { url: "http://trawl.test/.api/search/receipt/x1" };
  const { client, asked } = clientOf(
    streamOf([
      event("matches", [match("a")]),
      event("new-in-a-later-version", {}),
      event("progress", progress({ receipt })) + event("alert", { title: "T", proposedQueries: null }),
      event("done", {}),
    ]),
  );
  const stream = client.search("a b", {
    patternType: "keyword",
    display: 5,
    contextLines: 2,
    receipt: true,
    waitFor: { repository: "r", commit: "c" },
  });
  t.same(
    (await read(stream)).map(({ kind }) => kind),
    ["matches", "progress", "alert"],
  );
  t.match(stream, { hasEnded: true, receipt, alert: { title: "T" }, progress: { matchCount: 1 } });
  t.equal(
    asked[0]!.url.href,
    "http://trawl.test/.api/search/stream?q=a+b&t=keyword&display=5&cm=t&cl=2&receipt=1&wait_for=r%40c",
  );
  t.equal(asked[0]!.headers.get("authorization"), "token abc");
  t.equal(asked[0]!.headers.get("accept"), "text/event-stream, application/problem+json");
  await t.rejects(read(stream), /read once/);
  const patterns = clientOf(streamOf([event("done", {})]));
  await read(patterns.client.searchPatterns(["x"], { query: "lang:go" }));
  t.equal(patterns.asked[0]!.body, '{"patterns":["x"]}');
});

t.test("a stream that breaks goes on after its last event, and repeats nothing", async (t) => {
  const { client, asked } = clientOf(
    streamOf([event("matches", [match("a")], "s-1"), 'event: matches\ndata: [{"ty'], "break"),
    () => new Response("restarting", { status: 503, headers: { "retry-after": "0" } }),
    streamOf([event("matches", [match("b")], "s-2")]),
    streamOf([event("progress", progress(), "s-3"), event("done", {}, "s-4")]),
  );
  const events = await read(client.search("q", { ...fast, resume: true }));
  t.match(events, [{ matches: [match("a")] }, { matches: [match("b")] }, { kind: "progress" }]);
  t.same(
    asked.map(({ headers }) => headers.get("last-event-id")),
    [null, "s-1", "s-1", "s-2"],
  );
  t.ok(asked.every(({ url }) => url.searchParams.get("resume") === "1"));

  const later = clientOf(streamOf([event("done", {}, "s-9")]));
  await read(later.client.search("q", { lastEventId: "s-8" }));
  t.equal(later.asked[0]!.headers.get("last-event-id"), "s-8");

  const never = clientOf(streamOf([], "break"));
  await t.rejects(read(never.client.search("q", { ...fast, resume: true, resumesMax: 3 })), { code: "connection" });
  t.equal(never.asked.length, 4);
  const gone = clientOf(streamOf([event("progress", progress(), "s-1")]), () =>
    Response.json({ code: "gone", detail: "It is gone." }, { status: 410 }),
  );
  await t.rejects(read(gone.client.search("q", { ...fast, resume: true })), {
    code: "gone",
    status: 410,
    message: "It is gone.",
  });

  for (const then of ["end", "break"] as const) {
    const plain = clientOf(streamOf([event("matches", [match("a")])], then));
    await t.rejects(
      read(plain.client.search("q")),
      { code: "connection" },
      `without resume, what ${then}s early fails`,
    );
  }
});

t.test("nothing is read before it is asked for, and leaving the loop ends the search", async (t) => {
  const seen = { pulls: 0, cancels: 0 };
  const texts = Array.from({ length: 100 }, (_, i) => event("matches", [match(`${i}`)]));
  const { client } = clientOf(streamOf(texts, "hang", seen));
  let count = 0;
  for await (const { kind } of client.search("q")) {
    t.equal(kind, "matches");
    t.ok(seen.pulls <= count + 2, `${seen.pulls} blocks for ${count} events`);
    if (++count === 3) break;
  }
  t.equal(seen.cancels, 1);
});

t.test("a stream in which nothing arrives is broken, and a signal ends any wait", async (t) => {
  const hanging = (_: Asked, signal: AbortSignal | undefined): Promise<Response> =>
    new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason as Error)));
  const idle = clientOf(hanging);
  await t.rejects(read(idle.client.search("q", { idleMs: 1 })), {
    code: "connection",
    message: /nothing arrived for 1 ms/,
  });
  for (const answer of [hanging, () => new Response("", { status: 429, headers: { "retry-after": "60" } })]) {
    const { client } = clientOf(answer);
    const controller = new AbortController();
    const ended = read(client.search("q", { signal: controller.signal, resume: true }));
    setImmediate(() => controller.abort(new RangeError("enough")));
    await t.rejects(ended, /enough/);
  }
  const { client, asked } = clientOf(streamOf([]));
  await t.rejects(read(client.search("q", { signal: AbortSignal.abort(new RangeError("before")) })), /before/);
  t.equal(asked.length, 0);
});

t.test("refusals", async (t) => {
  const problem = { type: "about:blank", title: "Forbidden", status: 403, code: "forbidden", detail: "You may not." };
  const forbidden = clientOf(() => Response.json(problem, { status: 403 }));
  await t.rejects(read(forbidden.client.search("q")), { code: "forbidden", status: 403, message: "You may not." });
  t.equal(forbidden.asked.length, 1, "is not asked again");
  const busy = clientOf(
    () => new Response("Wait.\n", { status: 429, headers: { "retry-after": "0" } }),
    streamOf([event("done", {})]),
  );
  await read(busy.client.search("q"));
  t.equal(busy.asked.length, 2, "a refusal for now is asked again");
  const always = clientOf(() => new Response("Wait.\n", { status: 503, headers: { "retry-after": "0" } }));
  await t.rejects(read(always.client.search("q")), {
    code: "overloaded",
    status: 503,
    retryAfterMs: 0,
    message: "Wait.",
  });
  t.equal(always.asked.length, 4);
  const connect = clientOf(() => Response.json({ code: "not_found", message: "none" }, { status: 404 }));
  await t.rejects(connect.client.jobs.get(7), { code: "not-found", message: "none" });
  t.equal(connect.asked[0]!.body, '{"name":"users/-/searchJobs/7"}');
  const nobody = clientOf(() =>
    Promise.reject(new TypeError("fetch failed", { cause: new TypeError("ECONNREFUSED") })),
  );
  await t.rejects(read(nobody.client.search("q")), { code: "connection", message: /ECONNREFUSED/ });
  const failing = clientOf(
    streamOf([event("matches", [match("a")]), event("error", { message: "failed" }), event("done", {})]),
  );
  await t.rejects(failing.client.searchAll("q"), { code: "stream-failed", message: "failed" });
  const many = clientOf(streamOf([event("matches", [match("a"), match("b")]), event("done", {})]));
  await t.rejects(many.client.searchAll("q", { matchesMax: 1 }), /more than 1 results/);
  t.ok(new TrawlError("gone", "x") instanceof Error);
});

t.test("a watch goes on with its last receipt", async (t) => {
  const receipt = (id: string) => ({ receipt: { url: `http://trawl.test/.api/search/receipt/${id}` } });
  const change = { change: "came", type: "path", path: "a" };
  const { client, asked } = clientOf(
    streamOf([event("matches", [match("a")]), event("progress", progress(receipt("r1")))], "break"),
    streamOf([event("changes", [change]), event("progress", progress(receipt("r2"))), event("done", {})]),
    streamOf([event("error", { message: "the query is gone" }), event("done", {})]),
  );
  const kinds: string[] = [];
  const watching = (async () => {
    for await (const { kind } of client.watch("q", fast)) kinds.push(kind);
  })();
  await t.rejects(watching, { code: "stream-failed", message: "the query is gone" });
  t.same(kinds, ["matches", "progress", "changes", "progress"]);
  t.match(
    asked.map(({ url, body }) => [
      url.pathname,
      url.searchParams.get("watch"),
      body === "" ? "" : JSON.parse(body).url,
    ]),
    [
      ["/.api/search/stream", "1", ""],
      ["/.api/search/changes", "1", /r1$/],
      ["/.api/search/changes", "1", /r2$/],
    ],
  );
  const invalid = clientOf(
    streamOf([event("alert", { title: "Unable To Process Query", proposedQueries: null }), event("done", {})]),
  );
  await t.rejects(read(invalid.client.watch("(", fast)), /Unable To Process Query/);
  const once = clientOf(
    streamOf([event("changes", [change]), event("progress", progress(receipt("r2"))), event("done", {})]),
  );
  const changes = once.client.changes("q", { since: "r1" });
  t.match(await read(changes), [{ changes: [change] }, {}]);
  t.match(changes.receipt, receipt("r2").receipt);
  t.equal(once.asked[0]!.body, "r1");
});

t.test("lists of receipts and jobs are read page by page", async (t) => {
  const page = (count: number, ...items: object[]) => Response.json({ count, items });
  const { client, asked } = clientOf(
    () => page(3, { reason: "timeout" }, { reason: "binary" }),
    () => page(3, { reason: "failure" }),
  );
  const reasons: string[] = [];
  for await (const { reason } of client.receiptItems("http://other.test/.api/search/receipt/x1", "excluded"))
    reasons.push(reason);
  t.same(reasons, ["timeout", "binary", "failure"]);
  t.same(
    asked.map(({ url }) => url.href),
    [0, 2].map((from) => `http://trawl.test/.api/search/receipt/x1?list=excluded&from=${from}`),
  );
  const job = (n: number) => ({ name: `users/1/searchJobs/${n}`, query: "q", state: "STATE_QUEUED", createTime: "" });
  const jobs = clientOf(
    () => Response.json({ searchJobs: [job(3), job(2)], nextPageToken: "2" }),
    () => Response.json({ searchJobs: [job(1)] }),
  );
  const names: string[] = [];
  for await (const { name } of jobs.client.jobs.list({ pageSize: 2 })) names.push(name);
  t.same(
    names,
    [3, 2, 1].map((n) => job(n).name),
  );
  t.match(JSON.parse(jobs.asked[1]!.body), { pageToken: "2", pageSize: 2 });
});

t.test("a download goes on where it broke", async (t) => {
  const lines = `${[1, 2, 3].map((n) => JSON.stringify(match(`${n}`))).join("\n")}\n`;
  const part =
    (from: number, to: number, then: "end" | "break", status: number, etag = '"1"') =>
    () => {
      const { body } = streamOf([lines.slice(from, to)], then)();
      return new Response(body, { status, headers: { etag } });
    };
  const { client, asked } = clientOf(part(0, 50, "break", 200), part(50, lines.length, "end", 206));
  const found: unknown[] = [];
  for await (const one of client.jobs.results("users/1/searchJobs/7")) found.push(one);
  t.same(
    found,
    [1, 2, 3].map((n) => match(`${n}`)),
  );
  t.same(
    asked.map(({ url, headers }) => [url.pathname, headers.get("range"), headers.get("if-range")]),
    [
      ["/.api/search/export/7.jsonl", null, null],
      ["/.api/search/export/7.jsonl", "bytes=50-", '"1"'],
    ],
  );
  const changed = clientOf(part(0, 50, "break", 200), part(0, lines.length, "end", 200, '"2"'));
  const reading = (async () => {
    for await (const _ of changed.client.jobs.results(7)) void _;
  })();
  await t.rejects(reading, { code: "gone" });
});
