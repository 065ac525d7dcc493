/**
 * What nobody should send, and what repositories should not hold, over a real socket: each has a clear answer, and the
 * daemon goes on. Bodies and documents that are wrong are in graphql-http.test.ts.
 */
import t from "tap";
import { GitFixture } from "../../support/git-fixture.js";
import { repositoryIds } from "../../support/graphql.js";
import { sharedDaemon } from "../../support/shared-daemon.js";

const many = (count: number, text: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join(" ");
const id = (kind: string, key: unknown): string => Buffer.from(`${kind}:${JSON.stringify(key)}`).toString("base64");
const huge = 100 << 20;

t.test("bad input", async (t) => {
  const source = GitFixture.create();
  const empty = GitFixture.create();
  t.teardown(() => {
    source.remove();
    empty.remove();
  });
  const submodule = "1234567890123456789012345678901234567890";
  const head = source.commit({
    branch: "main",
    files: {
      "a.txt": "one\n",
      "dir/b.txt": "two\n",
      link: { symlink: "../../etc/passwd" },
      sub: { gitlink: submodule },
      huge: Buffer.alloc(huge, "x\n"),
      binary: Uint8Array.from([0, 1, 2, 255]),
      latin1: Uint8Array.from([0x63, 0x61, 0x66, 0xe9, 0x0a]),
      empty: "",
    },
  });
  const daemon = await sharedDaemon(t);
  await daemon.add("example.org/a", source.path);
  await daemon.add("example.org/empty", empty.path);
  const ask = async (
    query: string,
    variables: Readonly<Record<string, unknown>> = {},
    headers: Readonly<Record<string, string>> = {},
  ): Promise<unknown> => {
    const response = await fetch(`${daemon.url}/.api/graphql`, {
      method: "POST",
      body: JSON.stringify({ query, variables }),
      headers,
    });
    const text = await response.text();
    return text.startsWith("{") ? JSON.parse(text) : { status: response.status, text };
  };
  const commit = (rev: string, selection: string, variables: Readonly<Record<string, unknown>> = {}) =>
    ask(
      `query ($rev: String!, $path: String = "") { repository(name: "example.org/a") { commit(rev: $rev) { atPath: path(path: $path) { __typename } ${selection} } } }`,
      { rev, ...variables },
    );
  const inCommit = (value: unknown) => ({ errors: undefined, data: { repository: { commit: value } } });
  const file = (path: string, selection: string) =>
    ask(
      `query ($path: String!) { repository(name: "example.org/a") { commit(rev: "HEAD") { blob(path: $path) { ${selection} } } } }`,
      { path },
    );
  const blob = (value: unknown) => inCommit({ blob: value });

  const { number } = await repositoryIds(daemon.url, "example.org/a");

  await t.test("ids", async (t) => {
    for (const bad of [
      "",
      "x",
      "!",
      "AAAA",
      Buffer.from("Repository").toString("base64"),
      Buffer.from("Repository:{").toString("base64"),
      "\0",
      "é",
      "A".repeat(100_000),
    ]) {
      t.match(
        await ask("query ($id: ID!) { node(id: $id) { id } }", { id: bad }),
        { data: { node: null }, errors: [{ message: /id/ }] },
        JSON.stringify(bad.slice(0, 20)),
      );
    }
    for (const none of [
      id("Repository", 999_999),
      id("Repository", "1"),
      id("Repository", -1),
      id("Repository", 1.5),
      id("User", 999_999),
      id("User", null),
      id("Org", 999_999),
      id("GitCommit", { r: id("Repository", number), c: "f".repeat(40) }),
      id("GitCommit", { r: id("User", 1), c: head }),
      id("GitCommit", { r: 1 }),
      id("GitCommit", null),
      id("GitRef", { r: id("Repository", number), v: "refs/heads/none" }),
      id("GitRef", { r: id("Repository", number), v: "\0" }),
      id("SearchContext", "none"),
      id("Site", "other"),
    ]) {
      t.strictSame(
        await ask("query ($id: ID!) { node(id: $id) { id } }", { id: none }),
        { data: { node: null } },
        Buffer.from(none, "base64").toString(),
      );
    }
    t.match(await ask("query ($id: ID!) { node(id: $id) { id } }", { id: id("Executor", 1) }), {
      errors: [{ message: /Executor/ }],
    });
    t.strictSame(
      await ask("query ($id: ID!) { node(id: $id) { __typename ... on User { username } } }", {
        id: id("Repository", number),
      }),
      { data: { node: { __typename: "Repository" } } },
      "an id of another kind",
    );
  });

  await t.test("repositories and revisions", async (t) => {
    for (const name of ["", "none", "\0", "example.org/a\0", "../a", "-", "a".repeat(10_000)]) {
      t.strictSame(
        await ask("query ($name: String!) { repository(name: $name) { id } }", { name }),
        { data: { repository: null } },
        JSON.stringify(name.slice(0, 20)),
      );
    }
    for (const rev of ["none", "f".repeat(40), "HEAD~100", "main^{tree}", "é", "a".repeat(1_000)]) {
      t.strictSame(
        await commit(rev, "oid"),
        { data: { repository: { commit: null } } },
        JSON.stringify(rev.slice(0, 20)),
      );
    }
    for (const rev of [
      "main..main",
      "-x",
      "--all",
      "main:a.txt",
      "@{u}",
      "\0",
      "main\0",
      "a\nb",
      "^main",
      "a".repeat(10_000),
      ":/one",
      "main@{yesterday}",
      "main^{/one}",
    ]) {
      t.match(
        await commit(rev, "oid"),
        {
          data: { repository: { commit: null } },
          errors: [{ message: /^the revision ".*: a revision is a branch, a tag/s }],
        },
        JSON.stringify(rev.slice(0, 20)),
      );
    }
    t.match(
      await ask('{ repository(name: "example.org/a") { comparison(base: "none", head: "main") { range { expr } } } }'),
      { errors: [{ message: /none/ }] },
    );
    t.match(
      await ask(
        '{ repository(name: "example.org/a") { commit(rev: "HEAD") { ancestors(first: -1) { totalCount } } } }',
      ),
      { errors: [{ message: /negative/ }] },
    );
    t.match(
      await ask(
        '{ repository(name: "example.org/a") { commit(rev: "HEAD") { ancestors(afterCursor: "x") { totalCount } } } }',
      ),
      { errors: [{ message: /cursor/ }] },
    );
    t.match(await ask('{ repositories(first: 1, after: "x") { totalCount } }'), { errors: [{ message: /cursor/ }] });
    t.match(await ask("{ repositories { totalCount } }"), {
      errors: [{ message: "you must provide a `first` or `last` value to properly paginate" }],
    });
  });

  await t.test("paths", async (t) => {
    for (const path of [
      "none",
      "..",
      "../a.txt",
      "dir/../../a.txt",
      "dir/../a.txt",
      "a.txt/x",
      "\0",
      "a.txt\0",
      "dir/*",
      ":(glob)*",
      "a\nb",
      "é",
      "a/".repeat(2_000),
      "link/x",
      "sub/x",
      "-x",
    ]) {
      t.match(
        await commit("HEAD", "path(path: $path) { __typename }", { path }),
        inCommit({ path: null }),
        JSON.stringify(path.slice(0, 20)),
      );
      t.match(
        await commit(
          "HEAD",
          "file(path: $path) { path } blob(path: $path) { path } tree(path: $path) { path } ancestors(first: 1, path: $path) { nodes { oid } }",
          { path },
        ),
        inCommit({ file: null, blob: null, tree: null, ancestors: { nodes: { length: 0 } } }),
        JSON.stringify(path.slice(0, 20)),
      );
    }
    for (const path of ["", ".", "/", "./", "//"])
      t.match(
        await commit("HEAD", "tree(path: $path) { isRoot }", { path }),
        inCommit({ tree: { isRoot: true } }),
        JSON.stringify(path),
      );
    t.match(await commit("HEAD", 'tree(path: "a.txt") { path }'), {
      errors: [{ message: 'not a directory: "a.txt"' }],
    });
    t.match(await commit("HEAD", 'blob(path: "dir") { path }'), { errors: [{ message: 'not a blob: "dir"' }] });
  });

  await t.test("files", async (t) => {
    t.match(
      await file("link", "content byteSize binary"),
      blob({ content: "../../etc/passwd", byteSize: 16, binary: false }),
      "a symlink is what it says, and is not followed",
    );
    t.match(
      await file("sub", "content byteSize binary totalLines submodule { commit url }"),
      blob({ content: "", byteSize: 0, totalLines: 0, submodule: { commit: submodule, url: "" } }),
      "a submodule",
    );
    t.match(await file("huge", "byteSize isDirectory"), blob({ byteSize: huge }), "a file of 100 MB is known");
    t.match(
      await file("huge", "content"),
      { errors: [{ message: /^huge has 104857600 bytes, too many/ }] },
      "but not given",
    );
    t.match(await file("huge", "highlight(disableTimeout: true) { html }"), { errors: [{ message: /too many/ }] });
    t.match(
      await file("binary", "content binary totalLines byteSize"),
      blob({ content: "", binary: true, totalLines: 0, byteSize: 4 }),
    );
    t.match(
      await file("latin1", "content binary"),
      blob({ content: "caf\u00e9\n", binary: false }),
      "what is in Latin-1 is decoded",
    );
    t.match(await file("empty", "content totalLines byteSize"), blob({ content: "", totalLines: 0, byteSize: 0 }));
    t.match(
      await file("empty", "highlight(disableTimeout: false) { aborted }"),
      blob({ highlight: { aborted: false } }),
    );
    t.match(await file("empty", "blame(startLine: 1, endLine: 5) { startLine }"), blob({ blame: [] }));
    for (const lines of ["startLine: 0, endLine: 1", "startLine: -5, endLine: -1", "startLine: 3, endLine: 2"])
      t.match(await file("a.txt", `blame(${lines}) { rev }`), { errors: [{ message: /lines/ }] }, lines);
    t.match(
      await file("a.txt", "content(startLine: -3, endLine: 900)"),
      blob({ content: "one\n" }),
      "bounds are clipped",
    );
    t.match(await file("a.txt", "content(startLine: 9)"), blob({ content: "one\n" }), "and past the end everything");
  });

  await t.test("an empty repository", async (t) => {
    t.match(
      await ask(`{ repository(name: "example.org/empty") { name language defaultBranch { name } commit(rev: "") { oid } head: commit(rev: "HEAD") { oid }
      branches { totalCount } tags { totalCount } contributors { totalCount } firstEverCommit { oid } textSearchIndex { refs { ref { name } } } mirrorInfo { cloned } } }`),
      {
        errors: undefined,
        data: {
          repository: {
            language: "",
            defaultBranch: null,
            commit: null,
            head: null,
            branches: { totalCount: 0 },
            contributors: { totalCount: 0 },
            firstEverCommit: null,
          },
        },
      },
    );
    t.match(await ask('{ search(query: "repo:empty zzz", version: V3) { results { matchCount alert { title } } } }'), {
      data: { search: { results: { matchCount: 0, alert: null } } },
    });
  });

  await t.test("texts", async (t) => {
    for (const query of ["\0", "repo:\0", "\ufffd", "(".repeat(5_000), "/[/", "a".repeat(200_000)]) {
      t.match(
        await ask("query ($query: String!) { search(query: $query, version: V3) { results { matchCount } } }", {
          query,
        }),
        { errors: undefined, data: { search: { results: { matchCount: Number } } } },
        JSON.stringify(query.slice(0, 20)),
      );
    }
    t.match(
      await ask(`{ ${many(10_000, (at) => `a${at}: __typename`)} }`),
      { errors: [{ message: /tokens/ }] },
      "10,000 aliases",
    );
    t.match(
      await ask(`{ ${many(300, (at) => `repository(name: "${at}") { id }`)} }`),
      { errors: [{ message: /^Fields "repository" conflict/ }] },
      "300 fields that conflict",
    );
    t.match(
      await ask(`{ ${many(65, (at) => `...f${at}`)} } ${many(65, (at) => `fragment f${at} on Query { __typename }`)}`),
      { errors: [{ message: /65 fragments/ }] },
    );
    t.match(await ask(`query (${many(501, (at) => `$v${at}: Int`)}) { __typename }`), {
      errors: [{ message: /501 variables/ }],
    });
    t.match(
      await ask(`{ ${many(501, (at) => `a${at}: __typename`)} }`),
      { errors: [{ message: "Query exceeds maximum alias count limit" }] },
      "501 aliases",
    );
    t.match(
      await ask(
        `{ ${many(60, () => "...f0")} } ${many(60, (at) => `fragment f${at} on Query { ${many(60, () => `...f${at + 1}`)} }`)} fragment f60 on Query { site { id } }`,
      ),
      { errors: [{ message: /^Query exceeds/ }] },
      "60 to the power of 60 fields",
    );
  });

  await t.test("the token of a deleted user", async (t) => {
    await daemon.control("POST", "/.api/users", { name: "ann" });
    const headers = { Authorization: `token ${await daemon.addToken("ann")}` };
    t.strictSame(await ask("{ currentUser { username } }", {}, headers), {
      data: { currentUser: { username: "ann" } },
    });
    await daemon.control("DELETE", "/.api/users/ann");
    t.strictSame(await ask("{ currentUser { username } }", {}, headers), {
      status: 401,
      text: "Invalid access token.\n",
    });
    t.match(await ask('{ user(username: "ann") { id } }'), { data: { user: null } });
  });

  t.match(await commit("HEAD", "oid"), inCommit({ oid: head }), "and the daemon goes on");
});
