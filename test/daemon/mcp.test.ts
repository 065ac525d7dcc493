/** The tools for assistants, over a real socket: with the client of the SDK, and with hostile messages. */
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import t, { type Test } from "tap";
import { checkDisabledTools } from "../../src/daemon/config/option-problems.js";
import { toolNames } from "../../src/mcp/tools/all-tools.js";
import { fixture } from "../support/git-mirror.js";
import type { GitFixture } from "../support/git-fixture.js";
import { testDaemon, withSymbols } from "../support/daemon.js";
import { isFull } from "../support/full-run.js";
import { GraphqlSite } from "../support/graphql-site.js";
import { until } from "../support/waiting.js";

interface Called {
  readonly isError: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: what each tool returns is asserted below.
  readonly json: any;
}

const listC = "struct list {\n\tint length;\n};\n\nint list_length(struct list *list)\n{\n\treturn list->length;\n}\n";

function makeSource(test: Test): GitFixture {
  const source = fixture(test);
  const many = Array.from({ length: 4_000 }, (_, line) => `line ${line} of a file that is longer than others`);
  source.commit({
    branch: "main",
    message: "first words\n",
    author: "Ann <ann@acme.example> 1700000000 +0000",
    files: {
      "src/list.c": listC,
      "src/main.c": '#include "list.c"\nint main(void) { struct list l; return list_length(&l); }\n',
      "many.txt": `${many.join("\n")}\n`,
      "binary.bin": Uint8Array.from([0, 1, 2, 255]),
    },
  });
  source.git("branch", "old", "main");
  source.git("tag", "v1.0", "main");
  source.git("tag", "blob", "main:src/list.c");
  source.commit({
    branch: "main",
    message: "add a needle\n",
    author: "Bob <bob@acme.example> 1700000001 +0000",
    files: { "docs/notes.md": "a needle in docs\n", "src/main.c": "int main(void) { return 0; }\n" },
  });
  return source;
}

class Assistant {
  readonly #client: Client;

  private constructor(client: Client) {
    this.#client = client;
  }

  static async connect(test: Test, url: string, mode: "legacy" | "auto", authorization?: string) {
    const client = new Client({ name: "a test", version: "1" }, { versionNegotiation: { mode } });
    const headers: Record<string, string> = authorization === undefined ? {} : { Authorization: authorization };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
    test.teardown(() => client.close());
    return new Assistant(client);
  }

  async tools(): Promise<string[]> {
    const { tools } = await this.#client.listTools();
    for (const { annotations, inputSchema } of tools) {
      t.equal(annotations?.readOnlyHint, true);
      t.equal(inputSchema.type, "object");
    }
    return tools.map(({ name }) => name).sort();
  }

  async call(name: string, args: Readonly<Record<string, unknown>>): Promise<Called> {
    const result = await this.#client.callTool({ name, arguments: args });
    const [content] = result.content as { type: string; text: string }[];
    const isError = result.isError === true;
    return { isError, text: content.text, json: isError ? undefined : JSON.parse(content.text) };
  }

  get version(): string | undefined {
    return this.#client.getNegotiatedProtocolVersion();
  }
}

/** Without an uploaded index it knows nothing, and says so. */
const needsIndex = "find_implementations";

