import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import t from "tap";
import { TrawlError } from "../../src/base/errors.js";
import { readSecret } from "../../src/base/secret-source.js";
import { parseRepositoryList } from "../../src/codehost/repository-list.js";
import { checkConfigText, resolveOptions } from "../../src/daemon/config/config.js";
import { resolveAttributes, resolveRepository } from "../../src/daemon/config/file-repositories.js";
import { nearestWord } from "../../src/base/text.js";
import { optionTable, splitKey, type ResolvedOptions, type TypedOptions } from "../../src/daemon/config/options.js";
import { absoluteUrl, nameOfUrl } from "../../src/base/repository-url.js";
import { rereadOptions } from "../../src/daemon/config/reread-options.js";
import { configSample, configSchema } from "../../src/daemon/config/config-schema.js";

const nothingTyped: TypedOptions = { configFile: undefined, overrides: [], repositories: [] };

/** The options from a file with this text. Errors show the path of the file as FILE. */
function fromFile(t: { testdir(): string }, text: string, typed: Partial<TypedOptions>): ResolvedOptions {
  const configFile = join(t.testdir(), "trawl.jsonc");
  writeFileSync(configFile, text);
  try {
    return resolveOptions({ ...nothingTyped, configFile, ...typed });
  } catch (error) {
    if (error instanceof TrawlError) throw new TrawlError(error.code, error.message.replaceAll(configFile, "FILE"));
    throw error;
  }
}

t.test("defaults", async (t) => {
  const options = resolveOptions(nothingTyped);
  t.match(options, {
    listen: "127.0.0.1:7080",
    listenHost: "127.0.0.1",
    listenPort: 7080,
    kernel: "native",
    repositories: [],
    auth: { public: true, accessTokens: "all-users-create" },
    search: { defaultCount: 10_000, defaultTimeoutSeconds: 20, maxTimeoutSeconds: 60 },
    index: { maxFileBytes: 67_108_864, largeFiles: [], maxTrigramCount: 100_000 },
  });
  t.equal(options.data, join(process.cwd(), "data"));
  t.ok(options.workers >= 1);
});

t.test("a file", async (t) => {
  const options = fromFile(
    t,
    `{
    // comments, and trailing commas
    "$schema": "./trawl.schema.json",
    "data": "store", "listen": "[::1]:0", "kernel": "ts",
    "search": { "queue": 0, },
    "repositories": [
      { "name": "a", "url": "../a" },
      { "name": "host/b", "url": "https://host/b", "branches": ["next"], "fork": true, "stars": 3,
        "metadata": { "team": "x", "flag": null }, "interval": 60 },
    ],
  }`,
    {},
  );
  const directory = join(options.data, "..");
  t.match(options, {
    listenHost: "::1",
    listenPort: 0,
    kernel: "ts",
    search: { queue: 0, defaultCount: 10_000 },
    repositories: [
      { name: "a", url: join(directory, "..", "a"), branches: [], fork: false, private: false, intervalSeconds: 0 },
      {
        name: "host/b",
        url: "https://host/b",
        branches: ["next"],
        fork: true,
        stars: 3,
        metadata: { team: "x", flag: null },
        intervalSeconds: 60,
      },
    ],
  });
  t.equal(options.data, join(options.typed.configFile!, "..", "store"), "a relative path starts at the file");
});

t.test("the command line takes precedence over the file", async (t) => {
  const options = fromFile(t, '{ "listen": "127.0.0.1:1", "search": { "queue": 5, "concurrent": 6 } }', {
    overrides: [
      ["listen", "127.0.0.1:2"],
      ["search.queue", "7"],
      ["index.largeFiles", '["*.sql"]'],
      ["data", "d"],
      ["search.queue", "8"],
      ["auth.public", "true"],
    ],
    repositories: ["x=https://host/x?a=b"],
  });
  t.match(options, {
    listenPort: 2,
    search: { queue: 8, concurrent: 6 },
    index: { largeFiles: ["*.sql"] },
    auth: { public: true },
    repositories: [{ name: "x", url: "https://host/x?a=b" }],
  });
  t.equal(options.data, join(process.cwd(), "d"));
});

