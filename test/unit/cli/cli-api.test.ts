import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { apiAsCurl, runApi } from "../../../src/cli/api/run-api.js";
import { readVariables } from "../../../src/cli/api/api-command.js";
import {
  clientConfigPath,
  readClientConfig,
  storeToken,
  writeClientConfig,
} from "../../../src/cli/connection/client-config.js";
import { resolveConnection } from "../../../src/cli/connection/connection.js";
import { checkTokenFile } from "../../../src/cli/doctor/checks.js";
import { runCommandWith } from "../../support/daemon.js";

const query = `query ($name: String!, $first: Int, $on: Boolean, $ids: [ID!], $input: EditInput) {
  user(name: $nam) { id }
}`;

t.test("variables have the types that the query declares", async (t) => {
  const words = ["name=12", "first=3", "on=true", 'ids=["a"]', 'input={"a": 1}', "other=x=y", "dry=1"];
  t.same(readVariables(query, '{"dry": false, "kept": null}', words), {
    dry: "1",
    kept: null,
    name: "12",
    first: 3,
    on: true,
    ids: ["a"],
    input: { a: 1 },
    other: "x=y",
  });
  t.throws(() => readVariables(query, undefined, ["first=many"]), { message: /\$first.* is not JSON/ });
  t.throws(() => readVariables(query, "[1]", []), { message: /must be a JSON object/ });
  t.throws(() => readVariables(query, undefined, ["{ me }"]), { message: /is not a variable; write NAME=VALUE/ });
});

/** A server that answers requests with the results of `answer`; keeps them. */
async function server(t: Test, answer: (body: string) => { status?: number; body: string }) {
  const requests: { readonly headers: IncomingMessage["headers"]; readonly body: string; readonly url: string }[] = [];
  const http = createServer(async (request, response) => {
    const body = Buffer.concat((await request.toArray()) as Buffer[]).toString();
    requests.push({ headers: request.headers, body, url: request.url ?? "" });
    const answered = answer(body);
    response.writeHead(answered.status ?? 200).end(answered.body);
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    http.closeAllConnections();
    http.close();
  });
  return { endpoint: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, requests };
}

t.test("a response and its errors", async (t) => {
  const errors = [
    { message: 'Variable "$nam" is not defined.\u001b[2J', locations: [{ line: 2, column: 14 }], path: ["user", 0] },
  ];
  for (const status of [200, 400]) {
    const { endpoint, requests } = await server(t, () => ({ status, body: JSON.stringify({ errors, data: null }) }));
    const texts = { out: "", err: "" };
    const code = await runApi(
      { endpoint, token: "secret", tokenVariable: undefined },
      { query, variables: { name: "x" } },
      {
        out: async (text) => {
          texts.out += text;
        },
        err: (text) => {
          texts.err += text;
        },
      },
    );
    t.equal(code, 2);
    t.same(JSON.parse(texts.out), { errors, data: null });
    t.match(texts.err, 'trawl: Variable "$nam" is not defined.␛[2J (at user.0)\n\n2:14 |   user(name: $nam) { id }\n');
    t.equal(texts.err.split("\n")[3], "     |              ^");
    t.match(requests[0], { url: "/.api/graphql", headers: { authorization: "token secret" } });
    t.same(JSON.parse(requests[0]?.body ?? ""), { query, variables: { name: "x" } });
  }
});

t.test("the call of curl", async (t) => {
  const connection = { endpoint: "http://h/code", token: "secret", tokenVariable: undefined };
  t.equal(
    apiAsCurl(connection, { query: "{ it's }", variables: {} }),
    `curl -sS -H 'Accept: application/json' -H "Authorization: token $TRAWL_TOKEN" ` +
      `-H 'Content-Type: application/json' --data-binary '{"query":"{ it'\\''s }","variables":{}}' ` +
      `'http://h/code/.api/graphql'`,
  );
});

