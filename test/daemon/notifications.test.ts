/** Notifications of saved searches, sent to a real receiver. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { sleep } from "../../src/base/deadline.js";
import { asDiscord, asSlack, asTeams } from "../support/chats.js";
import { type DaemonProcess, dataDirectory, testDaemon, textsOnly } from "../support/daemon.js";
import { inLongRuns, scaled } from "../support/full-run.js";
import type { GitFixture } from "../support/git-fixture.js";
import { fixture, pruneMirror } from "../support/git-mirror.js";
import { randomFrom } from "../support/random.js";
import { MailServer } from "../support/mail-server.js";
import { isSigned, Receiver } from "../support/receiver.js";
import { JobClient } from "../support/search-job.js";
import { until } from "../support/waiting.js";

t.setTimeout(900_000);

interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly state: string;
  readonly came: number;
  readonly attempts: number;
  readonly status: number | null;
  readonly error: string | null;
}

/** Makes calls of GraphQL about saved searches. */
class Person {
  readonly client: JobClient;

  constructor(daemon: () => DaemonProcess, token: string) {
    this.client = new JobClient(daemon, token);
  }

  async call<T>(query: string, variables: Readonly<Record<string, unknown>> = {}): Promise<T> {
    const { data, errors } = await this.client.graphql(query, variables);
    assert.equal(errors, undefined, JSON.stringify(errors));
    return data as T;
  }

  async error(query: string, variables: Readonly<Record<string, unknown>> = {}): Promise<string> {
    const { errors } = await this.client.graphql(query, variables);
    return (errors as { message: string }[] | undefined)?.[0]?.message ?? "";
  }

  async ownerId(): Promise<string> {
    return (await this.call<{ currentUser: { id: string } }>("{ currentUser { id } }")).currentUser.id;
  }

  async save(query: string, owner?: string): Promise<string> {
    const input = { owner: owner ?? (await this.ownerId()), description: `about ${query}`, query };
    const mutation = "mutation ($input: SavedSearchInput) { createSavedSearch(input: $input) { id notify } }";
    const { createSavedSearch } = await this.call<{ createSavedSearch: { id: string; notify: boolean } }>(mutation, {
      input,
    });
    assert.equal(createSavedSearch.notify, false);
    return createSavedSearch.id;
  }

  /** Returns the secret. */
  async enable(id: string, url: string, format = "WEBHOOK"): Promise<string> {
    type Answer = { enableSavedSearchNotification: { secret: string; savedSearch: { notify: boolean } } };
    const { enableSavedSearchNotification: enabled } = await this.call<Answer>(enableMutation, { id, url, format });
    assert.ok(enabled.savedSearch.notify);
    return enabled.secret;
  }

  async deliveries(id: string): Promise<readonly Delivery[] | undefined> {
    const query = `query ($id: ID!) { node(id: $id) { ... on SavedSearch { notification {
      url enabledBy { username } deliveries { id event state came attempts status error } } } } }`;
    type Answer = { node: { notification: { deliveries: Delivery[] } | null } | null };
    return (await this.call<Answer>(query, { id })).node?.notification?.deliveries;
  }
}

const enableMutation = `mutation ($id: ID!, $url: String!, $format: SavedSearchNotificationFormat) {
  enableSavedSearchNotification(id: $id, url: $url, format: $format) { secret savedSearch { notify } }
}`;
const disableMutation = "mutation ($id: ID!) { disableSavedSearchNotification(id: $id) { notify } }";
const testMutation = "mutation ($id: ID!) { testSavedSearchNotification(id: $id) { event state } }";