t.test("errors in a file", async (t) => {
  const rows: [name: string, text: string, message: string][] = [
    ["unknown key", '{\n\n"serach": {}\n}', "FILE:3: unknown key serach; did you mean search?"],
    [
      "key like no other",
      '{\n"colour": ""\n}',
      "FILE:2: unknown key colour; allowed here: listen, data, auth, workers, ",
    ],
    ["misspelt list", '{"repos": []}', "FILE:1: unknown key repos; allowed here: "],
    ["misspelt repositories", '{"repositorys": []}', "FILE:1: unknown key repositorys; did you mean repositories?"],
    [
      "misspelt key in a group",
      '{"search": {\n"defaultcont": 1}}',
      "FILE:2: unknown key search.defaultcont; did you mean search.defaultCount?",
    ],
    [
      "key outside its group",
      '{"maxFileBytes": 1}',
      "FILE:1: unknown key maxFileBytes; did you mean index.maxFileBytes?",
    ],
    [
      "unknown key of a repository",
      '{"repositories": [\n{"name": "a", "url": "b",\n"branch": []}]}',
      "FILE:3: unknown key repositories[0].branch; did you mean branches?",
    ],
    [
      "out of range",
      '{"search":\n {"queue": -1}}',
      "FILE:2: search.queue: must be a whole number from 0 to 100000 (searches), not -1",
    ],
    [
      "wrong type",
      '{"workers": "many"}',
      'FILE:1: workers: must be a whole number from 1 to 256 (threads), not "many"',
    ],
    ["fraction", '{"workers": 1.5}', "FILE:1: workers: must be a whole number from 1 to 256 (threads), not 1.5"],
    ["not a choice", '{"kernel": "wasm"}', 'FILE:1: kernel: must be "native", "ts", not "wasm"'],
    [
      "not a list",
      '{"index": {"largeFiles": "*.sql"}}',
      'FILE:1: index.largeFiles: must be a list of strings, not "*.sql"',
    ],
    [
      "wrong item of a list",
      '{"index": {"largeFiles": ["a",\n7]}}',
      "FILE:2: index.largeFiles[1]: must be a list of strings, not 7",
    ],
    ["group that is none", '{"search": 5}', "FILE:1: search: must be an object, not 5"],
    ["not an object", "[]", "FILE:1: the file: must be an object, not []"],
    [
      "listen without port",
      '{"listen": "localhost"}',
      'FILE:1: listen: must be HOST:PORT, port 0 for a free one, not "localhost"',
    ],
    ["repository without url", '{"repositories": [\n{"name": "a"}]}', 'FILE:2: repositories[0]: "url" is missing'],
    [
      "repository name",
      '{"repositories": [{"url": "u",\n"name": "a b"}]}',
      "FILE:2: repositories[0].name: must be a name without",
    ],
    [
      "name twice",
      '{"repositories": [{"name": "a", "url": "u"},\n{"name": "a", "url": "v"}]}',
      'FILE:2: a repository named "a" is defined twice',
    ],
    [
      "metadata",
      '{"repositories": [{"name": "a", "url": "u", "metadata": {"k": 1}}]}',
      "FILE:1: repositories[0].metadata.k: must be an object whose values are strings or null, not 1",
    ],
    [
      "URL that is none",
      '{"repositories": [\n{"name": "a", "url": "ext::sh -c x"}]}',
      "FILE:2: repositories[0].url: must be",
    ],
    [
      "URL that runs commands",
      '{"repositories": [\n{"name": "a", "url": "ext::sh"}]}',
      'FILE:2: unusable repository URL "ext::sh"',
    ],
    [
      "password in a bad URL",
      '{"repositories": [{"name": "a", "url": "https://u:secret@h/ x"}]}',
      'FILE:1: repositories[0].url: must be a local path, file://, http(s)://, ssh:// or git@host:path, not "https://***@h/ x"',
    ],
    ["misspelt connections", '{"conections": []}', "FILE:1: unknown key conections; did you mean connections?"],
    [
      "unknown key of a connection",
      '{"connections": [{"name": "a", "kind": "github", "url": "https://h",\n"owner": []}]}',
      "FILE:2: unknown key connections[0].owner; did you mean owners?",
    ],
    [
      "connection without a scheme",
      '{"connections": [{"name": "a", "kind": "github",\n"url": "github.com"}]}',
      'FILE:2: connections[0].url: must be http(s)://, or an absolute path for list and folder, not "github.com"',
    ],
    [
      "kind of a connection",
      '{"connections": [{"name": "a", "kind": "gitlub", "url": "https://h"}]}',
      'FILE:1: connections[0].kind: must be "github", "gitlab", "gitea", "bitbucket-cloud", "bitbucket-data-center", "azure-devops", "gerrit", "list", "folder", "command", not "gitlub"',
    ],
    [
      "folder in a home directory",
      '{"connections": [{"name": "a", "kind": "folder", "url": "~/git"}]}',
      "FILE:1: connections[0].url: must be http(s)://, or an absolute path",
    ],
    [
      "host of a connection",
      '{"connections": [\n{"name": "a", "kind": "list", "url": "https://h/list", "hosts": ["https://h"]}]}',
      'FILE:2: connection a: hosts: "https://h" is not the name of a host',
    ],
    [
      "host with a port",
      '{"connections": [{"name": "a", "kind": "list", "url": "/l", "hosts": ["h:80"]}]}',
      "FILE:1: connection a: hosts:",
    ],
    [
      "URL without a scheme",
      '{"repositories": [\n{"name": "a", "url": "github.com/owner/name"}]}',
      'FILE:2: url "github.com/owner/name" has no scheme: write https://github.com/owner/name, or for a path ./github.com/owner/name',
    ],
    [
      "URL with a port without a scheme",
      '{"repositories": [{"name": "a", "url": "git.corp:8443/owner/name"}]}',
      'FILE:1: url "git.corp:8443/owner/name" has no scheme: write https://',
    ],
    [
      "a home directory",
      '{"repositories": [\n{"name": "a", "url": "~/a"}]}',
      'FILE:2: url "~/a": ~ is not expanded here',
    ],
    ["a home directory of another", '{"repositories": [{"name": "a", "url": "~ann"}]}', "FILE:1: url"],
    ["data in a home directory", '{\n"data": "~/data"}', 'FILE:2: data: ~ in "~/data" is not expanded here'],
    ["ctags in a home directory", '{"index": {\n"ctagsCommand": "~/bin/ctags"}}', "FILE:2: index.ctagsCommand: ~ in"],
    [
      "a day that does not exist",
      '{"repositories": [\n{"name": "a", "url": "b", "history": "since 2021-02-29"}]}',
      'FILE:2: history: there is no such day: "since 2021-02-29"',
    ],
    [
      "a month that does not exist",
      '{"repositories": [{"name": "a", "url": "b", "history": "since 2021-13-01"}]}',
      "FILE:1: history",
    ],
    [
      "the 31st of a short month",
      '{"repositories": [{"name": "a", "url": "b", "history": "since 2021-04-31"}]}',
      "FILE:1: history",
    ],
    [
      "too many branches",
      JSON.stringify({
        repositories: [{ name: "a", url: "b", branches: Array.from({ length: 33 }, (_, i) => `b${i}`) }],
      }),
      "FILE:1: branches has more than 32 branches",
    ],
    [
      "origin of notifications",
      '{"notifications": {\n"origins": ["hooks.example.org"]}}',
      'FILE:2: notifications.origins: "hooks.example.org" is not an origin',
    ],
    [
      "network of notifications",
      '{"notifications": {\n"networks": ["10.0.0.0/33"]}}',
      "FILE:2: notifications.networks:",
    ],
    ["network of remotes", '{"git": {\n"networks": ["corp"]}}', "FILE:2: git.networks:"],
    ["trusted proxy", '{\n"trustedProxies": ["proxy"]}', "FILE:2: trustedProxies:"],
    ["trusted host", '{\n"trustedHosts": ["https://h"]}', "FILE:2: trustedHosts:"],
    ["trusted origin", '{\n"trustedOrigins": ["console.example.org"]}', "FILE:2: trustedOrigins:"],
    ["external URL", '{\n"externalUrl": "https://h:99999"}', "FILE:2: externalUrl:"],
    ["listen", '{\n"listen": "127.0.0.1.2:80", "auth": {"public": true}}', "FILE:2: listen:"],
    ["listen at brackets", '{\n"listen": "[1.2.3.4]:80", "auth": {"public": true}}', "FILE:2: listen:"],
    [
      "tool",
      '{"mcp": {\n"tools.disabled": ["dif_search"]}}',
      'FILE:2: mcp.tools.disabled: there is no tool "dif_search"',
    ],
    [
      "secret that can be guessed",
      '{"webhooks": {\n"secrets": {"a": "short"}}}',
      'FILE:2: webhooks.secrets: "a": the secret has 5',
    ],
    [
      "secret that is not there",
      '{"webhooks": {\n"secrets": {"a": "file:/nonexistent"}}}',
      'FILE:2: webhooks.secrets: "a": cannot',
    ],
    ["secret in a home directory", '{"webhooks": {\n"secrets": {"a": "file:~/a"}}}', 'FILE:2: webhooks.secrets: "a":'],
    ["id of a webhook", '{"webhooks": {\n"secrets": {"a/b": "0123456789abcdef"}}}', "FILE:2: webhooks.secrets:"],
    ["data whose socket has too long a path", `{\n"data": "/${"d".repeat(100)}"}`, "FILE:2: data: the path /ddd"],
    ["key twice", '{"workers": 1,\n"workers": 2}', 'FILE:2: key "workers" occurs twice'],
    ["syntax", '{\n"workers" 1}', "FILE:2: colon expected"],
    ["no closing brace", '{"workers": 1', "FILE:1: close brace expected"],
    ["empty", "", "FILE:1: value expected"],
  ];
  for (const [name, text, message] of rows) {
    t.throws(
      () => fromFile(t, text, {}),
      { code: "bad-config", message: new RegExp(`^${escapeRegexp(message)}`) },
      name,
    );
  }
  t.throws(() => resolveOptions({ ...nothingTyped, configFile: "/nonexistent/trawl.jsonc" }), {
    code: "bad-config",
    message: /cannot read the configuration file/,
  });
});

