/** Valid and invalid requests to `/.api/graphql` over HTTP. */
import { gzipSync } from "node:zlib";
import { getIntrospectionQuery } from "graphql";
import t from "tap";
import { testDaemon } from "../../support/daemon.js";

const many = (count: number, text: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => text(at)).join(" ");

interface Answer {
  readonly data?: Record<string, unknown>;
  readonly errors?: readonly { readonly message: string; readonly extensions?: unknown; readonly path?: unknown }[];
}

t.test("graphql over http", async (t) => {
  const daemon = await testDaemon(t, ["--set", "rateLimits.graphQLMaxAliases=50"]);
  const url = `${daemon.url}/.api/graphql`;
  const post = (body: string | Uint8Array, headers: Record<string, string> = {}) =>
    fetch(url, { method: "POST", body, headers });
  const ask = async (
    query: string,
    rest: Record<string, unknown> = {},
  ): Promise<{ status: number; answer: Answer }> => {
    const response = await post(JSON.stringify({ query, ...rest }));
    return { status: response.status, answer: (await response.json()) as Answer };
  };
  const firstMessage = async (query: string, rest: Record<string, unknown> = {}): Promise<string | undefined> =>
    (await ask(query, rest)).answer.errors?.[0]?.message;
  const small = JSON.stringify({ query: "{ site { productVersion } }" });

  await t.test("requests that are good", async (t) => {
    const plain = await post(small);
    t.equal(plain.status, 200);
    t.match(plain.headers.get("content-type"), "application/json");
    t.equal(plain.headers.get("cache-control"), "no-cache, max-age=0");
    t.match(await plain.json(), { data: { site: { productVersion: /./ } } });

    for (const type of ["application/json", "text/plain", "application/x-www-form-urlencoded", "nonsense"]) {
      t.equal((await post(small, { "Content-Type": type })).status, 200, type);
    }
    t.equal(
      (await fetch(`${url}?SiteProductVersion`, { method: "POST", body: small })).status,
      200,
      "a request name in the query string",
    );
    t.match(await (await post(gzipSync(small), { "Content-Encoding": "gzip" })).json(), { data: { site: {} } }, "gzip");
    t.match(
      await (
        await post(JSON.stringify({ query: "{ currentUser { id } }", variables: null, operationName: null }))
      ).json(),
      { data: { currentUser: null } },
    );

    const introspection = await fetch(url, {
      method: "POST",
      body: JSON.stringify({ query: getIntrospectionQuery() }),
      headers: { "Accept-Encoding": "gzip" },
    });
    t.equal(introspection.headers.get("content-encoding"), "gzip", "a large answer is sent through gzip");
    t.match(await introspection.json(), { data: { __schema: { queryType: { name: "Query" } } } });
    t.equal(
      (
        await fetch(url, {
          method: "OPTIONS",
          headers: { Origin: "https://example.org", "Access-Control-Request-Headers": "authorization" },
        })
      ).headers.get("access-control-allow-origin"),
      "https://example.org",
    );
  });

  await t.test("requests that are none", async (t) => {
    const bodies: readonly (readonly [string, string | Uint8Array, Record<string, string>?])[] = [
      ["nothing", ""],
      ["no JSON", "{"],
      ["a batch", `[${small}]`],
      ["no query", "{}"],
      ["a query of another type", '{"query":5}'],
      ["null", "null"],
      ["variables of another type", '{"query":"{a}","variables":[]}'],
      ["an operation name of another type", '{"query":"{a}","operationName":1}'],
      ["no UTF-8", Uint8Array.from([0x7b, 0xff, 0xfe])],
      ["no gzip", small, { "Content-Encoding": "gzip" }],
      ["an encoding that is unknown", small, { "Content-Encoding": "br" }],
      ["a gzip bomb", gzipSync(Buffer.alloc(64 << 20)), { "Content-Encoding": "gzip" }],
    ];
    for (const [name, body, headers] of bodies) {
      const response = await post(body, headers);
      t.equal(response.status, 400, name);
      t.match(await response.text(), /\n$/, `${name}: says why`);
    }
    t.equal((await post("x".repeat(3 << 20))).status, 413, "too large");
    t.equal((await fetch(url)).status, 405);
    t.equal((await fetch(`${url}x`, { method: "POST", body: small })).status, 404);
    t.equal((await ask("{ site { productVersion } }")).status, 200, "and the daemon goes on");
  });

  await t.test("documents that are wrong", async (t) => {
    t.equal(await firstMessage("{ nothing }"), 'Cannot query field "nothing" on type "Query".');
    t.match(await firstMessage("{ curentUser { id } }"), 'Did you mean "currentUser"?');
    t.match(await firstMessage("{ site(a: 1) { id } }"), 'Unknown argument "a" on field "Query.site".');
    t.match(await firstMessage("{ "), /^Syntax Error/);
    t.match(await firstMessage(""), /^Syntax Error/);
    t.equal(await firstMessage("fragment f on Query { __typename }"), "no operations in query document");
    t.equal(await firstMessage("query a { __typename }", { operationName: "b" }), 'no operation with name "b"');
    t.equal(
      await firstMessage("query a { __typename } query b { __typename }"),
      "more than one operation in query document and no operation name given",
    );
    t.strictSame((await ask("query a { __typename } query b { x: __typename }", { operationName: "b" })).answer, {
      data: { x: "Query" },
    });
    t.match(
      await firstMessage("query ($n: String!) { repository(name: $n) { id } }", { variables: { n: null } }),
      "$n",
    );
    t.match(await firstMessage("query ($n: String!) { repository(name: $n) { id } }", { variables: { n: 5 } }), "$n");
    t.match(
      await firstMessage("{ ...a } fragment a on Query { ...b } fragment b on Query { ...a }"),
      "Cannot spread fragment",
    );
    t.match(await firstMessage(`${"{a".repeat(5_000)}${"}".repeat(5_000)}`), /^Syntax Error/);
    t.match(
      await firstMessage(`{ repository(name: ${"[".repeat(7_000)}${"]".repeat(7_000)}) { id } }`),
      /^Syntax Error/,
    );
    t.match(await firstMessage(`{ ${many(20_000, () => "a")} }`), /tokens/);
    t.match(await firstMessage(`{ currentUser { username } } #${"c".repeat(300_000)}`), /characters/);
    t.match(
      await firstMessage("query ($n: [String!]) { repositories(first: 1, names: $n) { totalCount } }", {
        variables: { n: Array.from({ length: 20_000 }, () => "a") },
      }),
      /values/,
    );
  });

  await t.test("documents that ask for too much", async (t) => {
    const { status, answer } = await ask(`{ ${many(51, (at) => `a${at}: __typename`)} }`);
    t.equal(status, 400);
    t.match(
      answer,
      {
        errors: [
          {
            message: "Query exceeds maximum alias count limit",
            extensions: {
              code: "ErrQueryComplexityLimitExceeded",
              type: "alias count",
              limit: 50,
              actual: 51,
              docs_url: /^http:\/\/127\.0\.0\.1:[1-9]\d*\/.*#cost-limits$/,
            },
          },
        ],
      },
      "its address is the one that is listened on",
    );
    t.equal((await ask(`{ ${many(50, (at) => `a${at}: __typename`)} }`)).status, 200, "the limit itself is allowed");
    t.equal((await ask("{ repositories(first: 500001) { totalCount } }")).status, 400);
    t.equal(
      (await ask("query ($n: Int) { repositories(first: $n) { totalCount } }", { variables: { n: 500_001 } })).status,
      400,
    );
    t.equal(
      (await ask("query ($n: Int) { repositories(first: $n) { totalCount } }", { variables: { n: 1 } })).status,
      200,
      "the same document with another variable",
    );
    t.equal((await ask(`{ ${many(501, () => "site { productVersion }")} }`)).status, 400);
    t.strictSame((await ask(`{ ${many(400, () => 'enterpriseLicenseHasFeature(feature: "x")')} }`)).answer, {
      data: { enterpriseLicenseHasFeature: false },
    });
    t.equal(
      (
        await ask(
          `{ ...f0 } ${many(60, (at) => `fragment f${at} on Query { ...f${at + 1} ...f${at + 1} }`)} fragment f60 on Query { site { id } }`,
        )
      ).status,
      400,
    );
    t.equal(
      (await ask(`${'{ node(id: "") { ... on Repository '.repeat(16)} { id } ${"}}".repeat(16)}`)).status,
      400,
      "31 levels",
    );
  });
});