/** One daemon for all tests, each with a receiver of its own. */
async function makeSite(t: Test) {
  const receivers = [
    await Receiver.start(t),
    await Receiver.start(t),
    await Receiver.start(t),
    await Receiver.start(t),
  ] as const;
  const mail = await MailServer.start(t);
  const data = dataDirectory(t);
  const options = [
    `notifications.origins=${JSON.stringify(receivers.map(({ origin }) => origin))}`,
    "notifications.intervalSeconds=1",
    "notifications.retrySeconds=1",
    "notifications.attempts=3",
    "mail.host=localhost",
    `mail.port=${mail.port}`,
    `mail.authorities=${mail.certificatePath}`,
    "mail.from=trawl@example.org",
    'mail.recipients=["@example.org"]',
  ];
  const args = [...textsOnly, ...options.flatMap((option) => ["--set", option])];
  let daemon = await testDaemon(t, args, data);
  const restart = async (): Promise<void> => {
    daemon = await testDaemon(t, args, data);
  };
  for (const name of ["ann", "bob"]) await daemon.addUser(name);
  const ann = new Person(() => daemon, await daemon.addToken("ann"));
  const bob = new Person(() => daemon, await daemon.addToken("bob"));
  return { receivers, mail, daemon: () => daemon, restart, ann, bob };
}

let site: Awaited<ReturnType<typeof makeSite>>;
t.before(async () => {
  site = await makeSite(t);
});

const author = ["-c", "user.name=Fixture", "-c", "user.email=fixture@example.org"];

function commit(source: GitFixture, files: Readonly<Record<string, string>>): void {
  source.commit({ branch: "main", files });
}

t.test("a saved search is told what came, went and moved", async (t) => {
  const { daemon, restart, ann, bob } = site;
  const [receiver] = site.receivers;
  const source = fixture(t);
  commit(source, { "a.txt": "needle 1\nneedle 2\n", "b.txt": "other\n" });
  await daemon().add("code", source.path);
  const other = fixture(t);
  commit(other, { "c.txt": "needle\n" });
  await daemon().add("silent", other.path);

  const id = await ann.save("needle repo:^code$");
  t.match(
    await ann.error(enableMutation, { id, url: "http://127.0.0.1:1/" }),
    /http:\/\/127\.0\.0\.1:1: the operator has to list it in notifications\.origins/,
  );
  t.match(await ann.error(enableMutation, { id, url: "ftp://localhost/" }), /must begin with https/);
  t.match(
    await ann.error(enableMutation, { id, url: `${receiver.origin.replace("//", "//u:p@")}/` }),
    /must not contain a user/,
  );
  t.match(await bob.error(enableMutation, { id, url: receiver.origin }), /no such saved search/);
  for (const [query, reason] of [
    ["(needle type:commit) or needle", /commits and files cannot be watched together/],
    ["needle type:commit select:repo", /remove select:/],
    ["needle repo:has.content(a)", /changes of repositories by content or date cannot be searched for/],
  ] as const) {
    const refused = await ann.save(query);
    t.match(await ann.error(enableMutation, { id: refused, url: receiver.origin }), reason);
    t.match(await ann.error(testMutation, { id: refused }), /turn them on first/);
  }

  const secret = await ann.enable(id, `${receiver.origin}/hook`);
  await ann.call(testMutation, { id });
  const [ping] = await receiver.count(1);
  t.match(ping, { event: "ping", matches: [], search: { id, owner: "ann", query: "needle repo:^code$" } });

  commit(other, { "c.txt": "needle\nneedle\n" });
  await daemon().sync("silent");
  commit(source, { "a.txt": "first\nneedle 1\nneedle 3\n" });
  await daemon().sync("code");
  const [, change] = await receiver.count(2);
  t.match(change, {
    event: "search.changes",
    counts: { came: 1, went: 1, moved: 1 },
    repositories: [{ repository: "code", came: 1, went: 1, moved: 1 }],
    matches: [{ change: "came", type: "content", repository: "code", path: "a.txt", lineNumber: 2, line: "needle 3" }],
    matchesOmitted: 0,
    receipt: { complete: true },
  });
  t.match(change?.generation, /^\w{16,}$/);
  t.equal(new URL(change?.search.url ?? "").searchParams.get("q"), "needle repo:^code$");
  for (const request of receiver.received) {
    t.ok(isSigned(request, secret));
    t.match(request, {
      path: "/hook",
      headers: { "content-type": "application/json", "x-trawl-delivery": request.body.id },
    });
  }

  // The receiver fails, the daemon is killed, and what changed while it was down is seen after its start.
  receiver.statuses.push(500, 302);
  commit(source, { "a.txt": "first\nneedle 1\nneedle 3\nneedle 4\n" });
  await daemon().sync("code");
  await until("a failed attempt", () => receiver.received.some(({ status }) => status === 500));
  await daemon().kill();
  commit(source, { "d.txt": "needle 5\n" });
  await restart();
  await daemon().sync("code");
  const lines = (await receiver.count(4)).flatMap(({ matches }) => matches.map(({ line }) => line));
  t.same(lines, ["needle 3", "needle 4", "needle 5"], "each once");
  t.notOk(
    receiver.received.some(({ path }) => path !== "/hook"),
    "redirects are not followed",
  );
  const attempts = receiver.received.filter(({ body }) => body.matches.some(({ line }) => line === "needle 4"));
  t.equal(new Set(attempts.map(({ body }) => body.id)).size, 1, "a repeated delivery has the same id");

  // More than a body has.
  commit(source, { "e.txt": "needle e\n".repeat(250) });
  await daemon().sync("code");
  const large = (await receiver.count(5))[4];
  t.match(large, { counts: { came: 250 }, matchesOmitted: 150 });
  t.equal(large?.matches.length, 100);

  // Given up after three attempts.
  receiver.statuses.push(500, 500, 500);
  commit(source, { "f.txt": "needle f\n" });
  await daemon().sync("code");
  await until("a failed delivery", async () => (await ann.deliveries(id))?.[0]?.state === "FAILED");
  t.match((await ann.deliveries(id))?.slice(0, 2), [
    { event: "search.changes", state: "FAILED", came: 1, attempts: 3, status: 500, error: /answered 500/ },
    { state: "DELIVERED", came: 250, attempts: 1, status: 200, error: null },
  ]);
  t.equal(await bob.deliveries(id), undefined, "others see no deliveries");

  await ann.call(disableMutation, { id });
  t.equal(await ann.deliveries(id), undefined);
  commit(source, { "g.txt": "needle g\n" });
  await daemon().sync("code");
  const again = await ann.enable(id, `${receiver.origin}/again`);
  t.not(again, secret);
  commit(source, { "h.txt": "needle h\n" });
  await daemon().sync("code");
  const last = (await receiver.count(6))[5];
  t.same(
    last?.matches.map(({ line }) => line),
    ["needle h"],
    "nothing is sent of the time when it was off",
  );
  for (const name of ["code", "silent"]) await daemon().remove(name);
});