t.test("a file with a byte order mark, and one in another encoding", async (t) => {
  t.equal(fromFile(t, '\uFEFF{"search": {"queue": 5}}', {}).search.queue, 5);
  t.throws(() => fromFile(t, '\uFEFF{\n"serach": {}}', {}), {
    message: "FILE:2: unknown key serach; did you mean search?",
  });
  const configFile = join(t.testdir(), "trawl.jsonc");
  writeFileSync(configFile, Buffer.from('\uFEFF{"workers": 1}', "utf16le"));
  t.throws(() => resolveOptions({ ...nothingTyped, configFile }), { code: "bad-config", message: /is not in UTF-8/ });
  t.same(parseRepositoryList("\uFEFFa https://h/a\n", "list", "/"), [{ name: "a", url: "https://h/a" }]);
  writeFileSync(configFile, "\uFEFFtoken\n");
  t.equal(readSecret(`file:${configFile}`, "secret"), "token");
});

t.test("a text of somebody else is checked without the files that it names", async (t) => {
  const secrets = JSON.stringify({ webhooks: { secrets: { a: "file:/nonexistent/secret" } } });
  t.doesNotThrow(() => checkConfigText(nothingTyped, "FILE", secrets));
  t.throws(() => checkConfigText(nothingTyped, "FILE", '{"trustedProxies": ["x"]}'), {
    message: /^FILE:1: trustedProxies/,
  });
});

