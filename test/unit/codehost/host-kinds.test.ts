/** Bitbucket, Azure DevOps, Gerrit and commands: small servers answer in the shapes of the real hosts. */
import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { listHost } from "../../../src/codehost/api-listing.js";
import { listCommand } from "../../../src/codehost/command-listing.js";
import type { ApiConnection, ApiKindName, ListedRepository } from "../../../src/codehost/connection.js";
import { selectRepositories } from "../../../src/codehost/selection.js";
import { resolveOptions } from "../../../src/daemon/config/config.js";
import { type Answer, codeHost, connection } from "../../support/code-host.js";
import { until } from "../../support/waiting.js";

const never = new AbortController().signal;

const cloudItem = (slug: string, changes: object = {}) => ({
  type: "repository",
  uuid: `{${slug}}`,
  full_name: `acme/${slug}`,
  slug,
  is_private: false,
  scm: "git",
  description: "what it does",
  project: { type: "project", key: "TOOLS", name: "Tools" },
  links: {
    clone: [
      { name: "https", href: `https://ann@bitbucket.org/acme/${slug}.git` },
      { name: "ssh", href: `git@bitbucket.org:acme/${slug}.git` },
    ],
  },
  ...changes,
});

const centerItem = (id: number, slug: string, changes: object = {}) => ({
  id,
  slug,
  name: slug,
  state: "AVAILABLE",
  forkable: true,
  public: true,
  archived: false,
  project: { key: "TOOLS", id: 1, name: "Tools", public: false, type: "NORMAL" },
  links: {
    clone: [
      { name: "ssh", href: `ssh://git@h:7999/tools/${slug}.git` },
      { name: "http", href: `https://h/scm/tools/${slug}.git` },
    ],
    self: [{ href: `https://h/projects/TOOLS/repos/${slug}/browse` }],
  },
  ...changes,
});

const azureItem = (name: string, changes: object = {}) => ({
  id: `id of ${name}`,
  name,
  url: `https://dev.azure.com/acme/_apis/git/repositories/id`,
  project: { id: "p", name: "Big Tools", state: "wellFormed", visibility: "public" },
  defaultBranch: "refs/heads/main",
  size: 1,
  remoteUrl: `https://acme@dev.azure.com/acme/Big%20Tools/_git/${encodeURIComponent(name)}`,
  sshUrl: `git@ssh.dev.azure.com:v3/acme/Big%20Tools/${encodeURIComponent(name)}`,
  isDisabled: false,
  isInMaintenance: false,
  ...changes,
});

/** What a host answers to a path with parameters, in their order. */
type Pages = Readonly<Record<string, Answer>>;

/** Starts a double, lists it, and tells what was asked and found. */
async function listing(t: Test, config: Partial<ApiConnection>, token: string, pages: Pages) {
  const { url, requests } = await codeHost(
    t,
    ({ pathname, search }) => pages[`${pathname}${search}`] ?? { status: 404, body: { message: "not found" } },
  );
  const listed = await listHost(connection({ ...config, url }), token, never);
  return { ...listed, url, authorization: requests[0]?.headers["authorization"], requestCount: requests.length };
}

const namesIn = (repositories: readonly ListedRepository[]) => repositories.map(({ name }) => name).join();