t.test("assistants list and call every tool, by either protocol", async (t) => {
  const site = await GraphqlSite.start(t, {}, withSymbols);
  const { daemon } = site;
  const source = makeSource(t);
  await daemon.add("host/code", source.path);
  await until("symbols are known", async () => (await daemon.metric("trawl_index_shards_without_symbols")) === 0);
  const secret = fixture(t);
  secret.commit({ branch: "main", files: { "src/list.c": "a secret needle\n" } });
  await daemon.control("POST", "/.api/repos", {
    name: "host/secret",
    url: secret.path,
    private: true,
    readers: ["ann"],
  });

  for (const mode of ["legacy", "auto"] as const) {
    const assistant = await Assistant.connect(t, `${daemon.url}/.api/mcp/all`, mode, site.authorization("bob"));
    t.equal(assistant.version, mode === "legacy" ? "2025-11-25" : "2026-07-28");
    t.same(await assistant.tools(), toolNames);
    // A tool is the same for both.
    const called = Object.entries(calls).filter((_, at) => isFull || mode === "legacy" || at % 4 === 0);
    for (const [name, row] of called) {
      const { isError, text, json } = await assistant.call(name, row.args);
      t.equal(isError, false, `${name}: ${text}`);
      t.match(json, row.found, `${mode} ${name}`);
      if (name !== needsIndex) t.same(json.completeness, { complete: true, excluded: [] }, `${mode} ${name}: ${text}`);
    }
    t.same(Object.keys(calls).sort(), toolNames, "every tool is called");
  }

  const main = await Assistant.connect(t, `${daemon.url}/.api/mcp`, "legacy", site.authorization("anonymous"));
  t.same(
    await main.tools(),
    toolNames.filter(
      (name) =>
        ![
          "compare_revisions",
          "find_implementations",
          "find_references",
          "get_contributor_repos",
          "go_to_definition",
        ].includes(name),
    ),
  );
  t.same((await main.call("list_repos", {})).json.repositories, ["host/code"], "a private repository does not exist");
  t.match(
    (await main.call("read_file", { repo: "host/secret", path: "src/list.c" })).text,
    /there is no repository "host\/secret"/,
  );
  t.match((await main.call("list_refs", { repo: "host/secret" })).text, /there is no repository "host\/secret"/);
  for (const name of ["keyword_search", "nls_search"])
    t.equal((await main.call(name, { query: "needle" })).json.matchCount, 1);
  t.match(
    (await main.call("nonsense", {}).catch((error: Error) => ({ text: error.message }))).text,
    /there is no tool "nonsense"; the tools are/,
  );
  t.match(
    (await main.call("go_to_definition", {}).catch((error: Error) => ({ text: error.message }))).text,
    /there is no tool/,
  );

  const ann = await Assistant.connect(t, `${daemon.url}/.api/mcp/v1`, "legacy", site.authorization("ann"));
  t.same((await ann.call("list_repos", {})).json.repositories, ["host/code", "host/secret"], "a reader sees it");
  t.equal((await ann.call("keyword_search", { query: "needle" })).json.matchCount, 2);

  await checkBounds(t, await Assistant.connect(t, `${daemon.url}/.api/mcp/all`, "legacy", site.authorization("ann")));
  await checkRefusals(t, ann);
  await checkPlainCalls(t, `${daemon.url}/.api/mcp/all`, site.authorization("ann"));
  await checkOtherClients(t, daemon.url);
  await checkRepeatedCalls(t, site, source);
});

const jsonHeaders = { "Content-Type": "application/json", Accept: "application/json, text/event-stream" };