t.test("all errors are reported together", async (t) => {
  try {
    fromFile(t, '{"workers": 0,\n"serach": 1,\n"kernel": 5}', { overrides: [["search.queue", "x"]] });
    t.fail("accepted");
  } catch (error) {
    const lines = (error as TrawlError).message.split("\n").map((line) => line.split(":").slice(0, 2).join(":"));
    t.same(lines.sort(), ["FILE:1", "FILE:2", "FILE:3", "command line: search.queue"]);
  }
});

t.test("errors on the command line", async (t) => {
  const rows: [typed: Partial<TypedOptions>, message: string][] = [
    [
      { overrides: [["search.queue", "x"]] },
      'command line: search.queue: must be a whole number from 0 to 100000 (searches), not "x"',
    ],
    [{ overrides: [["serch.queue", "1"]] }, "command line: unknown key serch.queue; did you mean search.queue?"],
    [{ overrides: [["repositories", "[]"]] }, "command line: repositories are named with --repository NAME=URL"],
    [{ overrides: [["listen", "127.0.0.1:99999"]] }, "listen: the port of 127.0.0.1:99999 is above 65535"],
    [{ overrides: [["trustedProxies", '["x"]']] }, "trustedProxies: "],
    [{ overrides: [["data", "~/x"]] }, 'command line: data: ~ in "~/x" is not expanded here'],
    [{ repositories: ["a=~/x"] }, 'command line: url "~/x": ~ is not expanded here'],
    [{ repositories: ["github.com/a/b"] }, 'command line: url "github.com/a/b" has no scheme'],
    [{ repositories: ["a="] }, "command line: repositories[0].url: must be a local path"],
    [{ repositories: ["a b=u"] }, "command line: repositories[0].name: must be a name"],
    [{ repositories: ["a=u", "a=v"] }, 'command line: a repository named "a" is defined twice'],
  ];
  for (const [typed, message] of rows) {
    t.throws(
      () => resolveOptions({ ...nothingTyped, ...typed }),
      { code: "bad-config", message: new RegExp(`^${escapeRegexp(message)}`) },
      message,
    );
  }
});