t.test("an owner is told nothing about what it may not see", async (t) => {
  const { daemon, ann, bob } = site;
  const [, receiver] = site.receivers;
  const source = fixture(t);
  commit(source, { "a.txt": "needle 1\n" });
  await daemon().add("secret", source.path);
  const open = fixture(t);
  commit(open, { "a.txt": "needle 1\n" });
  await daemon().add("open", open.path);
  const change = (...body: readonly [string, unknown?]): Promise<unknown> => daemon().control("POST", ...body);
  const setReader = (reader: string): Promise<unknown> =>
    change("/.api/repos/secret/attributes", { private: true, readers: [reader] });
  await setReader("ann");
  const ofAnn = await ann.save("needle");
  const ofBob = await bob.save("needle");
  await ann.enable(ofAnn, `${receiver.origin}/ann`);
  await bob.enable(ofBob, `${receiver.origin}/bob`);
  const pathsOf = (line: string): string[] =>
    receiver.received.filter(({ text }) => text.includes(line)).map(({ path }) => path);

  commit(source, { "a.txt": "needle 1\nneedle 2\n" });
  await daemon().sync("secret");
  await receiver.count(1);
  t.same(pathsOf("needle 2"), ["/ann"]);

  // Access is lost between the evaluation and the delivery, of one of two repositories: what is sent to ann about it is not
  // answered until then, and fails. Both changes may be told at once or one after the other.
  const { respond } = receiver;
  let lose = (): void => undefined;
  const lost = new Promise<void>((resolve) => {
    lose = resolve;
  });
  receiver.respond = (response, status) => {
    const isHeld = response.req.url === "/ann" && receiver.received.at(-1)?.text.includes("needle 3") === true;
    if (!isHeld) return respond(response, status);
    void lost.then(() => respond(response, 503));
  };
  commit(source, { "a.txt": "needle 1\nneedle 2\nneedle 3\n" });
  commit(open, { "a.txt": "needle 1\nneedle open\n" });
  await Promise.all([daemon().sync("secret"), daemon().sync("open")]);
  await until("ann is told", () => pathsOf("needle 3").includes("/ann"));
  const before = receiver.received.length;
  await setReader("carl");
  receiver.respond = respond;
  lose();
  commit(source, { "a.txt": "needle 1\nneedle 2\nneedle 3\nneedle 4\n" });
  await daemon().sync("secret");
  await until("all deliveries have ended", async () => {
    const all = [...((await ann.deliveries(ofAnn)) ?? []), ...((await bob.deliveries(ofBob)) ?? [])];
    return pathsOf("needle open").length >= 2 && all.every(({ state }) => state !== "PENDING");
  });
  // Whatever the rounds were, what is sent now has only what may be seen now.
  const late = receiver.received
    .slice(before)
    .map(({ text }) => text)
    .join("");
  t.notMatch(late, /secret|needle 3|needle 4/);
  t.same([...new Set(pathsOf("needle open"))].sort(), ["/ann", "/bob"]);

  // The search of an organization, by a member who leaves it.
  await change("/.api/organizations", { name: "core" });
  await change("/.api/organizations/core", { user: "bob", isMember: true });
  await setReader("core");
  const { organization } = await bob.call<{ organization: { id: string } }>('{ organization(name: "core") { id } }');
  const ofCore = await bob.save("needle", organization.id);
  await bob.enable(ofCore, `${receiver.origin}/core`);
  commit(source, { "a.txt": "needle 5\n" });
  await daemon().sync("secret");
  await until("the organization is told", () => pathsOf("needle 5").includes("/core"));
  await change("/.api/organizations/core", { user: "bob", isMember: false });
  commit(source, { "a.txt": "needle 6\n" });
  await daemon().sync("secret");
  commit(open, { "a.txt": "needle 1\nneedle end\n" });
  await daemon().sync("open");
  await until("the others are told", () => new Set(pathsOf("needle end")).size === 2);
  t.same(pathsOf("needle 6"), []);
  t.notOk(pathsOf("needle end").includes("/core"));
});