t.test("endpoint and token: options, environment, file", async (t) => {
  const stored = { endpoint: "http://file:1", tokens: { "http://file:1": "of-file", "http://env:2": "of-env" } };
  type Row = readonly [typed: object, environment: NodeJS.ProcessEnv, endpoint: string, token: string | undefined];
  const rows: readonly Row[] = [
    [{}, {}, "http://file:1", "of-file"],
    [{}, { TRAWL_TOKEN: "t" }, "http://file:1", "t"],
    [{}, { TRAWL_ENDPOINT: "http://env:2/" }, "http://env:2", "of-env"],
    [{}, { TRAWL_ENDPOINT: "http://env:3" }, "http://env:3", undefined],
    [{}, { SRC_ENDPOINT: "http://src:4", SRC_ACCESS_TOKEN: "s" }, "http://src:4", "s"],
    [
      {},
      { SRC_ENDPOINT: "http://src:4", SRC_ACCESS_TOKEN: "s", TRAWL_ENDPOINT: "http://env:3" },
      "http://env:3",
      undefined,
    ],
    [{}, { SRC_ACCESS_TOKEN: "s", TRAWL_TOKEN: "t" }, "http://file:1", "t"],
    [
      { endpoint: "http://typed:5", token: "o" },
      { TRAWL_ENDPOINT: "http://env:2", TRAWL_TOKEN: "t" },
      "http://typed:5",
      "o",
    ],
    [{ endpoint: "http://typed:5/a/" }, {}, "http://typed:5/a", undefined],
  ];
  for (const [typed, environment, endpoint, token] of rows) {
    const found = resolveConnection(typed, environment, () => stored);
    t.same([found.endpoint, found.token], [endpoint, token], JSON.stringify([typed, environment]));
  }
  t.equal(resolveConnection({}, {}, () => ({ endpoint: undefined, tokens: {} })).endpoint, "http://127.0.0.1:7080");
  for (const token of ["a\nb", "é", "a b"])
    t.throws(() => resolveConnection({ token }, {}, () => stored), { message: /from --token is none/ }, token);
  for (const endpoint of ["localhost", "ftp://h", "http://token@h"])
    t.throws(() => resolveConnection({ endpoint }, {}, () => stored), { message: /endpoint/ }, endpoint);
});

t.test("the file of trawl login", async (t) => {
  const folder = t.testdir();
  const path = clientConfigPath({ XDG_CONFIG_HOME: join(folder, "new") });
  t.same(readClientConfig(path), { endpoint: undefined, tokens: {} });
  const config = { endpoint: "http://h", tokens: { "http://h": "x" }, refreshTokens: {} };
  writeClientConfig(path, config);
  t.same(readClientConfig(path), config);
  storeToken(path, "http://other", { token: "y", refreshToken: "z" });
  t.match(readClientConfig(path), { ...config, refreshTokens: { "http://other": "z" } });
  storeToken(path, "http://other", { token: "y", refreshToken: undefined });
  t.same(readClientConfig(path), { ...config, tokens: { ...config.tokens, "http://other": "y" } });
  storeToken(path, "http://other", undefined);
  t.same(readClientConfig(path), config);
  t.equal(statSync(path).mode & 0o777, 0o600);
  t.same(checkTokenFile(path), []);
  chmodSync(path, 0o640);
  t.match(checkTokenFile(path), [{ state: "warning", remedy: /chmod 600/ }]);
  for (const text of ["{", "[1]", '{"tokens": {"a": 1}}', '{"endpoint": 1}', '{"refreshTokens": ["a"]}']) {
    writeFileSync(path, text);
    t.throws(() => readClientConfig(path), { message: /client\.json .*trawl login/ }, text);
  }
});

t.test("trawl login, api and logout", async (t) => {
  const { endpoint } = await server(t, (body) => ({
    body: JSON.stringify({ data: { currentUser: body.includes("Name") ? { username: "a" } : { username: "ann" } } }),
  }));
  const folder = t.testdir();
  const environment = { XDG_CONFIG_HOME: folder };
  const trawl = (input: string, ...args: string[]) => runCommandWith(input, args, environment);
  const bad = await trawl("two words\n", "login", endpoint);
  t.match([bad.exitCode, bad.err], [2, /the access token from the input is none: it has spaces/]);
  const login = await trawl("sgp_x\n", "login", endpoint);
  t.match([login.exitCode, login.out], [0, /signed in to .* as ann/], login.err);
  t.match(readFileSync(clientConfigPath(environment), "utf8"), '"sgp_x"');
  const api = await trawl("query Name {\n  currentUser { username }\n}\n", "api", "-vars", '{"a": 1}');
  t.same([api.exitCode, JSON.parse(api.out).data.currentUser.username], [0, "a"], api.err);
  const curl = await trawl("", "api", "-get-curl", "-query={ me }", "x=1");
  t.match(curl.out, `{"query":"{ me }","variables":{"x":"1"}}' '${endpoint}/.api/graphql'`);
  t.match(await trawl("", "logout"), { exitCode: 0, out: /was deleted/ });
  t.match(await trawl("", "logout", endpoint), { exitCode: 2, err: /no token is stored/ });
});