t.test("an address that other machines can reach is rejected unless the configuration allows it", async (t) => {
  for (const listen of [
    "0.0.0.0:7080",
    "[::]:7080",
    "192.168.1.2:7080",
    "example.org:80",
    "127.0.0.1.example.org:80",
  ]) {
    const overrides: [string, string][] = [["listen", listen]];
    t.throws(
      () => resolveOptions({ ...nothingTyped, overrides }),
      { code: "bad-config", message: /is not a loopback address.*"auth": \{"public": true\}/ },
      listen,
    );
    for (const isPublic of ["true", "false"])
      t.ok(resolveOptions({ ...nothingTyped, overrides: [...overrides, ["auth.public", isPublic]] }));
  }
  for (const listen of ["127.0.0.1:0", "127.1.2.3:80", "[::1]:80", "localhost:80"]) {
    t.ok(resolveOptions({ ...nothingTyped, overrides: [["listen", listen]] }), listen);
  }
});

t.test("repository names and URLs", async (t) => {
  const good = ["linux", "github.com/owner/name", "a/b-c_d.e", "über/straße", "x..y"];
  const bad = ["", "-rf", "/abs", "a/", "a//b", "a/../b", "a/./b", "../a", ".git", "a b", "a@b", "a:b", "a\\b", "a\nb"];
  for (const name of good) t.equal(resolveRepository({ name, url: "https://h/x" }).name, name);
  for (const name of bad)
    t.throws(() => resolveRepository({ name, url: "https://h/x" }), { code: "bad-config" }, JSON.stringify(name));
  t.throws(() => resolveRepository({ name: "a", url: "--upload-pack=x" }), { code: "bad-config" });
  t.throws(() => resolveRepository("a"), { code: "bad-config", message: /must be an object/ });

  const urls: [url: string, absolute: string][] = [
    ["x/y", "/base/x/y"],
    ["./x:y", "/base/x:y"],
    ["/abs", "/abs"],
    [".", "/base"],
    ["https://h/x", "https://h/x"],
    ["git@host:path", "git@host:path"],
    ["host:path", "host:path"],
    ["file:///x", "file:///x"],
    ["ssh://h/x", "ssh://h/x"],
    ["user@host:8443/x", "user@host:8443/x"],
    ["a.b", "/base/a.b"],
    ["./a.org/b", "/base/a.org/b"],
    ["../a.org/b", "/a.org/b"],
    ["a.git/b", "/base/a.git/b"],
    ["v1.2/b", "/base/v1.2/b"],
    ["./~x", "/base/~x"],
  ];
  for (const url of ["a.org/b", "A.B.example/b", "a.org:8080/b", "host:8080/b", "~", "~/x", "~ann/x"])
    t.throws(() => absoluteUrl(url, "/base"), { code: "bad-config" }, url);
  t.throws(() => resolveAttributes({ history: "since 2020-02-30" }), { code: "bad-config", message: /no such day/ });
  t.same(resolveAttributes({ history: "since 2020-02-29" }), { history: "since 2020-02-29" });
  for (const [url, absolute] of urls) t.equal(absoluteUrl(url, "/base"), absolute, url);

  const names: [url: string, name: string][] = [
    ["https://host/owner/name.git", "host/owner/name"],
    ["https://user:pass@host:8443/a/b/", "host/a/b"],
    ["ssh://git@host/x", "host/x"],
    ["git@host:owner/name.git", "host/owner/name"],
    ["host:path", "host/path"],
    ["/home/me/work", "work"],
    ["/home/me/bare.git/", "bare"],
    ["file:///srv/x.git", "x"],
    ["/a/with space", "with-space"],
  ];
  for (const [url, name] of names) t.equal(nameOfUrl(url), name, url);
  const typed = resolveOptions({ ...nothingTyped, repositories: ["https://host/x?a=b", "sub/dir", "n=git@h:p"] });
  t.match(typed.repositories, [
    { name: "host/x?a=b", url: "https://host/x?a=b" },
    { name: "dir", url: join(process.cwd(), "sub/dir") },
    { name: "n", url: "git@h:p" },
  ]);
});