t.test("chats and mail get what they show, and it is said what they refuse", async (t) => {
  const { daemon, ann, mail } = site;
  const [, , , receiver] = site.receivers;
  const source = fixture(t);
  commit(source, { "a.txt": "none\n" });
  await daemon().add("chats", source.path);
  const { respond } = receiver;
  const rules = { "/slack": asSlack, "/discord": asDiscord, "/teams": asTeams } as const;
  receiver.respond = (response) => {
    const [path, busy] = (response.req.url ?? "").split("?");
    const { text: body = "" } = receiver.received.at(-1) ?? {};
    const { status, text } = rules[path as keyof typeof rules](body);
    if (busy === undefined) response.writeHead(status).end(text);
    else if (busy === "busy") response.writeHead(429, { "Retry-After": "3600" }).end("rate limited");
    else response.writeHead(Number(busy)).end("channel_not_found");
  };
  const ended = async (id: string, count: number): Promise<readonly Delivery[]> => {
    await until(`${count} deliveries have ended`, async () => {
      const all = (await ann.deliveries(id)) ?? [];
      return all.length >= count && all.every(({ state }) => state !== "PENDING");
    });
    return (await ann.deliveries(id)) ?? [];
  };

  const ids = new Map<string, string>();
  for (const format of ["SLACK", "DISCORD", "TEAMS"]) {
    const id = await ann.save("needle repo:^chats$");
    ids.set(format, id);
    t.equal(await ann.enable(id, `${receiver.origin}/${format.toLowerCase()}`, format), "", "nothing is signed");
    await ann.call(testMutation, { id });
  }
  const mailed = await ann.save("needle repo:^chats$");
  t.match(
    await ann.error(enableMutation, { id: mailed, url: "a@evil.example", format: "MAIL" }),
    /the operator has to list it, or @evil\.example, in mail\.recipients/,
  );
  t.match(
    await ann.error(enableMutation, { id: mailed, url: "https://hooks.slack.com/x", format: "SLACK" }),
    /list it in notifications\.origins/,
    "the operator's list is for all formats",
  );
  await ann.enable(mailed, "team@example.org", "MAIL");
  await ann.call(testMutation, { id: mailed });
  ids.set("MAIL", mailed);
  commit(source, { "a.txt": "needle <!channel> @everyone [a](https://evil.example)\n" });
  await daemon().sync("chats");
  for (const [format, id] of ids)
    t.match(
      await ended(id, 2),
      [
        { event: "search.changes", state: "DELIVERED", error: null },
        { event: "ping", state: "DELIVERED", error: null },
      ],
      format,
    );
  t.match(mail.received, [{ isEncrypted: true, to: ["team@example.org"] }, { text: /1 came: about needle/ }]);
  t.match(mail.received[1]?.text.replaceAll("=\n", ""), /needle <!channel> @everyone/);
  const audit = readFileSync(join(daemon().data, "audit.log"), "utf8");
  t.match(audit, /"webhook":"mailto:team@example\.org","format":"MAIL"/);
  t.match(audit, new RegExp(`"webhook":"${receiver.origin}","format":"SLACK"`), "the path may be a secret");

  // One is asked to wait for an hour; another one is refused for good, a third one tried three times.
  const [slack = "", discord = "", teams = ""] = ids.values();
  await ann.enable(slack, `${receiver.origin}/slack?busy`, "SLACK");
  await ann.enable(discord, `${receiver.origin}/discord?404`, "DISCORD");
  await ann.enable(teams, `${receiver.origin}/teams?500`, "TEAMS");
  for (const id of [slack, discord, teams]) await ann.call(testMutation, { id });
  t.match(await ended(discord, 1), [
    { state: "FAILED", attempts: 1, status: 404, error: /answered 404: channel_not_found$/ },
  ]);
  t.match(await ended(teams, 1), [{ state: "FAILED", attempts: 3, status: 500 }]);
  t.match(await ann.deliveries(slack), [{ state: "PENDING", attempts: 1, status: 429, error: /429: rate limited/ }]);
  await ann.enable(slack, `${receiver.origin}/slack?400`, "SLACK");
  await ann.call(testMutation, { id: slack });
  t.match(await ended(slack, 1), [{ state: "FAILED", attempts: 1, status: 400, error: /answered 400: channel_not/ }]);
  mail.refusals.push({ at: "recipient", code: 550, text: "unknown here" });
  await ann.call(testMutation, { id: mailed });
  t.match((await ended(mailed, 3))[0], { state: "FAILED", attempts: 1, status: 550, error: /550 unknown here/ });
  const undelivered = () =>
    readFileSync(join(daemon().data, "audit.log"), "utf8")
      .split("\n")
      .filter((line) => line.includes('"notification-refused"') && line.endsWith("}"))
      .map((line) => JSON.parse(line) as { to: string; state: string; reason: string; owner: string });
  for (const [to, state, reason] of [
    [receiver.origin, "PENDING", /answered 429: rate limited/],
    [receiver.origin, "FAILED", /answered 404: channel_not_found/],
    [receiver.origin, "FAILED", /answered 400: channel_not_found/],
    [receiver.origin, "FAILED", /answered 500/],
    ["mailto:team@example.org", "FAILED", /550 unknown here/],
  ] as const)
    await until(`the audit log has ${reason.source}`, () =>
      undelivered().some(
        (line) => line.to === to && line.state === state && line.owner === "ann" && reason.test(line.reason),
      ),
    );
  receiver.respond = respond;
  for (const id of ids.values()) await ann.call(disableMutation, { id });
  await daemon().remove("chats");
});

