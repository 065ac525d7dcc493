/** GraphQL responses to unusual, invalid or impossible requests. */
import t from "tap";
import { GitFixture } from "../../support/git-fixture.js";
import { ask, repositoryIds } from "../../support/graphql.js";
import { sharedDaemon } from "../../support/shared-daemon.js";

const id = (kind: string, key: unknown): string => Buffer.from(`${kind}:${JSON.stringify(key)}`).toString("base64");
const submoduleOid = "1234567890123456789012345678901234567890";

t.test("responses", async (t) => {
  const source = GitFixture.create();
  const empty = GitFixture.create();
  t.teardown(() => [source, empty].forEach((fixture) => fixture.remove()));
  const first = source.commit({ branch: "main", files: { "a.txt": "one\nneedle two\nthree" } });
  const head = source.commit({
    branch: "main",
    message: "Odd things\n",
    files: {
      binary: Uint8Array.from([1, 0, 2]),
      link: { symlink: "a.txt" },
      sub: { gitlink: submoduleOid },
      large: Buffer.alloc(9 << 20, "x"),
      ".gitmodules": '[submodule "s"]\n\tpath = sub\n\turl = https://example.org/sub.git\n',
      "dir/only": "😀 needle\n",
      empty: "",
    },
  });
  const daemon = await sharedDaemon(t, {
    repositories: [
      { name: "example.org/a", url: source.path, metadata: { team: "core", checked: null }, topics: ["x"] },
      { name: "example.org/empty", url: empty.path },
    ],
    contexts: [
      { name: "mine", description: "What is ours", repositories: [{ name: "example.org/a" }] },
      { name: "hidden", public: false, query: "repo:a" },
    ],
  });
  for (const name of ["example.org/a", "example.org/empty"]) await daemon.sync(name);
  const query = (text: string, variables: Record<string, unknown> | null = null) => ask(daemon.url, text, variables);
  const repository = async (selection: string, name = "example.org/a") =>
    await query(`{ repository(name: "${name}") { ${selection} } }`);
  const commit = async (selection: string, revision = "HEAD") =>
    await repository(`commit(rev: "${revision}") { ${selection} }`);

  const { number } = await repositoryIds(daemon.url, "example.org/a");

  await t.test("ids", async (t) => {
    t.match(await query(`{ node(id: "${id("Repository", number)}") { __typename id ... on Repository { name } } }`), {
      data: { node: { __typename: "Repository", name: "example.org/a" } },
    });
    t.strictSame(await query(`{ node(id: "${id("Repository", 99)}") { id } }`), { data: { node: null } });
    t.match(
      await query(
        `{ node(id: "${id("GitCommit", { r: id("Repository", number), c: first })}") { ... on GitCommit { oid } } }`,
      ),
      { data: { node: { oid: first } } },
    );
    t.match(
      await query(
        `{ node(id: "${id("GitRef", { r: id("Repository", number), v: "refs/heads/main" })}") { ... on GitRef { name target { oid } } } }`,
      ),
      { data: { node: { name: "refs/heads/main", target: { oid: head } } } },
    );
    t.match(await query(`{ node(id: "${id("Site", "site")}") { ... on Site { productVersion } } }`), {
      data: { node: { productVersion: /./ } },
    });
    t.match(await query(`{ node(id: "${id("Nothing", 1)}") { id } }`), {
      data: { node: null },
      errors: [{ message: /Nothing/, path: ["node"] }],
    });
    t.match(await query('{ node(id: "no id") { id } }'), { errors: [{ message: /is not an id/ }] });
  });

  await t.test("repositories", async (t) => {
    t.match(
      await query("{ repositories(first: 1) { nodes { name } totalCount pageInfo { hasNextPage endCursor } } }"),
      {
        data: {
          repositories: {
            nodes: [{ name: "example.org/a" }],
            totalCount: 2,
            pageInfo: { hasNextPage: true, endCursor: /./ },
          },
        },
      },
    );
    const {
      data: { repositories },
    } = (await query("{ repositories(first: 1) { pageInfo { endCursor } } }")) as {
      data: { repositories: { pageInfo: { endCursor: string } } };
    };
    t.match(
      await query(
        "query ($after: String) { repositories(first: 5, after: $after) { nodes { name } pageInfo { hasNextPage hasPreviousPage } } }",
        { after: repositories.pageInfo.endCursor },
      ),
      {
        data: {
          repositories: {
            nodes: [{ name: "example.org/empty" }],
            pageInfo: { hasNextPage: false, hasPreviousPage: true },
          },
        },
      },
    );
    t.match(await query("{ repositories(last: 1) { nodes { name } } }"), {
      data: { repositories: { nodes: [{ name: "example.org/empty" }] } },
    });
    t.match(await query("{ repositories(first: 9, orderBy: REPOSITORY_NAME, descending: true) { nodes { name } } }"), {
      data: { repositories: { nodes: [{ name: "example.org/empty" }, {}] } },
    });
    t.match(await query('{ repositories(first: 9, query: "emp[t]y$") { nodes { name } } }'), {
      data: { repositories: { nodes: [{ name: "example.org/empty" }] } },
    });
    t.match(
      await query('{ repositories(first: 9, query: "(") { nodes { name } } }'),
      { data: { repositories: { nodes: [] } } },
      "no regular expression",
    );
    t.match(await query("{ repositories { nodes { name } } }"), {
      errors: [{ message: "you must provide a `first` or `last` value to properly paginate" }],
    });
    t.match(await query("{ repositories(first: -1) { nodes { name } } }"), { errors: [{ message: /negative/ }] });
    t.match(await query('{ repositories(first: 1, after: "?") { nodes { name } } }'), {
      errors: [{ message: /cursor/ }],
    });
    t.match(await query("{ repository { name } }"), {
      data: { repository: null },
      errors: [{ message: "neither name nor cloneURL given" }],
    });
    t.strictSame(await query('{ repository(name: "a\\u0000b") { name } }'), { data: { repository: null } });
    t.match(await repository("metadata { key value } topics"), {
      data: {
        repository: {
          metadata: [
            { key: "team", value: "core" },
            { key: "checked", value: null },
          ],
          topics: ["x"],
        },
      },
    });
    t.match(await query('{ repoMeta { keys { nodes } key(key: "team") { values { nodes } } } }'), {
      data: { repoMeta: { keys: { nodes: ["checked", "team"] }, key: { values: { nodes: ["core"] } } } },
    });
    t.match(
      await repository(
        'defaultBranch { name } commit(rev: "HEAD") { oid } branches { totalCount } mirrorInfo { cloned lastChanged } contributors(first: 1) { totalCount }',
        "example.org/empty",
      ),
      {
        data: {
          repository: { defaultBranch: null, commit: null, branches: { totalCount: 0 }, mirrorInfo: { cloned: true } },
        },
      },
      "an empty repository",
    );
    t.match(await repository("name mirrorInfo { remoteURL }"), {
      data: { repository: { name: "example.org/a", mirrorInfo: { remoteURL: null } } },
      errors: [{ message: "not authenticated", path: ["repository", "mirrorInfo", "remoteURL"] }],
    });
  });

  await t.test("revisions and paths", async (t) => {
    for (const revision of [
      "nothing",
      "-h",
      "--all",
      "HEAD~99",
      "",
      "deadbeef",
      "a b",
      "main:a.txt",
      "../x",
      "refs/heads/none",
    ]) {
      t.match(
        await commit("oid", revision),
        { data: { repository: { commit: revision === "" ? { oid: head } : null } } },
        `revision ${JSON.stringify(revision)}`,
      );
    }
    for (const revision of ["main", "HEAD", "HEAD~0", head, head.slice(0, 8), "refs/heads/main", "@"])
      t.match(await commit("oid", revision), { data: { repository: { commit: { oid: head } } } }, revision);
    for (const path of ["none", "../a.txt", "dir/../a.txt", "a.txt/x", "a\\u0000b", ":(top)a.txt", "*.txt"]) {
      t.strictSame(
        await commit(
          `path(path: "${path}") { __typename } file(path: "${path}") { path } tree(path: "${path}x") { path }`,
        ),
        { data: { repository: { commit: { path: null, file: null, tree: null } } } },
        path,
      );
    }
    t.match(
      await commit(
        'tree(path: "/dir/") { path isRoot entries { path isSingleChild } } root: tree(path: ".") { isRoot name url }',
      ),
      {
        data: {
          repository: {
            commit: {
              tree: { path: "dir", isRoot: false, entries: [{ path: "dir/only", isSingleChild: true }] },
              root: { isRoot: true, name: ".", url: "/example.org/a@HEAD" },
            },
          },
        },
      },
    );
    t.match(
      await commit('blob(path: "dir") { path } oid'),
      { data: { repository: { commit: { blob: null, oid: head } } }, errors: [{ message: 'not a blob: "dir"' }] },
      "an error costs its own field",
    );
    t.match(await commit('tree(path: "a.txt") { path }'), { errors: [{ message: 'not a directory: "a.txt"' }] });
  });

  await t.test("files", async (t) => {
    const file = async (path: string, selection: string) =>
      (await commit(`blob(path: "${path}") { ${selection} }`)) as {
        data: { repository: { commit: { blob: unknown } } };
        errors?: unknown;
      };
    t.match(
      await file(
        "a.txt",
        "content totalLines x: content(startLine: 2, endLine: 2) past: content(startLine: 9) clipped: content(startLine: 3, endLine: 99)",
      ),
      {
        data: {
          repository: {
            commit: {
              blob: {
                content: "one\nneedle two\nthree",
                totalLines: 3,
                x: "needle two\n",
                past: "one\nneedle two\nthree",
                clipped: "three",
              },
            },
          },
        },
      },
    );
    t.match(await file("binary", "content binary byteSize totalLines contentType"), {
      data: {
        repository: {
          commit: {
            blob: { content: "", binary: true, byteSize: 3, totalLines: 0, contentType: "application/octet-stream" },
          },
        },
      },
    });
    t.match(await file("binary", "highlight(disableTimeout: true) { html }"), {
      errors: [{ message: "cannot render binary file" }],
    });
    t.match(await file("link", "content submodule { url }"), {
      data: { repository: { commit: { blob: { content: "a.txt", submodule: null } } } },
    });
    t.match(await file("sub", "content byteSize submodule { url commit path }"), {
      data: {
        repository: {
          commit: {
            blob: {
              content: "",
              byteSize: 0,
              submodule: { url: "https://example.org/sub.git", commit: submoduleOid, path: "sub" },
            },
          },
        },
      },
    });
    t.match(await file("large", "byteSize path"), {
      data: { repository: { commit: { blob: { byteSize: 9 << 20, path: "large" } } } },
    });
    t.match(await file("large", "content"), {
      data: { repository: { commit: { blob: { content: null } } } },
      errors: [{ message: /too many for this response/ }],
    });
    t.match(await file("empty", "content byteSize totalLines languages"), {
      data: { repository: { commit: { blob: { content: "", byteSize: 0, totalLines: 0, languages: [] } } } },
    });
    t.match(await file("a.txt", "blame(startLine: 2, endLine: 99) { startLine endLine startByte endByte rev }"), {
      data: { repository: { commit: { blob: { blame: [{ startLine: 2, endLine: 4, startByte: 4, rev: first }] } } } },
    });
    t.match(await file("a.txt", "blame(startLine: 50, endLine: 60) { rev }"), {
      data: { repository: { commit: { blob: { blame: [] } } } },
    });
    t.match(await file("a.txt", "blame(startLine: 0, endLine: 1) { rev }"), { errors: [{ message: /start at 1/ }] });
    t.match(
      await file(
        "a.txt",
        "highlight(disableTimeout: true) { lineRanges(ranges: [{ startLine: 1, endLine: 9 }, { startLine: -5, endLine: 0 }]) }",
      ),
      { data: { repository: { commit: { blob: { highlight: { lineRanges: [[/needle/, /three/], []] } } } } } },
    );
  });

  await t.test("histories", async (t) => {
    t.match(
      await commit(
        'parents { oid } ancestors(first: 1) { nodes { oid } totalCount pageInfo { endCursor hasNextPage } } next: ancestors(first: 5, afterCursor: "1") { nodes { oid } pageInfo { hasNextPage } }',
      ),
      {
        data: {
          repository: {
            commit: {
              parents: [{ oid: first }],
              ancestors: { nodes: [{ oid: head }], totalCount: null, pageInfo: { endCursor: "1", hasNextPage: true } },
              next: { nodes: [{ oid: first }], pageInfo: { hasNextPage: false } },
            },
          },
        },
      },
    );
    t.match(
      await commit(
        'ancestors(path: "a.txt", follow: true) { nodes { oid } } none: ancestors(query: "--all") { nodes { oid } } before: ancestors(before: "2000-01-01") { nodes { oid } }',
      ),
      {
        data: {
          repository: {
            commit: { ancestors: { nodes: [{ oid: first }] }, none: { nodes: [] }, before: { nodes: [] } },
          },
        },
      },
    );
    t.match(await commit('ancestors(afterCursor: "x") { nodes { oid } } oid'), { errors: [{ message: /cursor/ }] });
    t.match(await repository('name comparison(base: "none", head: "HEAD") { range { expr } }'), {
      errors: [{ message: "revision not found: example.org/a@none" }],
    });
    t.match(
      await commit(
        "diff { range { mergeBase { oid } } fileDiffs(first: 2) { totalCount nodes { newPath } pageInfo { hasNextPage endCursor } } }",
        first,
      ),
      {
        data: {
          repository: {
            commit: {
              diff: {
                range: { mergeBase: null },
                fileDiffs: { totalCount: 1, nodes: [{ newPath: "a.txt" }], pageInfo: { hasNextPage: false } },
              },
            },
          },
        },
      },
      "a commit without a parent",
    );
  });

  await t.test("searches", async (t) => {
    const found = async (text: string, rest = "") =>
      query(
        `query ($q: String!) { search(query: $q${rest}) { results { matchCount limitHit alert { title } skipped { reason } results { ... on FileMatch { file { path } revSpec { ... on GitRevSpecExpr { expr object { oid } } } lineMatches { lineNumber offsetAndLengths } chunkMatches { content ranges { start { line character } end { character } } } pathMatches { start { character } } } } } stats { approximateResultCount languages { name } } } }`,
        { q: text },
      );
    t.match(await found("needle"), {
      data: {
        search: {
          results: {
            matchCount: 2,
            limitHit: false,
            results: [
              {
                file: { path: "dir/only" },
                revSpec: null,
                lineMatches: [{ lineNumber: 0, offsetAndLengths: [[2, 6]] }],
                chunkMatches: [
                  { content: "😀 needle", ranges: [{ start: { line: 0, character: 2 }, end: { character: 8 } }] },
                ],
              },
              { file: { path: "a.txt" } },
            ],
          },
          stats: { approximateResultCount: "2" },
        },
      },
    });
    t.match(await found("e count:1"), {
      data: {
        search: {
          results: { matchCount: 1, limitHit: true, skipped: [{ reason: "shard-match-limit" }] },
          stats: { approximateResultCount: "1+" },
        },
      },
    });
    t.match(
      await found("one\\nneedle"),
      {
        data: {
          search: {
            results: {
              results: [
                {
                  lineMatches: [
                    { lineNumber: 0, offsetAndLengths: [[0, 3]] },
                    { lineNumber: 1, offsetAndLengths: [[0, 6]] },
                  ],
                },
              ],
            },
          },
        },
      },
      "a match over two lines",
    );
    t.match(await found("needle repo:a@main"), {
      data: { search: { results: { results: [{ revSpec: { expr: "main", object: { oid: head } } }, {}] } } },
    });
    t.match(await found("context:mine needle"), { data: { search: { results: { matchCount: 2 } } } });
    t.match(await found("foo.bar", ", version: V3"), {
      data: {
        search: { results: { matchCount: 0, results: [] }, stats: { approximateResultCount: "0", languages: [] } },
      },
    });
    t.match(await found("count:many x", ", patternType: regexp"), {
      data: { search: { results: { results: [], alert: { title: /./ } } } },
    });
  });

  await t.test("contexts", async (t) => {
    t.match(
      await query(
        "{ searchContexts { nodes { spec description repositories { repository { name } revisions } } totalCount } }",
      ),
      {
        data: {
          searchContexts: {
            nodes: [
              { spec: "global" },
              {
                spec: "mine",
                description: "What is ours",
                repositories: [{ repository: { name: "example.org/a" }, revisions: ["HEAD"] }],
              },
            ],
            totalCount: 2,
          },
        },
      },
    );
    t.match(
      await query(
        '{ searchContextBySpec(spec: "hidden") { spec query public } none: searchContextBySpec(spec: "none") { spec } isSearchContextAvailable(spec: "mine") }',
      ),
      {
        data: {
          searchContextBySpec: { spec: "hidden", query: "repo:a", public: false },
          none: null,
          isSearchContextAvailable: true,
        },
      },
    );
    t.match(await query(`{ node(id: "${id("SearchContext", "mine")}") { ... on SearchContext { name } } }`), {
      data: { node: { name: "mine" } },
    });
  });

  await t.test("accounts", async (t) => {
    const token = await daemon.addToken("admin");
    const asked = async (text: string): Promise<unknown> => {
      const response = await fetch(`${daemon.url}/.api/graphql`, {
        method: "POST",
        headers: { Authorization: `token ${token}` },
        body: JSON.stringify({ query: text }),
      });
      return response.json();
    };
    t.match(
      await asked(
        "{ currentUser { id username databaseID siteAdmin url organizations { nodes { id name } totalCount } emails { email } viewerCanAdminister session { canSignOut } } }",
      ),
      {
        data: {
          currentUser: {
            username: "admin",
            siteAdmin: true,
            url: "/users/admin",
            organizations: { nodes: [], totalCount: 0 },
            emails: [],
            viewerCanAdminister: true,
          },
        },
      },
    );
    t.match(
      await asked(
        '{ site { viewerCanAdminister configuration { effectiveContents } } repository(name: "example.org/a") { mirrorInfo { remoteURL } } }',
      ),
      {
        data: {
          site: { viewerCanAdminister: true, configuration: { effectiveContents: /"listen": "127\.0\.0\.1:0"/ } },
          repository: { mirrorInfo: { remoteURL: source.path } },
        },
      },
    );
    // The daemon has read them after its start.
    t.match(await asked("{ site { configuration { effectiveContents } } }"), {
      data: { site: { configuration: { effectiveContents: /"name": "mine",[^]*"name": "hidden"/ } } },
    });
    t.match(
      await query(
        '{ currentUser { id } user(username: "admin") { username viewerCanAdminister } none: user(username: "none") { id } }',
      ),
      { data: { currentUser: null, user: null, none: null } },
    );
  });

  t.match(await query("{ site { configuration { effectiveContents } } }"), {
    errors: [{ message: "not authenticated" }],
  });
  t.match(JSON.parse((await daemon.get("/.api/client-config")).text), { chatEnabled: false });
});
