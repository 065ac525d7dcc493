/** Attacks on accounts over real sockets: what outlives its credential, who keeps whom out, and what a flood hides. */
import { readFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import t, { type Test } from "tap";
import { chosen, isFull } from "../support/full-run.js";
import { monotonicMs } from "../../src/base/deadline.js";
import { usualBounds, underAttack } from "../support/attack.js";
import { testDaemon, textsOnly, type DaemonProcess } from "../support/daemon.js";
import { GitFixture } from "../support/git-fixture.js";
import { until, within } from "../support/waiting.js";

/** An answer ends within a second; a busy machine is given three. */
const endMsMax = 3000;
const password = "correct horse battery";

interface Sent {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly text: string;
}

interface Sending {
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Address that the request comes from, of the loopback network. */
  readonly from?: string;
}

/** Opens a request; resolves with its head. */
function open(
  daemon: DaemonProcess,
  path: string,
  { method = "GET", headers = {}, body, from = "127.0.0.1" }: Sending = {},
): Promise<IncomingMessage> {
  return within(
    new Promise((resolve, reject) => {
      const sending = httpRequest(daemon.url + path, {
        method,
        headers: { ...headers, ...(body === undefined ? {} : { "content-length": Buffer.byteLength(body) }) },
        localAddress: from,
        agent: false,
      });
      sending.on("response", resolve).on("error", reject);
      sending.end(body);
    }),
    path,
  );
}

/** Reads an answer to its end, whole or cut. */
function textOf(response: IncomingMessage): Promise<string> {
  return within(
    new Promise((resolve) => {
      let text = "";
      response
        .on("data", (bytes: Buffer) => {
          text += bytes.toString("latin1");
        })
        .on("error", () => undefined)
        .on("close", () => resolve(text));
    }),
    "the end of an answer",
  );
}

async function send(daemon: DaemonProcess, path: string, sending: Sending = {}): Promise<Sent> {
  const response = await open(daemon, path, sending);
  return { status: response.statusCode ?? 0, headers: response.headers, text: await textOf(response) };
}

function signIn(daemon: DaemonProcess, email: string, pass: string, from: string): Promise<Sent> {
  return send(daemon, "/-/sign-in", { method: "POST", body: JSON.stringify({ email, password: pass }), from });
}

async function graphql(
  daemon: DaemonProcess,
  query: string,
  headers: Readonly<Record<string, string>>,
  variables: unknown = null,
): Promise<unknown> {
  return JSON.parse(
    (await send(daemon, "/.api/graphql", { method: "POST", headers, body: JSON.stringify({ query, variables }) })).text,
  );
}

const needles = "needle in a line of some length, so that many lines exceed the limit of sockets hold\n";

const [fileCount, lineCount] = [30, 10_000];

/** A repository whose matches no socket holds: a reader that stops keeps its stream open. */
function largeRepository(t: Test): string {
  const fixture = GitFixture.create();
  t.teardown(() => fixture.remove());
  fixture.commit({
    branch: "main",
    files: Object.fromEntries(
      Array.from({ length: fileCount }, (_, at) => [`file${at}.txt`, needles.repeat(lineCount)]),
    ),
  });
  return fixture.path;
}

interface Token {
  readonly header: Readonly<Record<string, string>>;
  readonly id: number;
}

async function tokenOf(
  daemon: DaemonProcess,
  user: string,
  scopes: readonly string[] = [],
  expires = "1d",
): Promise<Token> {
  const { text } = (await daemon.control("POST", "/.api/tokens", {
    user,
    scopes: ["user:all", ...scopes],
    note: "",
    expires,
  })) as { readonly text: string };
  const tokens = (await daemon.control("GET", "/.api/tokens")) as readonly { readonly id: number }[];
  return { header: { authorization: `token ${text}` }, id: Math.max(...tokens.map(({ id }) => id)) };
}

t.test("accounts under attack", async (t) => {
  const large = largeRepository(t);
  const site = await testDaemon(t, [...textsOnly, "--set", "auth.public=false"]);
  await site.control("POST", "/.api/users", { name: "ann", password });
  await site.control("POST", "/.api/users", { name: "boss", isSiteAdmin: true });
  await site.add("host/large", large);
  const stream = "/.api/search/stream?q=needle+count:all+timeout:60s";
  const archive = "/host/large/-/raw/?format=tar";

  /** Opens the path, reads nothing more than its beginning, ends the credential, and reads to the end. */
  const ended = async (
    path: string,
    headers: Readonly<Record<string, string>>,
    end: () => Promise<unknown>,
  ): Promise<{ readonly text: string; readonly ms: number }> => {
    const response = await open(site, path, { headers });
    t.equal(response.statusCode, 200, path);
    response.pause();
    const startMs = monotonicMs();
    await end();
    const text = await textOf(response.resume());
    return { text, ms: monotonicMs() - startMs };
  };
  /** It ends with an event that says why; one that was read too late is cut. */
  const endsWith = (text: string, reason: string): boolean =>
    text.endsWith(`event: error\ndata: ${JSON.stringify({ message: reason })}\n\nevent: done\ndata: {}\n\n`) ||
    !text.includes("event: done");
  /** The version of the site admin's settings, as a change names it. */
  const lastSettings = async (headers: Readonly<Record<string, string>>): Promise<{ readonly s: number | null }> => {
    const { data } = (await graphql(site, "{ currentUser { latestSettings { id } } }", headers)) as {
      readonly data: { readonly currentUser: { readonly latestSettings: { readonly id: number } | null } };
    };
    return { s: data.currentUser.latestSettings?.id ?? null };
  };
  const openStreams = async (headers: Readonly<Record<string, string>>): Promise<number> =>
    Number(/^trawl_streams_open (\d+)$/m.exec((await send(site, "/metrics", { headers })).text)?.[1]);
  const revoke = (id: number) => () => site.control("DELETE", `/.api/tokens/${id}`);

  await t.test("a stream of a token that is deleted", async (t) => {
    const { header, id } = await tokenOf(site, "ann");
    const { text, ms } = await ended(stream, header, revoke(id));
    t.ok(endsWith(text, "The access token was deleted."), text.slice(-300));
    if (isFull) t.ok(ms < endMsMax, `it ends after ${ms.toFixed()} ms`);
    t.equal((await send(site, stream, { headers: header })).status, 401);
  });

  await t.test("a reader that takes nothing is cut", async (t) => {
    const { header, id } = await tokenOf(site, "ann");
    const response = await open(site, stream, { headers: header });
    response.pause();
    const admin = await tokenOf(site, "admin");
    t.equal(await openStreams(admin.header), 1);
    await revoke(id)();
    const startMs = monotonicMs();
    await until("the stream is closed", async () => (await openStreams(admin.header)) === 0);
    if (isFull) t.ok(monotonicMs() - startMs < endMsMax);
    response.destroy();
  });

  await t.test("an archive of a token that is deleted", async (t) => {
    const { header, id } = await tokenOf(site, "ann");
    const { text, ms } = await ended(archive, header, revoke(id));
    t.ok(text.length < fileCount * lineCount * needles.length, "it is not whole");
    if (isFull) t.ok(ms < endMsMax, `it ends after ${ms.toFixed()} ms`);
  });

  await t.test("a stream of a token that expires", async (t) => {
    const admin = await tokenOf(site, "admin");
    const annId = (
      (await graphql(site, '{ user(username: "ann") { id } }', admin.header)) as { data: { user: { id: string } } }
    ).data.user.id;
    const ann = await tokenOf(site, "ann");
    const made = (await graphql(
      site,
      `mutation { createAccessToken(user: "${annId}", scopes: ["user:all"], note: "", durationSeconds: 2) { token } }`,
      ann.header,
    )) as { data: { createAccessToken: { token: string } } };
    const header = { authorization: `token ${made.data.createAccessToken.token}` };
    const { text } = await ended(stream, header, async () => {
      await until("the token has expired", async () => (await send(site, "/", { headers: header })).status === 401);
      await until("the stream has ended", async () => (await openStreams(admin.header)) === 0);
    });
    t.ok(endsWith(text, "The credential has expired."), text.slice(-300));
  });

  await t.test("a stream of a session that ends, and a stream of who is no site admin any more", async (t) => {
    const { headers } = await signIn(site, "ann", password, "127.0.0.1");
    const cookie = String(headers["set-cookie"]).split(";")[0] ?? "";
    const signOut = await ended(stream, { cookie, "x-requested-with": "Sourcegraph" }, () =>
      send(site, "/-/sign-out", { method: "POST", headers: { cookie } }),
    );
    t.ok(endsWith(signOut.text, "The session has ended."));
    const { header } = await tokenOf(site, "boss");
    const demoted = await ended(stream, header, () => site.control("POST", "/.api/users/boss", { isSiteAdmin: false }));
    t.ok(endsWith(demoted.text, "The account no longer belongs to a site admin."));
  });

  await t.test("a stream of who is no member of an organization any more", async (t) => {
    const admin = await tokenOf(site, "admin");
    const change = (text: string): Promise<unknown> => graphql(site, `mutation { ${text} }`, admin.header);
    const { data } = (await graphql(site, '{ user(username: "ann") { id } }', admin.header)) as {
      data: { user: { id: string } };
    };
    const made = (await change('createOrganization(name: "core") { id }')) as {
      data: { createOrganization: { id: string } };
    };
    const organization = made.data.createOrganization.id;
    await change(`addUserToOrganization(organization: "${organization}", username: "ann") { alwaysNil }`);
    const { header } = await tokenOf(site, "ann");
    const { text } = await ended(stream, header, () =>
      change(`removeUserFromOrganization(user: "${data.user.id}", organization: "${organization}") { alwaysNil }`),
    );
    t.ok(endsWith(text, "The account is no longer a member of an organization."));
  });

  await t.test("a stream whose repositories are no longer its viewer's to read", async (t) => {
    const { header } = await tokenOf(site, "ann");
    const { text } = await ended(stream, header, () =>
      site.control("POST", "/.api/repos/host%2Flarge/attributes", { private: true, readers: ["boss"] }),
    );
    t.ok(endsWith(text, "The readers of a repository have changed."));
    await site.control("POST", "/.api/repos/host%2Flarge/attributes", { private: false });
  });

  await t.test("a stream of sudo ends with the user acted for", async (t) => {
    const { header } = await tokenOf(site, "admin", ["site-admin:sudo"]);
    await site.control("POST", "/.api/users", { name: "cid" });
    const sudo = { authorization: header["authorization"]!.replace(/token (.*)/, 'token-sudo user="cid",token="$1"') };
    const { text } = await ended(stream, sudo, () => site.control("DELETE", "/.api/users/cid"));
    t.ok(endsWith(text, "The account was deleted."));
  });

  await t.test("who deletes its own token is told so, and may do nothing after it", async (t) => {
    const { header, id } = await tokenOf(site, "ann");
    const own = Buffer.from(`AccessToken:${id}`).toString("base64");
    const answer = await graphql(
      site,
      `mutation { deleteAccessToken(byID: "${own}") { alwaysNil } createTeam(name: "late") { id } }`,
      header,
    );
    t.match(answer, { errors: [{ message: /credential of this request is no longer valid/, path: ["createTeam"] }] });
    const other = await tokenOf(site, "ann");
    const alone = Buffer.from(`AccessToken:${other.id}`).toString("base64");
    t.same(await graphql(site, `mutation { deleteAccessToken(byID: "${alone}") { alwaysNil } }`, other.header), {
      data: { deleteAccessToken: { alwaysNil: null } },
    });
  });

  await t.test("a body that is sent until its token is deleted changes nothing", async (t) => {
    const { header, id } = await tokenOf(site, "ann");
    const body = JSON.stringify({ query: 'mutation { createTeam(name: "trickled") { id } }' });
    const sending = httpRequest(`${site.url}/.api/graphql`, {
      method: "POST",
      headers: { ...header, "content-length": body.length },
      agent: false,
    });
    const answered = new Promise<number>((resolve) =>
      sending
        .on("response", (response) => {
          response.resume();
          resolve(response.statusCode ?? 0);
        })
        .on("error", () => resolve(0)),
    );
    sending.write(body.slice(0, 20));
    // The daemon has begun to read it when it answers a later request.
    await send(site, "/healthz");
    await revoke(id)();
    sending.end(body.slice(20));
    t.match(String(await within(answered, "the answer")), /^(401|0)$/, "a 401, or cut");
    const admin = await tokenOf(site, "admin");
    t.same(await graphql(site, '{ team(name: "trickled") { id } }', admin.header), { data: { team: null } });
  });

  await t.test("nobody keeps somebody else out", async (t) => {
    await underAttack(t, site, usualBounds, "guesses", async () => {
      const guesses = await Promise.all(
        Array.from({ length: 150 }, (_, at) =>
          signIn(site, at % 3 === 0 ? `name${at}` : "ann", "a wrong password", "127.0.0.66"),
        ),
      );
      t.ok(
        guesses.every(({ status }) => status === 401 || status === 422),
        "each is wrong or waits",
      );
      t.ok(guesses.some(({ status }) => status === 422));
      const owner = await signIn(site, "ann", password, "127.0.0.7");
      t.equal(owner.status, 200, "the owner signs in from another address meanwhile");
    });
    const waiting = await signIn(site, "ann", password, "127.0.0.66");
    t.ok(
      waiting.status === 200 || Number(waiting.headers["retry-after"]) <= 60,
      "who has guessed waits a minute at most",
    );
  });

  await t.test("a token makes none that permits more, and none that lives for ever", async (t) => {
    const [plain, sudo] = [await tokenOf(site, "admin"), await tokenOf(site, "admin", ["site-admin:sudo"])];
    const id = Buffer.from("User:1").toString("base64");
    const make = (scopes: string, rest: string): string =>
      `mutation { createAccessToken(user: "${id}", scopes: [${scopes}], note: ""${rest}) { id } }`;
    t.match(await graphql(site, make('"user:all", "site-admin:sudo"', ""), plain.header), {
      errors: [{ message: /has no scope "site-admin:sudo"/ }],
    });
    t.match(await graphql(site, make('"user:all", "site-admin:sudo"', ""), sudo.header), {
      data: { createAccessToken: { id: /./ } },
    });
    for (const rest of ["", ", durationSeconds: null"]) await graphql(site, make('"user:all"', rest), plain.header);
    t.match(await graphql(site, make('"user:all"', ", durationSeconds: 31536001"), plain.header), {
      errors: [{ message: /more than 365 days, the maximum set by auth.maxTokenDays/ }],
    });
    await t.rejects(
      site.control("POST", "/.api/tokens", { user: "admin", scopes: ["user:all"], note: "", expires: "never" }),
      { message: /without expiry are not allowed.*auth\.allowTokensWithoutExpiry/ },
    );
    const tokens = (await site.control("GET", "/.api/tokens")) as readonly {
      readonly expiresAt: string;
      readonly createdAt: string;
    }[];
    // No longer than the token that created them.
    for (const { expiresAt, createdAt } of tokens.slice(-3))
      t.ok(Date.parse(expiresAt) - Date.parse(createdAt) <= 90 * 86_400_000, `${createdAt} to ${expiresAt}`);

    await site.control("POST", "/.api/users/boss", { isSiteAdmin: true });
    const asBoss = {
      authorization: sudo.header["authorization"]!.replace(/token (.*)/, 'token-sudo user="boss",token="$1"'),
    };
    t.equal(
      (await send(site, "/", { headers: asBoss })).text,
      "Unable to sudo to another site admin: auth.allowSudoToSiteAdmins is off.\n",
    );
  });

  await t.test("a name that every object has is a name like any other", async (t) => {
    const { header } = await tokenOf(site, "admin");
    const answersTo = async (name: string): Promise<string> => {
      const answers = [
        await graphql(
          site,
          `{ user(username: "${name}") { id } namespaceByName(name: "${name}") { id } organization(name: "${name}") { id } team(name: "${name}") { id }
          email: user(email: "${name}") { id } searchContextBySpec(spec: "${name}") { id } of: searchContextBySpec(spec: "@${name}/${name}") { id }
          site { users(username: "${name}") { totalCount } } repoMeta { key(key: "${name}") { __typename } } }`,
          header,
        ),
        await graphql(site, `{ ${name}: currentUser { ${name}: username } }`, header),
        await graphql(site, `{ ${name}: currentUser { ${name}: username } }`, header),
        await graphql(
          site,
          `mutation { createAccessToken(user: "VXNlcjox", scopes: ["user:all", "${name}"], note: "") { id } }`,
          header,
        ),
        await graphql(
          site,
          `mutation ($s: Int) { settingsMutation(input: { subject: "VXNlcjox", lastID: $s }) { overwriteSettings(contents: "{\\"${name}\\": 1}") { empty { alwaysNil } } } }`,
          header,
          await lastSettings(header),
        ),
        await graphql(site, "{ viewerSettings { final } }", header),
        (await signIn(site, name, password, "127.0.0.9")).text,
        (
          await send(site, "/.api/graphql", {
            headers: { authorization: `token-sudo user="${name}",token="x"` },
            method: "POST",
            body: "{}",
          })
        ).text,
      ];
      return JSON.stringify(answers).replaceAll(name, "NAME");
    };
    const expected = await answersTo("nothing");
    const names = chosen(Object.getOwnPropertyNames(Object.prototype), "constructor", "__proto__", "toString");
    for (const name of names) t.equal(await answersTo(name), expected, name);
  });

  await t.test("a flood of junk tokens hides no other refusal", async (t) => {
    const junk = (from: string): Promise<Sent> =>
      send(site, "/healthz?", { from }).then(() =>
        send(site, "/.api/graphql", { method: "POST", headers: { authorization: "token junk" }, body: "{}", from }),
      );
    await underAttack(t, site, usualBounds, "junk tokens", async () => {
      for (let i = 0; i < 5; i++) await Promise.all(Array.from({ length: 50 }, () => junk("127.0.0.66")));
      await junk("127.0.0.8");
    });
    await site.stop();
    const lines = readFileSync(join(site.data, "audit.log"), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>);
    const ofJunk = lines.filter(
      ({ event, from }) => event === "credential-refused" && /\.(66|8)$|7f00:00(42|08)$/.test(String(from)),
    );
    t.equal(
      ofJunk.filter(({ from }) => String(from).includes("7f00:0008") || from === "127.0.0.8").length,
      1,
      "the other one has its line",
    );
    t.ok(ofJunk.length < 12, `${ofJunk.length} lines of 251 refusals`);
    t.equal(
      ofJunk.reduce((sum, { untold }) => sum + (typeof untold === "number" ? untold : 1), 0),
      251,
      "each is counted",
    );
  });
});