t.test("each new commit is told once", async (t) => {
  const { daemon, restart, ann } = site;
  const [, , , receiver] = site.receivers;
  const source = fixture(t);
  const add = (message: string, branch = "main"): string =>
    source.commit({ branch, files: { "a.txt": message }, message });
  add("needle old");
  add("needle older on dev", "dev");
  const name = "history";
  await daemon().add(name, source.path, ["main", "dev"]);
  const sync = (): Promise<unknown> => daemon().sync(name);
  const id = await ann.save("needle type:commit index:only repo:^history$");
  await ann.enable(id, `${receiver.origin}/commits`);
  const ofDiffs = await ann.save("needle type:diff type:commit repo:^history$ rev:main:dev");
  await ann.enable(ofDiffs, `${receiver.origin}/diffs`);
  const bodies = (path: string) =>
    new Map(
      receiver.received
        .filter((one) => one.path === path && one.status === 200 && one.body.event === "search.commits")
        .map(({ body }) => [body.id, body]),
    );
  const told = (path: string): string[] =>
    [...bodies(path).values()].flatMap(({ commits = [] }) => commits.map(({ message }) => message.trim()));
  const untilTold = async (path: string, ...messages: string[]): Promise<void> => {
    await until(
      () => `${path} is told of ${messages.join()}, and not only of ${told(path).join()}`,
      () => messages.every((message) => told(path).includes(message)),
    );
  };

  // The first message has what came since, and nothing of what was there before.
  const first = add("needle 1");
  add("nothing of interest");
  add("needle dev", "dev");
  await sync();
  await untilTold("/commits", "needle 1");
  await untilTold("/diffs", "needle 1", "needle dev");
  const [body] = bodies("/commits").values();
  t.match(body, {
    event: "search.commits",
    search: { id },
    counts: { came: 1, went: 0, moved: 0 },
    repositories: [{ repository: name, came: 1 }],
    commits: [{ repository: name, commit: first, authorName: "Fixture", message: "needle 1" }],
    commitsOmitted: 0,
    receipt: { complete: true },
  });
  t.match(body?.commits?.[0]?.url, /^http:.*\/history\/-\/commit\/[0-9a-f]{40}$/);
  t.notOk("matches" in (body ?? {}));
  const diffs = [...bodies("/diffs").values()].flatMap(({ commits = [] }) => commits);
  t.ok(
    diffs.every(({ commit, diff }) => commit !== first || /\+needle 1/.test(diff)),
    "of a diff, what it changed",
  );

  // What was merged is not new where both branches are searched, and is in the other search.
  source.git(
    "update-ref",
    "refs/heads/main",
    source.git(...author, "commit-tree", "dev^{tree}", "-p", "main", "-p", "dev", "-m", "a merge").trim(),
  );
  await sync();
  await untilTold("/commits", "needle dev");

  // A commit that was rewritten is a new one. One that comes back is not.
  const before = source.git("rev-parse", "main").trim();
  source.updateRef(
    "refs/heads/main",
    source.git(...author, "commit-tree", "main^{tree}", "-p", "main^1", "-m", "needle rewritten").trim(),
  );
  await sync();
  await untilTold("/commits", "needle rewritten");
  const rewritten = source.git("rev-parse", "main").trim();
  source.updateRef("refs/heads/main", before);
  await sync();
  source.updateRef("refs/heads/main", rewritten);
  add("needle 2");
  await sync();
  await untilTold("/commits", "needle 2");

  // The receiver fails, the daemon is killed, and a commit arrives meanwhile.
  receiver.statuses.push(500, 500);
  add("needle 3");
  await sync();
  await until("two attempts fail", () => receiver.statuses.length === 0);
  await daemon().kill();
  add("needle 4");
  await restart();
  await sync();
  await untilTold("/commits", "needle 3", "needle 4");
  await untilTold("/diffs", "needle 3", "needle 4");

  // More than a body has.
  for (let i = 0; i < 103; i++) add(`needle many ${i}`);
  await sync();
  await untilTold("/commits", "needle many 102");
  t.match([...bodies("/commits").values()].at(-1), { counts: { came: 103 }, commitsOmitted: 3 });

  // No evaluation before the earlier commits are gone, because messages wait.
  const { respond } = receiver;
  let answer = (): void => undefined;
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  receiver.respond = (...args) => void answered.then(() => respond(...args));
  for (let i = 0; i < 10; i++) await ann.call(testMutation, { id });
  source.commit({ branch: "main", files: { "a.txt": "x" }, message: "needle from nothing", orphan: true });
  source.deleteBranch("dev");
  await sync();
  // Its mirror is the newest one.
  const mirrors = readdirSync(join(daemon().data, "mirrors")).map((file) => Number.parseInt(file, 10));
  const mirror = join(daemon().data, "mirrors", `${Math.max(...mirrors)}.git`);
  source.git("--git-dir", mirror, "reflog", "expire", "--expire=now", "--all");
  await pruneMirror(mirror);
  answer();
  receiver.respond = respond;
  await until("it is told that this is not known", () =>
    receiver.received.some(({ path, body: { event } }) => path === "/commits" && event === "search.failed"),
  );
  t.match(
    receiver.received.find(({ body: { event } }) => event === "search.failed")?.body.error,
    /not known which are new/,
  );
  add("needle last");
  await sync();
  await untilTold("/commits", "needle last");

  const expected = ["1", "older on dev", "dev", "rewritten", "2", "3", "4", "last"].map((word) => `needle ${word}`);
  t.same(
    told("/commits")
      .filter((message) => !message.includes("many"))
      .sort(),
    expected.sort(),
    "each once",
  );
  t.same(
    told("/diffs").filter((message) => message === "needle dev"),
    ["needle dev"],
  );
  t.equal(new Set(told("/diffs")).size, told("/diffs").length, "each once, as a commit or as a diff");
  t.notOk(
    told("/diffs").includes("needle older on dev"),
    "what a merge brings from a branch that is searched too is not new",
  );
  for (const one of [id, ofDiffs]) await ann.call(disableMutation, { id: one });
  await daemon().remove(name);
});

