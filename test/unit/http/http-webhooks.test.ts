/** Push webhooks over HTTP, with the headers and fields of each code host. */
import { createHmac } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { readWebhookSecrets } from "../../../src/daemon/config/webhook-secrets.js";
import { addWebhookRoute, type RequestedByAddress } from "../../../src/http/routes/webhook-route.js";
import type { Handler } from "../../../src/http/server/handler.js";
import type { HttpRequest } from "../../../src/http/server/request.js";
import type { HttpResponse } from "../../../src/http/server/response.js";
import type { HttpServer } from "../../../src/http/server/uws.js";
import { dataDirectory, testDaemon } from "../../support/daemon.js";
import { GitFixture } from "../../support/git-fixture.js";
import { until } from "../../support/waiting.js";

const secret = "0123456789abcdef-hook";
const fixture = GitFixture.create();
t.teardown(() => fixture.remove());
fixture.commit({ branch: "main", files: { "a.txt": "needle\n" } });
const data = dataDirectory(t);
const secretFile = join(data, "hook-secret");
writeFileSync(secretFile, `${secret}\n`);
const secrets = { host: secret, filed: `file:${secretFile}` };
const daemon = await testDaemon(
  t,
  ["--set", `webhooks.secrets=${JSON.stringify(secrets)}`, "--set", "workers=1", "--set", "auth.public=false"],
  data,
);
await daemon.add("git.example/team/one", fixture.path);
await daemon.control("POST", "/.api/repos", { name: "git.example/team/hidden", url: fixture.path, private: true });

type Headers = Readonly<Record<string, string>>;

async function send(body: string, headers: Headers, id = "host"): Promise<{ status: number; text: string }> {
  const response = await fetch(`${daemon.url}/.api/webhooks/${id}`, { method: "POST", headers, body });
  return { status: response.status, text: await response.text() };
}

const signature = (body: string, key = secret): string => createHmac("sha256", key).update(body).digest("hex");
const one = JSON.stringify({ queued: ["git.example/team/one"] });

t.test("each code host", async (t) => {
  const github = JSON.stringify({
    ref: "refs/heads/main",
    repository: {
      clone_url: "https://git.example/team/one.git",
      ssh_url: "git@git.example:team/one.git",
      url: "https://git.example/team/one",
    },
  });
  const form = new URLSearchParams({ payload: github }).toString();
  const gitlab = JSON.stringify({
    object_kind: "push",
    project: { git_http_url: "https://git.example/Team/One.git" },
    repository: { homepage: "https://git.example/Team/One" },
  });
  const system = JSON.stringify({
    event_name: "push",
    project: { git_ssh_url: "ssh://git@git.example:2222/team/one.git" },
  });
  const plain = JSON.stringify({ repository: "git.example/team/one" });
  const rows: readonly (readonly [what: string, body: string, headers: Headers, answer: string, id?: string])[] = [
    ["GitHub", github, { "x-github-event": "push", "x-hub-signature-256": `sha256=${signature(github)}` }, one],
    [
      "GitHub, a form",
      form,
      {
        "content-type": "application/x-www-form-urlencoded",
        "x-github-event": "push",
        "x-hub-signature-256": `sha256=${signature(form)}`,
      },
      one,
    ],
    [
      "GitHub, a ping",
      github,
      { "x-github-event": "ping", "x-hub-signature-256": `sha256=${signature(github)}` },
      '{"queued":[]}',
    ],
    ["Gitea", github, { "x-gitea-event": "push", "x-gitea-signature": signature(github) }, one],
    ["Forgejo", github, { "x-forgejo-event": "delete", "x-forgejo-signature": signature(github) }, one],
    ["GitLab", gitlab, { "x-gitlab-event": "Push Hook", "x-gitlab-token": secret }, one],
    ["GitLab, the whole instance", system, { "x-gitlab-event": "System Hook", "x-gitlab-token": secret }, one],
    ["GitLab, a remark", gitlab, { "x-gitlab-event": "Note Hook", "x-gitlab-token": secret }, '{"queued":[]}'],
    ["a script", plain, { authorization: `Bearer ${secret}` }, one],
    [
      "curl -d of a script",
      plain,
      { authorization: `Bearer ${secret}`, "content-type": "application/x-www-form-urlencoded" },
      one,
    ],
    ["a secret from a file", plain, { authorization: `Bearer ${secret}` }, one, "filed"],
    [
      "a script with several",
      JSON.stringify({ repositories: ["git.example/team/hidden", fixture.path] }),
      { authorization: `Bearer ${secret}` },
      '{"queued":["git.example/team/hidden","git.example/team/one"]}',
    ],
    [
      "what is not here",
      JSON.stringify({ repository: "git.example/other" }),
      { authorization: `Bearer ${secret}` },
      '{"queued":[]}',
    ],
  ];
  for (const [what, body, headers, answer, id] of rows)
    t.same(await send(body, headers, id), { status: 202, text: answer }, what);
});