t.test("the pages of each host, and what a token is sent as", async (t) => {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  await t.test("Bitbucket Cloud", async (t) => {
    const first = "/2.0/repositories/acme?pagelen=100&sort=created_on";
    const found = await listing(t, { kind: "bitbucket-cloud" }, "secret", {
      [first]: {
        body: {
          pagelen: 100,
          size: 3,
          page: 1,
          next: "http://elsewhere.example/2.0/repositories/acme?page=ab%2Bc&steal=1",
          values: [cloudItem("one"), cloudItem("two", { is_private: true, parent: { full_name: "x/y" } })],
        },
      },
      [`${first}&page=ab%2Bc`]: {
        body: { size: 3, values: [cloudItem("three", { project: { key: "P", is_private: true } })] },
      },
    });
    t.equal(namesIn(found.repositories), "acme/one,acme/two,acme/three");
    t.same(found.problems, []);
    t.equal(found.authorization, "Bearer secret");
    t.match(found.repositories, [
      {
        url: "https://bitbucket.org/acme/one.git",
        sshUrl: "git@bitbucket.org:acme/one.git",
        private: false,
        fork: false,
        description: "what it does",
      },
      { private: true, fork: true },
      { private: true },
    ]);
    const project = { [`/2.0/repositories/acme?q=project.key%3D%22TOOLS%22&pagelen=100&sort=created_on`]: cloudPage };
    const config = { kind: "bitbucket-cloud", owners: ["acme/TOOLS"] } as const;
    t.equal((await listing(t, config, "ann@h:password", project)).authorization, basic("ann@h:password"));
    t.equal((await listing(t, config, "x-token-auth:secret", project)).authorization, "Bearer secret");
  });
  await t.test("Bitbucket Data Center", async (t) => {
    const found = await listing(t, { kind: "bitbucket-data-center", owners: ["TOOLS"] }, "secret", {
      "/rest/api/latest/projects/TOOLS/repos?limit=100&start=0": {
        body: { size: 1, limit: 1, isLastPage: false, start: 0, nextPageStart: 7, values: [centerItem(1, "one")] },
      },
      "/rest/api/latest/projects/TOOLS/repos?limit=100&start=7": {
        body: {
          size: 2,
          isLastPage: true,
          nextPageStart: null,
          values: [
            centerItem(2, "two", { public: false, archived: true, origin: {} }),
            centerItem(3, "no", { public: 1 }),
          ],
        },
      },
    });
    t.equal(namesIn(found.repositories), "TOOLS/one,TOOLS/two,TOOLS/no");
    t.same(found.problems, []);
    t.equal(found.authorization, "Bearer secret");
    t.match(found.repositories, [
      { url: "https://h/scm/tools/one.git", sshUrl: "ssh://git@h:7999/tools/one.git", private: false, archived: false },
      { private: true, archived: true, fork: true },
      { private: true },
    ]);
    const own = await listing(t, { kind: "bitbucket-data-center", owners: [] }, "ann:password", {
      "/rest/api/latest/repos?limit=100&start=0": { body: { isLastPage: true, values: [] } },
    });
    t.equal(own.authorization, basic("ann:password"));
  });
  await t.test("Azure DevOps", async (t) => {
    const path = "/acme/Big%20Tools/_apis/git/repositories?api-version=7.0";
    const config = { kind: "azure-devops", owners: ["acme/Big Tools"] } as const;
    const found = await listing(t, config, "secret", {
      [path]: {
        headers: { "x-ms-continuationtoken": "a b" },
        body: { count: 2, value: [azureItem("one"), azureItem("off", { isDisabled: true })] },
      },
      [`${path}&continuationToken=a+b`]: {
        body: {
          count: 1,
          value: [azureItem("two words", { project: { name: "Big Tools", visibility: "organization" } })],
        },
      },
    });
    t.equal(namesIn(found.repositories), "acme/Big-Tools/one,acme/Big-Tools/two-words");
    t.equal(found.authorization, basic(":secret"));
    t.match(found.repositories, [
      { url: "https://dev.azure.com/acme/Big%20Tools/_git/one", private: false },
      { url: "https://dev.azure.com/acme/Big%20Tools/_git/two%20words", private: true },
    ]);
    t.same(found.problems, []);
    const short = await listing(t, config, "", { [path]: { body: { count: 3, value: [azureItem("one")] } } });
    t.match(short.problems, [/lists 1 of 3 repositories/]);
    const main = { remoteUrl: "https://acme@dev.azure.com/acme/_git/Big%20Tools" };
    const own = await listing(t, config, "", { [path]: { body: { value: [azureItem("Big Tools", main)] } } });
    t.equal(namesIn(own.repositories), "acme/Big-Tools/Big-Tools");
  });
  await t.test("Gerrit", async (t) => {
    const body = (projects: object) => `)]}'\n${JSON.stringify(projects)}`;
    const pages = (root: string): Pages => ({
      [`${root}projects/?d=&n=500&S=0&type=CODE`]: {
        body: body({
          "All-Users": { id: "All-Users", state: "ACTIVE" },
          "plugins/x y": { id: "plugins%2Fx+y", description: "d", state: "READ_ONLY", _more_projects: true },
        }),
      },
      [`${root}projects/?d=&n=500&S=2&type=CODE`]: { body: body({ z: { id: "z", state: "HIDDEN" } }) },
    });
    const open = await listing(t, { kind: "gerrit", owners: [] }, "", pages("/"));
    t.equal(namesIn(open.repositories), "plugins/x-y,z");
    t.match(open.repositories, [
      {
        url: `${open.url}/plugins/x%20y`,
        sshUrl: "ssh://127.0.0.1:29418/plugins/x%20y",
        private: false,
        archived: true,
      },
      { private: true, archived: false },
    ]);
    t.same(open.problems, []);
    const closed = await listing(t, { kind: "gerrit", owners: [] }, "ann:password", pages("/a/"));
    t.equal(closed.authorization, basic("ann:password"));
    t.match(closed.repositories, [
      { url: `${open.url.replace(/\d+$/, "")}${closed.url.split(":").at(-1)}/a/plugins/x%20y` },
    ]);
    t.ok(closed.repositories.every((one) => one.private));
    const folder = await listing(t, { kind: "gerrit", owners: ["plugins"] }, "", {
      "/projects/?d=&p=plugins%2F&n=500&S=0&type=CODE": { body: body({}) },
    });
    t.same(folder.repositories, []);
  });
});