/** The SDK would answer with the same bytes: it gets a call that has `_meta`. */
async function checkPlainCalls(t: Test, url: string, authorization: string | undefined): Promise<void> {
  const headers = { ...jsonHeaders, ...(authorization === undefined ? {} : { Authorization: authorization }) };
  const post = async (id: unknown, members: string): Promise<string> => {
    const body = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"tools/call","params":{${members}}}`;
    const response = await fetch(url, { method: "POST", headers, body });
    return `${response.status} ${response.headers.get("content-type")} ${await response.text()}`;
  };
  const written = (args: unknown): string => `,"arguments":${JSON.stringify(args)}`;
  // Deep arguments cannot be written by JSON.stringify.
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const all: readonly (readonly [name: string, args: string])[] = [
    ...Object.entries(calls).map(([name, { args }]) => [name, written(args)] as const),
    ...refusals.map(([name, args]) => [name, written(args)] as const),
    ["keyword_search", written({ query: '"quoted" \\ text ☃ \u2028 </script>' })],
    ["keyword_search", written({ query: "file longer count:all", max_bytes: 1_000 })],
    ["keyword_search", `,"arguments":{"query":"x","a":${deep}}`],
    ["keyword_search", `,"arguments":{"query":${deep}}`],
    ["commit_search", `,"arguments":{"repos":[${deep}]}`],
    ["keyword_search", ',"arguments":{"query":"needle","__proto__":1}'],
    ["list_repos", ""],
    ["list_repos", ',"arguments":null'],
    ["list_repos", ',"arguments":[]'],
    ["nonsense", ',"arguments":{}'],
    ["constructor", ',"arguments":{}'],
  ];
  const compare = async ([name, args]: readonly [string, string], i: number): Promise<void> => {
    const ids = [i, `α${i}`, -i, i / 2, 2 ** 53 - 1, ""];
    const id = ids[i % ids.length];
    const [plain, copied] = await Promise.all([
      post(id, `"name":"${name}"${args}`),
      post(id, `"name":"${name}"${args},"_meta":{}`),
    ]);
    t.equal(plain, copied, `row ${i}: ${name}`);
  };
  await Promise.all(all.map(compare));
}

/**
 * Messages as other clients send them. `mcp` (Python) 2.3.0: no `_meta`, no `params` without members; `mcp-remote` 0.15.1: a
 * GET first, the headers of the protocol of 2026 with messages of that of 2025; and the end of a session.
 */
async function checkOtherClients(t: Test, url: string): Promise<void> {
  const exchange = async (method: string, headers: Readonly<Record<string, string>>, message?: object) => {
    const body = message === undefined ? {} : { body: JSON.stringify(message) };
    const all = message === undefined ? { Accept: jsonHeaders.Accept } : { ...jsonHeaders, ...headers };
    const response = await fetch(`${url}/.api/mcp/all`, { method, headers: all, ...body });
    return { status: response.status, session: response.headers.get("mcp-session-id"), text: await response.text() };
  };
  t.match(await exchange("GET", {}), { status: 405 });
  for (const namesMethod of [false, true]) {
    const send = (method: string, name: string | undefined, message: object) =>
      exchange(
        "POST",
        {
          ...(method === "initialize" ? {} : { "MCP-Protocol-Version": "2025-11-25" }),
          ...(namesMethod ? { "Mcp-Method": method, ...(name === undefined ? {} : { "Mcp-Name": name }) } : {}),
        },
        { jsonrpc: "2.0", ...message, method },
      );
    const clientInfo = { name: "mcp", version: "0.1.0" };
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo };
    const begun = await send("initialize", undefined, { id: 0, params });
    t.match(begun, { status: 200, session: null, text: /"protocolVersion":"2025-11-25"/ });
    t.match(await send("notifications/initialized", undefined, {}), { status: 202, text: "" });
    const { text } = await send("tools/list", undefined, { id: 2 });
    const { result } = JSON.parse(text) as { result: { tools: { name: string }[] } };
    t.same(result.tools.map(({ name }) => name).sort(), toolNames);
    const checkTool = async ({ name }: { readonly name: string }): Promise<void> => {
      const answer = await send("tools/call", name, { id: 3, params: { name, arguments: calls[name]?.args } });
      t.match(
        answer,
        { status: 200, text: name === needsIndex ? /uploaded index/ : /"completeness\\":\{\\"complete\\":true/ },
        name,
      );
      t.notMatch(answer.text, /"isError"/, name);
    };
    await Promise.all(result.tools.map(checkTool));
  }
  t.match(await exchange("DELETE", {}), { status: 405 }, "there is no session to end");
}

/** A repeated call has its recent answer until something changes, and only for viewers who see the same. */
async function checkRepeatedCalls(t: Test, site: GraphqlSite, source: GitFixture): Promise<void> {
  const { daemon } = site;
  const url = `${daemon.url}/.api/mcp`;
  // Ann sees all repositories; others may not read metrics.
  const headers = { Authorization: site.authorization("ann") ?? "" };
  const reused = async (): Promise<number> => {
    const text = await (await fetch(`${daemon.url}/metrics`, { headers })).text();
    return Number(/^trawl_mcp_answers_reused_total (\d+)$/m.exec(text)?.[1]);
  };
  const [ann, bob] = await Promise.all([
    Assistant.connect(t, url, "legacy", site.authorization("ann")),
    Assistant.connect(t, url, "legacy", site.authorization("bob")),
  ]);
  const countOf = async (assistant: Assistant, query: string): Promise<number> =>
    (await assistant.call("keyword_search", { query })).json.matchCount;
  const query = "needle -file:nothing";
  const before = await reused();
  for (let i = 0; i < 2; i++)
    t.same([await countOf(ann, query), await countOf(bob, query)], [2, 1], "ann reads a private repository");
  const others = [
    "type:commit needle",
    "repo:code rev:old list",
    "needle context:global",
    "needle repo:has.file(list)",
  ];
  for (const other of others) for (let i = 0; i < 2; i++) await countOf(bob, other);
  t.equal(await countOf(bob, query), 1);
  t.equal(await reused(), before + 3, "only answers that depend on nothing but what is indexed were kept");

  source.commit({ branch: "main", files: { "more.md": "one more needle\n" } });
  await daemon.control("POST", "/.api/repos/host%2Fcode/sync");
  t.same([await countOf(ann, query), await countOf(bob, query)], [3, 2], "a new commit is found at once");
  await daemon.control("POST", "/.api/repos/host%2Fsecret/attributes", { readers: ["bob"] });
  t.same([await countOf(ann, query), await countOf(bob, query)], [2, 3], "the readers have changed");
}

interface Row {
  readonly args: Readonly<Record<string, unknown>>;
  readonly found: object;
}

const definition = { repo: "host/code", path: "src/main.c", symbol: "list_length", revision: "old" };

const calls: Readonly<Record<string, Row>> = {
  keyword_search: {
    args: { query: "needle docs", context_lines: 1 },
    found: { matchCount: 2, results: [{ path: "docs/notes.md", lines: [{ line: 1, text: "a needle in docs" }] }] },
  },
  nls_search: {
    args: { query: "Where are the structures with lists and their lengths returned?", context_lines: 0 },
    found: { words: ["structur", "list", "length", "return"], wordsRequired: "any", results: [{ path: "src/list.c" }] },
  },
  regexp_search: { args: { query: "^int\\s+list_" }, found: { matchCount: 1, results: [{ lines: [{ line: 5 }] }] } },
  commit_search: {
    args: { repos: ["host/code"], messageTerms: ["NEEDLE"], authors: ["bob@"] },
    found: { matchCount: 1, commits: [{ author: "Bob", message: "add a needle" }] },
  },
  diff_search: {
    args: { pattern: "list_length\\(&l", repos: ["host/code"], removed: true },
    found: { matchCount: 1, commits: [{ author: "Bob", diff: /-int main\(void\) \{ struct list l/ }] },
  },
  list_files: {
    args: { repo: "host/code", path: "/src/" },
    found: { totalCount: 2, files: ["src/list.c", "src/main.c"] },
  },
  list_refs: {
    args: { repo: "host/code", type: "branch" },
    found: {
      defaultBranch: "main",
      totalCount: 2,
      refs: [
        { name: "main", type: "branch", commit: /^[0-9a-f]{40}$/, date: "2023-11-14T22:13:21.000Z" },
        { name: "old", type: "branch", date: "2023-11-14T22:13:20.000Z" },
      ],
    },
  },
  list_repos: {
    args: { query: "code$" },
    found: { totalCount: 1, hasMoreResults: false, repositories: ["host/code"] },
  },
  read_file: {
    args: { repo: "host/code", path: "src/list.c", startLine: 5, endLine: 5 },
    found: { lineCount: 8, startLine: 5, endLine: 5, content: "int list_length(struct list *list)" },
  },
  compare_revisions: {
    args: { repo: "host/code", base: "old", head: "main" },
    found: {
      totalCount: 2,
      aheadCount: 1,
      files: [
        { path: "docs/notes.md", added: 1, hunks: [/\+a needle in docs/] },
        { path: "src/main.c", deleted: 2 },
      ],
    },
  },
  find_implementations: {
    args: definition,
    found: { matchCount: 0, implementations: [], completeness: { excluded: [{ reason: "index" }] } },
  },
  find_references: {
    args: definition,
    found: { matchCount: 2, references: [{ path: "src/main.c" }, { path: "src/list.c", lines: [{ line: 5 }] }] },
  },
  go_to_definition: {
    args: definition,
    found: { definitions: [{ path: "src/list.c", line: 5, name: "list_length", kind: "function" }] },
  },
  get_contributor_repos: {
    args: { authors: ["ann@acme", "Bob"] },
    found: {
      repositories: [
        { repository: "host/code", commitCount: 1 },
        { repository: "host/code", commitCount: 1 },
      ],
    },
  },
};

/** Answers that leave something out say so. */
async function checkBounds(t: Test, assistant: Assistant): Promise<void> {
  const reasons = ({ json }: Called): string[] =>
    (json.completeness.excluded as { reason: string }[]).map(({ reason }) => reason);
  const file = { repo: "host/code", path: "many.txt" };
  const whole = await assistant.call("read_file", file);
  t.match(whole.json, { startLine: 1, endLine: 200, lineCount: 4_000, completeness: { complete: false } });
  t.same(reasons(whole), ["limit"], "of a large file the first lines are read");
  const part = await assistant.call("read_file", { ...file, startLine: 10, max_bytes: 2_000 });
  t.ok(Buffer.byteLength(part.text) <= 2_000, `${Buffer.byteLength(part.text)} bytes`);
  t.same(reasons(part), ["max_bytes"]);
  const { endLine } = part.json as { endLine: number };
  const next = await assistant.call("read_file", { ...file, startLine: endLine + 1, endLine: endLine + 1 });
  t.match(next.json.content, `line ${endLine} of`, "reading goes on where it ended");
  t.same(reasons(await assistant.call("read_file", { repo: "host/code", path: "binary.bin" })), ["binary"]);

  const few = await assistant.call("keyword_search", { query: "file longer", count: 5 });
  t.match(few.json, { completeness: { complete: false } });
  t.match(reasons(few), ["shard-match-limit"]);
  const all = await assistant.call("keyword_search", { query: "file longer count:all", max_bytes: 1_000 });
  t.ok(all.json.matchCount >= 4_000, "all matches are counted");
  t.ok(Buffer.byteLength(all.text) <= 1_000);
  t.same(reasons(all), ["max_bytes"]);
  const repos = await assistant.call("list_repos", { limit: 1 });
  t.match(repos.json, { hasMoreResults: true, totalCount: 2, repositories: ["host/code"] });
  const refs = { repo: "host/code", first: 2 };
  const pages = [await assistant.call("list_refs", refs), await assistant.call("list_refs", { ...refs, after: "2" })];
  t.match(pages[0].json, { totalCount: 4, nextCursor: "2", completeness: { complete: false } });
  t.equal(pages[1].json.nextCursor, undefined);
  t.same(
    pages.flatMap(({ json }) => (json.refs as { name: string }[]).map(({ name }) => name)),
    ["main", "old", "v1.0", "blob"],
    "the newest first, and what has no date last",
  );
  t.match(pages[1].json.refs[1], { type: "tag", object: /^[0-9a-f]{40}$/, commit: undefined });
  t.match((await assistant.call("list_refs", { ...refs, query: "V1" })).json.refs, [{ name: "v1.0" }]);
  t.match((await assistant.call("list_refs", { ...refs, after: "4" })).json, { totalCount: 4, refs: [] });
  t.match(
    reasons(await assistant.call("compare_revisions", { repo: "host/code", base: "old", head: "main", first: 1 })),
    ["limit"],
  );
}

/** What is wrong with a call is told to the assistant, with what is allowed. */
async function checkRefusals(t: Test, assistant: Assistant): Promise<void> {
  for (const [name, args, text] of refusals) {
    const answer = await assistant.call(name, args);
    t.equal(answer.isError, true, `${name} ${JSON.stringify(args).slice(0, 80)}: ${answer.text}`);
    t.match(answer.text, text);
    t.notMatch(answer.text, /internal error/);
  }
}

const refusals: readonly (readonly [name: string, args: Readonly<Record<string, unknown>>, text: RegExp])[] = [
  ["keyword_search", {}, /the argument query is missing/],
  ["keyword_search", { query: 7 }, /query must be a string, not 7/],
  ["keyword_search", { query: "x", nonsense: 1 }, /no argument "nonsense"; the arguments are query, count/],
  ["keyword_search", { query: "x", count: 1e9 }, /count must be a whole number from 1 to 1000/],
  ["keyword_search", { query: "x", max_bytes: 1 }, /max_bytes must be a whole number from 1000/],
  ["keyword_search", { query: "timeout:nonsense x" }, /keyword_search: .*timeout/],
  ["keyword_search", { query: "x".repeat(9_000) }, /more than 8192/],
  ["keyword_search", { __proto__: null, constructor: 1, query: "x" }, /no argument "constructor"/],
  ["regexp_search", { query: "(a" }, /regexp_search: /],
  ["read_file", { repo: "host/code", path: "../../etc/passwd" }, /there is no file/],
  ["read_file", { repo: "host/code", path: "src" }, /is a directory, not a file/],
  ["read_file", { repo: "host/code", path: "src/list.c", startLine: 4, endLine: 2 }, /endLine 2 is before startLine 4/],
  ["read_file", { repo: "host/code", path: "src/list.c", revision: "--upload-pack=x" }, /read_file: /],
  ["read_file", { repo: "host/code", path: "src/list.c", revision: "nope" }, /no branch, tag or commit "nope"/],
  ["read_file", { repo: "host/code", path: "a\0b" }, /must not contain U\+0000/],
  ["list_files", { repo: "host/code", path: "none" }, /there is no directory "none"/],
  ["list_refs", { repo: "host/code", type: "head" }, /type must be "branch" or "tag", not "head"/],
  ["list_refs", { repo: "host/code", after: "-1" }, /after must be the nextCursor/],
  ["list_refs", { repo: "host/hidden" }, /there is no repository "host\/hidden"/],
  ["nls_search", { query: "timeout:nonsense what" }, /nls_search: .*timeout/],
  ["commit_search", { repos: [1] }, /repos must be a list of strings/],
  ["commit_search", { repos: Array.from({ length: 101 }, () => "a") }, /at most 100/],
  ["commit_search", { after: "not a date" }, /commit_search: /],
  ["commit_search", { revisions: ["*refs/heads/*"] }, /must be a branch, a tag or a commit/],
  ["diff_search", { repos: ["host/code"] }, /the argument pattern is missing/],
];

const initialize = {
  jsonrpc: "2.0",
  id: "α",
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "x", version: "1" } },
};

t.test("hostile messages are refused, and the main thread is never blocked", async (t) => {
  const daemon = await testDaemon(t, ["--set", 'mcp.tools.disabled=["diff_search"]']);
  const source = makeSource(t);
  await daemon.add("host/code", source.path);
  const assistant = await Assistant.connect(t, `${daemon.url}/.api/mcp/all`, "legacy");
  t.notOk((await assistant.tools()).includes("diff_search"), "a disabled tool is not offered");
  await daemon.startStallMeter();

  const post = async (body: string, headers: Readonly<Record<string, string>> = {}) => {
    const all = { "Content-Type": "application/json", ...headers };
    const response = await fetch(`${daemon.url}/.api/mcp`, { method: "POST", headers: all, body });
    return { status: response.status, text: await response.text() };
  };
  const message = (value: unknown, headers: Readonly<Record<string, string>> = {}) =>
    post(JSON.stringify(value), headers);
  const call = (params: unknown) => message({ jsonrpc: "2.0", id: 1, method: "tools/call", params });

  t.match(await message(initialize), { status: 200, text: /"id":"α"/ });
  t.match(await post("{"), { status: 400, text: /the body is not JSON/ });
  t.match(await post("null"), { status: 400, text: /not a valid JSON-RPC/ });
  t.match(await post("[".repeat(30_000)), { status: 400 });
  t.match(await post("[".repeat(30_000) + "]".repeat(30_000)), { status: 400 });
  t.match(await post("x".repeat(70_000)), { status: 413 });
  t.match(await message([initialize, initialize]), { status: 400, text: /batches are not supported/ });
  t.match(await post("{}", { "Content-Type": "text/plain" }), { status: 415 });
  t.match(await message(initialize, { "MCP-Protocol-Version": "1999-01-01" }), { status: 400, text: /not supported/ });
  t.match(await message({ jsonrpc: "2.0", method: "notifications/initialized" }), { status: 202, text: "" });
  t.match(await message({ jsonrpc: "2.0", id: 1, result: {} }), { status: 202 });
  t.match(await message({ jsonrpc: "2.0", id: 1, method: "resources/list" }), { status: 200, text: /-32601/ });
  t.match(await message({ jsonrpc: "2.0", id: 1, method: "subscriptions/listen" }), { status: 404, text: /-32601/ });
  t.match(await call({}), { status: 200, text: /-32602|-32603/ });
  t.match(await call({ name: "list_repos", arguments: 7 }), { status: 200, text: /error/ });
  t.match(await call({ name: "list_repos", arguments: { query: "(".repeat(8_000) } }), { status: 200 });
  t.match(await call({ name: "x".repeat(50_000) }), { status: 200, text: /there is no tool/ });
  const wide = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`argument${at}`, at]));
  t.match(await call({ name: "list_repos", arguments: wide }), { status: 200, text: /no argument/ });
  t.equal((await fetch(`${daemon.url}/.api/mcp`)).status, 405, "there is nothing to get");
  t.match(await post("{}", { Authorization: "token nonsense" }), { status: 401 });

  // Clients that go before their answer: their calls end.
  for (let at = 0; at < 20; at++) {
    const leave = new AbortController();
    const params = { name: "keyword_search", arguments: { query: `line count:all ${"(a|b|line)".repeat(20)}` } };
    const left = fetch(`${daemon.url}/.api/mcp`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
      signal: leave.signal,
    }).catch(() => undefined);
    setImmediate(() => leave.abort());
    await left;
  }
  await until("no call runs", async () => (await daemon.metric("trawl_mcp_calls_running")) === 0);
  t.ok((await daemon.metric("trawl_mcp_calls_total")) > 2, "calls are counted");
  await until("no search runs", async () => (await daemon.metric("trawl_searches_running")) === 0);
  t.comment("none runs");
  const many = Array.from({ length: 20 }, () =>
    assistant.call("read_file", { repo: "host/code", path: "many.txt", startLine: 1, max_bytes: 250_000 }),
  );
  t.ok((await Promise.all(many)).every(({ json }) => json.endLine === 4_000));
  t.comment(`The main thread ran without a pause for at most ${await daemon.longestTurnMs()} ms.`);
});

t.test("mcp.enabled switches it off, and a disabled tool must exist", async (t) => {
  const daemon = await testDaemon(t, ["--set", "mcp.enabled=false"]);
  const response = await fetch(`${daemon.url}/.api/mcp`, { method: "POST", body: "{}" });
  t.equal(response.status, 404);
  const check = (disabled: readonly string[]): void =>
    checkDisabledTools({
      mcp: { enabled: true, "tools.disabled": disabled, registration: true, clientNetworks: [] },
    });
  check(["diff_search"]);
  t.throws(() => check(["nonsense"]), /mcp\.tools\.disabled: there is no tool "nonsense"; the tools are commit_search/);
});