t.test("the schema and the sample in config/ match the table", async (t) => {
  t.same(JSON.parse(readFileSync("config/trawl.schema.json", "utf8")), configSchema(), "run `make config`");
  const ajv = new Ajv2020();
  t.ok(ajv.validateSchema(configSchema()), ajv.errorsText());
  const sample = readFileSync("config/trawl.jsonc", "utf8");
  t.equal(sample, configSample(), "run `make config`");
  t.ok(fromFile(t, sample, {}), "the sample is a good file");
  const switchedOn = sample.replace(/^( *)\/\/ ( *(?:"\w+": |\{$|\},$))/gm, "$1$2");
  t.ok(
    sample !== switchedOn && fromFile(t, switchedOn, { overrides: [["data", "/d"]] }),
    "also with every option switched on",
  );
  for (const key of Object.keys(optionTable)) {
    t.match(switchedOn, new RegExp(`"${escapeRegexp(splitKey(key).name)}": `), key);
  }
});

t.test("nearest word", async (t) => {
  const words = ["listen", "data", "search.queue"];
  t.equal(nearestWord("listne", words), "listen");
  t.equal(nearestWord("dta", words), "data");
  t.equal(nearestWord("entirely", words), undefined);
});

function escapeRegexp(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

t.test("search contexts", async (t) => {
  const { contexts } = fromFile(
    t,
    `{ "contexts": [
    { "name": "a/b-c_d.e", "repositories": [{ "name": "x" }, { "name": "y", "revisions": ["v1", "v2"] }] },
    { "name": "backend", "description": "Servers", "public": false, "query": "repo:^acme/ -file:^vendor/ or repo:^x$ rev:v1" },
  ] }`,
    {},
  );
  t.same(contexts, [
    {
      name: "a/b-c_d.e",
      description: "",
      public: true,
      query: "",
      repositories: [
        { name: "x", revisions: [] },
        { name: "y", revisions: ["v1", "v2"] },
      ],
    },
    {
      name: "backend",
      description: "Servers",
      public: false,
      query: "repo:^acme/ -file:^vendor/ or repo:^x$ rev:v1",
      repositories: [],
    },
  ]);
  t.same(fromFile(t, "{}", {}).contexts, []);
});

t.test("invalid search contexts", async (t) => {
  const context = (rest: string) => `{"contexts": [\n{"name": "x", ${rest}}]}`;
  const named = (name: string) => `{"contexts": [{"name": ${JSON.stringify(name)}, "query": "repo:a"}]}`;
  const allowed = "must be 1 to 32 letters, digits and _ - / ., and not global, not";
  const rows: readonly (readonly [row: string, text: string, message: string])[] = [
    ["a name with a blank", named("a b"), `FILE:1: contexts[0].name: ${allowed} "a b"`],
    ["a name of a user", named("@me"), `FILE:1: contexts[0].name: ${allowed} "@me"`],
    ["a name too long", named("x".repeat(33)), `FILE:1: contexts[0].name: ${allowed} "${"x".repeat(33)}"`],
    ["the global one", named("global"), `FILE:1: contexts[0].name: ${allowed} "global"`],
    ["no name", '{"contexts": [{"query": "repo:a"}]}', `FILE:1: contexts[0]: "name" is missing`],
    [
      "a description too long",
      context(`"query": "repo:a", "description": "${"x".repeat(1025)}"`),
      "FILE:2: contexts[0].description: must be at most 1024 characters, not ",
    ],
    [
      "an unknown key",
      context('"query": "repo:a", "querry": ""'),
      "FILE:2: unknown key contexts[0].querry; did you mean query?",
    ],
    [
      "an unknown key of a repository",
      context('"repositories": [{"name": "a", "revision": ["b"]}]'),
      "FILE:2: unknown key contexts[0].repositories[0].revision; did you mean revisions?",
    ],
    [
      "a revision that is no text",
      context('"repositories": [{"name": "a", "revisions": [1]}]'),
      "FILE:2: contexts[0].repositories[0].revisions[0]: must be a list of strings, not 1",
    ],
    [
      "a revision too long",
      context(`"repositories": [{"name": "a", "revisions": ["${"r".repeat(256)}"]}]`),
      "FILE:2: context x: the revision rrr",
    ],
    ["neither", context('"description": ""'), 'FILE:2: context x: it needs either "query" or "repositories"'],
    [
      "both",
      context('"query": "repo:a", "repositories": []'),
      'FILE:2: context x: it needs either "query" or "repositories", not both',
    ],
    [
      "two of a name",
      '{"contexts": [{"name": "x", "query": "repo:a"},\n{"name": "x", "query": "repo:b"}]}',
      'FILE:2: a context named "x" is defined twice',
    ],
    [
      "a repository twice",
      context('"repositories": [{"name": "a"}, {"name": "a"}]'),
      'FILE:2: context x: "a" is in its list twice; give one entry all revisions',
    ],
    [
      "a pattern",
      context('"query": "repo:a foo"'),
      "FILE:2: context x: the query of a context may contain only filters, no pattern",
    ],
    [
      "another field",
      context('"query": "repo:a count:5"'),
      "FILE:2: context x: the query of a context cannot contain count:, only repo, rev, ",
    ],
    [
      "a predicate",
      context('"query": "repo:has.path(x)"'),
      "FILE:2: context x: the query of a context cannot contain predicates on files, contents or commits, only on attributes of repositories",
    ],
    ...["repo:has.content(x)", "repo:has.commit.after(yesterday)", "file:has.content(x)", "file:has.owner(x)"].map(
      (predicate): readonly [string, string, string] => [
        predicate,
        context(`"query": "${predicate}"`),
        "FILE:2: context x: the query of a context cannot contain predicates on files, contents or commits, only on attributes of repositories",
      ],
    ),
    [
      "a glob",
      context('"query": "repo:a@*refs/heads/*"'),
      "FILE:2: context x: the query of a context cannot contain revision globs",
    ],
    ["a broken filter", context('"query": "repo:a lang:klingon"'), 'FILE:2: context x: unknown language: "klingon"'],
    ["blanks alone", context('"query": " "'), "FILE:2: context x: the query of a context needs a filter"],
  ];
  for (const [row, text, message] of rows) {
    let found = "";
    try {
      fromFile(t, text, {});
    } catch (error) {
      found = error instanceof TrawlError ? error.message : String(error);
    }
    t.ok(found.startsWith(message), `${row}: ${found}`);
  }
});

t.test("what is wrong with an identity provider is said with its line", async (t) => {
  const provider = (more: object): string =>
    `{"identityProviders": [\n${JSON.stringify({ name: "acme", issuer: "https://acme.example", clientId: "trawl", ...more })}]}`;
  const where = "FILE:2: identity provider acme: ";
  const two = provider({}).replace(
    "]}",
    `,\n${JSON.stringify({ name: "acme", issuer: "https://b.example", clientId: "x" })}]}`,
  );
  const shared = provider({ organizations: { a: "core" } }).replace(
    "]}",
    `,\n${JSON.stringify({ name: "b", issuer: "https://b.example", clientId: "x", organizations: { c: "Core" } })}]}`,
  );
  const rows: readonly (readonly [text: string, message: string])[] = [
    [provider({ signup: "all" }), "FILE:2: unknown key identityProviders[0].signup; did you mean signUp?"],
    [provider({ issuer: undefined }), 'FILE:2: identityProviders[0]: "issuer" is missing'],
    [provider({ issuer: "acme.example" }), "FILE:2: identityProviders[0].issuer: must be https://"],
    [provider({ clientSecret: "s3cret" }), "FILE:2: identityProviders[0].clientSecret: must be file:/PATH"],
    [
      provider({ issuer: "http://acme.example" }),
      `${where}issuer must begin with https://, unless it is on this machine`,
    ],
    [provider({ scopes: ["email"] }), `${where}scopes must include openid`],
    [provider({ signUp: "listed" }), `${where}signUp is "listed", so it needs signUpDomains or signUpGroups`],
    [provider({ signUpGroups: ["x"] }), `${where}signUpDomains and signUpGroups have no effect`],
    [provider({ organizations: { a: "not a name" } }), `${where}organizations: "not a name" is not a valid name`],
    [two, "FILE:3: identity provider acme: it is defined twice"],
    [shared, "FILE:3: identity provider b: the members of Core are decided by acme already"],
  ];
  for (const [text, message] of rows) {
    let found = "";
    try {
      fromFile(t, text, {});
    } catch (error) {
      found = error instanceof TrawlError ? error.message : String(error);
    }
    t.ok(found.startsWith(message), found);
  }
  const [read] = fromFile(
    t,
    provider({ issuer: "http://127.0.0.1:1", organizations: { a: "core", b: null } }),
    {},
  ).identityProviders;
  t.match(read, { displayName: "acme", organizations: { a: "core" }, signUp: "none", refreshSeconds: 900 });
});

t.test("options are read again in a thread, while the caller serves others", async (t) => {
  const configFile = join(t.testdir(), "trawl.jsonc");
  const items = Array.from({ length: 500 }, (_, i) => ({
    name: `r/${i}`,
    url: `../${i}.git`,
    topics: ["x"],
    stars: i,
  }));
  writeFileSync(configFile, JSON.stringify({ repositories: items, contexts: [{ name: "c", query: "repo:r" }] }));
  const typed: TypedOptions = { configFile, overrides: [["search.queue", "7"]], repositories: ["z=https://host/z"] };
  let turnCount = 0;
  let isDone = false;
  const turn = (): void => {
    turnCount++;
    if (!isDone) setImmediate(turn);
  };
  turn();
  const options = await rereadOptions(typed);
  isDone = true;
  t.same(options, resolveOptions(typed));
  t.ok(turnCount > 5, "the event loop turned while it was read");
  writeFileSync(configFile, '{ "repositories": [{ "name": "a" }] }');
  await t.rejects(rereadOptions(typed), { code: "bad-config", message: /trawl\.jsonc:1: .*"url" is missing/ });
});