const cloudPage: Answer = { body: { values: [cloudItem("one")] } };

t.test("what these hosts may do wrong", async (t) => {
  const rows: readonly (readonly [name: string, kind: ApiKindName, answer: Answer, expected: RegExp])[] = [
    [
      "a cursor in a circle",
      "bitbucket-cloud",
      { body: { values: [cloudItem("one")], next: "http://h/?page=1" } },
      /changes while/,
    ],
    [
      "a start in a circle",
      "bitbucket-data-center",
      { body: { values: [centerItem(1, "a")], nextPageStart: 0 } },
      /changes while/,
    ],
    ["no end and no start", "bitbucket-data-center", { body: { values: [centerItem(1, "a")] } }, /changes while/],
    ["empty pages without end", "bitbucket-data-center", { body: { values: [], nextPageStart: 1 } }, /changes while/],
    ["fewer than the size", "bitbucket-cloud", { body: { size: 9, values: [cloudItem("one")] } }, /lists 1 of 9/],
    ...["https://h/?page=", `https://h/?page=${"x".repeat(2_000)}`, "https://h/", "page two", 2].map(
      (next): (typeof rows)[number] => [
        `a next page that cannot be asked for: ${String(next).slice(0, 20)}`,
        "bitbucket-cloud",
        { body: { next, values: [cloudItem("one")] } },
        /changes while/,
      ],
    ),
    ["a size that is none", "bitbucket-cloud", { body: { size: "9", values: [cloudItem("one")] } }, /^$/],
    [
      "a token in a circle",
      "azure-devops",
      { headers: { "x-ms-continuationtoken": "t" }, body: { value: [azureItem("a")] } },
      /changes while/,
    ],
    ["more without end", "gerrit", { body: { a: { _more_projects: true } } }, /changes while/],
    [
      "an endless list",
      "gerrit",
      { body: Object.fromEntries(Array.from({ length: 1001 }, (_, i) => [`p${i}`, {}])) },
      /more than 1000/,
    ],
    ["no list", "bitbucket-cloud", { body: [] }, /sent no list/],
    ["no values", "bitbucket-data-center", { body: { values: {} } }, /sent no list/],
    ["a page for people", "azure-devops", { status: 203, body: "<html>" }, /answered 203; check the token/],
    ["a redirect to it", "azure-devops", { status: 302, headers: { location: "http://x/" } }, /redirects to/],
    ["no JSON", "gerrit", { body: ")]}'\n<html>" }, /sent no JSON/],
    ["a limit", "bitbucket-cloud", { status: 429 }, /allows no more requests for 60 s/],
    ["a wrong token", "bitbucket-data-center", { status: 401 }, /check the token/],
  ];
  for (const [name, kind, answer, expected] of rows) {
    const { url, requests } = await codeHost(t, () => answer);
    const listed = listHost(connection({ kind, url }), "", never).then(
      ({ problems }) => problems.join(),
      (error: Error) => error.message,
    );
    t.match(await listed, expected, name);
    t.ok(requests.length <= 70, `${name}: ${requests.length} requests`);
  }
});

t.test("projects that have one name here are both listed", async (t) => {
  const { url } = await codeHost(t, () => ({ body: { "a b": {}, "a-b": {}, c: {} } }));
  const listed = await listHost(connection({ kind: "gerrit", url }), "", never);
  t.same(
    listed.repositories.map((one) => [one.name, one.url.slice(url.length)]),
    [
      ["a-b", "/a%20b"],
      ["a-b", "/a-b"],
      ["c", "/c"],
    ],
  );
  t.same(listed.problems, []);
});

t.test("items that are not what they should be are private, without a URL", async (t) => {
  const kinds = ["bitbucket-cloud", "bitbucket-data-center", "azure-devops"] as const;
  const odd = [{}, { links: null, project: 1 }, { links: { clone: [null, 1] }, project: [], remoteUrl: 7, slug: {} }];
  for (const kind of kinds) {
    const { url } = await codeHost(t, () => ({ body: { values: odd, value: odd, isLastPage: true } }));
    const { repositories } = await listHost(connection({ kind, url }), "", never);
    t.ok(repositories.length > 0 && repositories.every((one) => one.private && one.url === ""), kind);
  }
});