t.test("a push is searchable soon", async (t) => {
  fixture.commit({ branch: "main", files: { "b.txt": "pushed\n" } });
  const { text: token } = (await daemon.control("POST", "/.api/tokens", {
    user: "admin",
    scopes: ["user:all"],
    note: "",
    expires: "1d",
  })) as { text: string };
  for (let i = 0; i < 20; i++)
    await send(JSON.stringify({ repository: "git.example/team/one" }), { authorization: `Bearer ${secret}` });
  await until("it is searchable", async () =>
    (
      await (
        await fetch(`${daemon.url}/.api/search/stream?q=pushed`, { headers: { authorization: `token ${token}` } })
      ).text()
    ).includes("b.txt"),
  );
  const shown = await fetch(`${daemon.url}/.api/graphql`, {
    method: "POST",
    headers: { authorization: `token ${token}` },
    body: JSON.stringify({ query: "{ site { configuration { effectiveContents } } }" }),
  });
  t.match(await shown.text(), /REDACTED/);
  t.notOk((await (await fetch(`${daemon.url}/readyz`)).text()).includes(secret));
  t.ok((await daemon.wholeLog()).filter(({ msg }) => msg === "indexed").length < 10, "many deliveries are few fetches");
});

t.test("requests without the secret, and invalid deliveries, are rejected", async (t) => {
  const body = JSON.stringify({ repository: "git.example/team/one" });
  const refused = { status: 401, text: "There is no such webhook, or the secret is wrong.\n" };
  const rows: readonly (readonly [headers: Headers, id?: string])[] = [
    [{}],
    [{ authorization: "Bearer wrong" }],
    [{ authorization: `Basic ${secret}` }],
    [{ "x-gitlab-token": "" }],
    [{ "x-hub-signature-256": `sha256=${signature(body, "wrong")}` }],
    [{ "x-hub-signature-256": `sha256=${signature(`${body} `)}` }],
    [{ "x-hub-signature-256": "sha256=", authorization: `Bearer ${secret}` }],
    [{ authorization: `Bearer ${secret}` }, "none"],
    [{ authorization: `Bearer ${secret}` }, "__proto__"],
  ];
  for (const [headers, id] of rows) t.same(await send(body, headers, id), refused, JSON.stringify([headers, id]));
  await until("the refusals are recorded", () =>
    /"event":"credential-refused".*wrong secret/.test(readFileSync(join(data, "audit.log"), "utf8")),
  );
  const good = { authorization: `Bearer ${secret}` };
  for (const text of ["", "{", "[]", "7", "\u0000"])
    t.equal((await send(text, good)).status, 400, JSON.stringify(text));
  t.equal((await send(`"${"x".repeat(1 << 20)}"`, good)).status, 413);
  for (const text of ["{}", '{"repository": {"clone_url": 7}}', '{"repository": null, "project": []}'])
    t.same(await send(text, good), { status: 202, text: '{"queued":[]}' }, text);
  t.equal((await fetch(`${daemon.url}/.api/webhooks/host`)).status, 405);
  let status = 401;
  for (let i = 0; i < 130 && status === 401; i++) ({ status } = await send(body, {}));
  t.equal(status, 429, "who goes on is not heard");
  t.equal((await send(body, good)).status, 429);
});

t.test("what other nodes could not be told is said", async (t) => {
  let handler: Handler | undefined;
  const server = { routeWithBody: (_: string, __: string, ___: number, given: Handler) => (handler = given) };
  const counted: string[] = [];
  const nothing: RequestedByAddress = { queued: [], lacks: [] };
  let told = nothing;
  addWebhookRoute(server as unknown as HttpServer, {
    webhookSecrets: new Map([["id", secret]]),
    requestByAddress: () => Promise.resolve(told),
    recordRefusal: () => undefined,
    count: (outcome) => counted.push(outcome),
  });
  const answer = async (value: RequestedByAddress): Promise<readonly unknown[]> => {
    told = value;
    let answered: readonly unknown[] = [];
    const request = {
      params: { ID: "id" },
      headers: new Map([["authorization", `Bearer ${secret}`]]),
      body: Buffer.from('{"repository": "host/one"}'),
      remoteAddress: "10.0.0.1",
    };
    const response = {
      addHeaders: () => undefined,
      reply: (status: number, _: object, body: string) => (answered = [status, body]),
      replyError: (status: number, code: string, message: string, headers: object) =>
        (answered = [status, code, message, headers]),
    };
    await handler?.(request as unknown as HttpRequest, response as unknown as HttpResponse);
    return answered;
  };
  t.same(await answer(nothing), [202, '{"queued":[]}']);
  t.same(await answer({ queued: ["a"], lacks: [] }), [202, '{"queued":["a"]}']);
  t.same(await answer({ queued: ["a"], lacks: ["node b"] }), [202, '{"queued":["a"],"lacks":["node b"]}']);
  const untold = [503, "overloaded", "node b; node c", { "Retry-After": "5" }];
  t.same(await answer({ queued: [], lacks: ["node b", "node c"] }), untold, "so that the sender tries again");
  t.same(counted, ["unneeded", "accepted", "accepted", "untold"]);
});

t.test("invalid secrets", async (t) => {
  for (const [given, message] of [
    [{ a: "short" }, /at least 16/],
    [{ a: null }, /at least 16/],
    [{ a: "file:/nonexistent/file" }, /cannot read its secret/],
    [{ "a/b": secret }, /an id must have/],
  ] as const) {
    t.throws(() => readWebhookSecrets(given, true), { code: "bad-config", message });
  }
});