// In `make test` the first one kills the daemon between an attempt that failed and the next one.
t.test("every change is told exactly once, however often the daemon is killed", inLongRuns, async (t) => {
  const { daemon, restart, ann } = site;
  const [, , receiver] = site.receivers;
  const source = fixture(t);
  commit(source, { "a.txt": "none\n" });
  await daemon().add("killed", source.path);
  const id = await ann.save("needle repo:^killed$");
  await ann.enable(id, receiver.origin);
  const random = randomFrom(7);
  const changeCount = scaled(8, 40);
  let text = "";
  for (let i = 0; i < changeCount; i++) {
    text += `needle ${i}\n`;
    commit(source, { "a.txt": text });
    if (i === 1) receiver.statuses.push(500);
    const synced = daemon()
      .sync("killed")
      .catch(() => undefined);
    if (i % 2 === 0) await synced;
    if (i % 4 !== 3) continue;
    await sleep(random(1_200));
    await daemon().kill();
    await restart();
  }
  await daemon().sync("killed");
  const told = (): string[] => receiver.accepted().flatMap(({ matches }) => matches.map(({ line }) => line ?? ""));
  await until(
    () => `everything is told: ${told().join()}`,
    () => told().length >= changeCount,
  );
  t.same(
    told(),
    Array.from({ length: changeCount }, (_, i) => `needle ${i}`),
  );
});