t.test("a token is sent to the host of the API and of its repositories only", async (t) => {
  const rows = [
    ["bitbucket-cloud", "https://api.bitbucket.org/2.0", "https://bitbucket.org/acme/one.git", true],
    ["bitbucket-cloud", "https://bitbucket.org", "https://bitbucket.org/acme/one.git", true],
    ["bitbucket-cloud", "https://bitbucket.org", "https://bitbucket.example/acme/one.git", false],
    ["azure-devops", "https://dev.azure.com", "https://evil.example/acme/_git/one", false],
  ] as const;
  for (const [kind, url, remote, isSent] of rows) {
    const config = connection({ kind, url, credential: "file:/t" });
    const listed = { name: "n", url: remote, sshUrl: "", fork: false, archived: false, private: false };
    const selected = await selectRepositories(
      config,
      [{ ...listed, stars: 0, description: "", topics: [], workTree: "" }],
      () => Promise.resolve(),
    );
    t.equal(selected.repositories[0]?.credential, isSent ? "file:/t" : "", `${url} ${remote}`);
  }
});

t.test("a command prints a list", async (t) => {
  const folder = t.testdir({});
  const run = (script: string, timeoutMs = 60_000, signal = never) => {
    const program = join(folder, "list");
    writeFileSync(program, `#!/bin/sh\n${script}\n`);
    chmodSync(program, 0o700);
    return listCommand({ command: [program, "one word", "$HOME"], maxRepositories: 3 }, signal, timeoutMs);
  };
  const { repositories } = await run(`printf 'a https://h/%s\\n{"url": "https://h/b", "private": true}\\n' "$2"`);
  t.match(repositories, [
    { name: "a", url: "https://h/$HOME", private: false },
    { name: "h/b", private: true },
  ]);
  const noise = "yes https://h/";
  for (const [name, script, message] of [
    [
      "a failure",
      "echo a https://h/a; echo 'no such host https://ann:pass@h/' >&2; exit 3",
      /list failed with exit code 3: no such host https:\/\/(?!ann:pass)/,
    ],
    ["a signal", "kill -TERM $$", /was ended by SIGTERM/],
    ["a bad line", "echo a b c", /list:1: write NAME URL/],
    ["too many lines", "for i in 1 2 3 4; do echo https://h/$i; done", /more than 3 lines/],
    ["no end of output", noise, /wrote more than 16777216 bytes/],
  ] as const)
    await t.rejects(run(script), { message }, name);
  await t.rejects(listCommand({ command: [join(folder, "absent")], maxRepositories: 3 }, never), {
    code: "bad-config",
    message: /cannot be run/,
  });
  // Whatever ends it, what it has started ends, too.
  const child = join(folder, "child");
  const isGone = async (name: string) => {
    const pid = Number(readFileSync(child, "utf8"));
    await until(`the child is gone after ${name}`, () => !existsSync(`/proc/${pid}`) || isZombie(pid));
  };
  const leaves = `sleep 300 & echo $! > ${child}.new; mv ${child}.new ${child}`;
  await run(`${leaves}; echo https://h/a`);
  await isGone("the end");
  await t.rejects(run(`${leaves}; wait`, 200), { message: /took longer than 0.2 s/ });
  if (existsSync(child)) await isGone("the time limit");
  writeFileSync(child, "0");
  const stop = new AbortController();
  const stopped = run(`${leaves}; wait`, 60_000, stop.signal);
  await until("the child runs", () => readFileSync(child, "utf8").trim() !== "0");
  stop.abort();
  await t.rejects(stopped, { code: "cancelled" });
  await isGone("a stop");
});

/** A process that has ended and is not yet read by its new parent. */
function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return true;
  }
}

t.test("configurations that are refused", async (t) => {
  const configFile = join(t.testdir(), "trawl.jsonc");
  const resolve = (wrong: object) => {
    writeFileSync(configFile, JSON.stringify({ connections: [{ name: "x", ...wrong }] }));
    return resolveOptions({ configFile, overrides: [], repositories: [] }).connections[0];
  };
  for (const [wrong, message] of [
    [
      { kind: "bitbucket-cloud", url: "https://bitbucket.org", credential: "file:/t" },
      /needs owners: bitbucket-cloud lists no/,
    ],
    [{ kind: "azure-devops", url: "https://dev.azure.com", credential: "file:/t" }, /needs owners: azure-devops/],
    [{ kind: "gerrit" }, /needs a url/],
    [{ kind: "command" }, /absolute path of a program/],
    [{ kind: "command", command: ["list"] }, /absolute path of a program/],
    [{ kind: "command", command: ["/bin/list"], credential: "file:/t" }, /takes no credential/],
    [{ kind: "list", url: "/l", command: ["/bin/list"] }, /only for the kind command/],
  ] as const)
    t.throws(() => resolve(wrong), { code: "bad-config", message });
  t.match(resolve({ kind: "command", command: ["/bin/list", "-a"] }), { url: "/bin/list", prefix: "" });
  t.match(resolve({ kind: "gerrit", url: "https://h/r" }), { prefix: "h/" });
});
