/** What chats and mails say, by the rules of those who show it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { announce } from "../../../src/notify/announcement.js";
import { checkMailOptions, type MailOptions, MailSender } from "../../../src/notify/mail.js";
import { toMessage } from "../../../src/notify/message.js";
import type { BodyHeader, NewCommit, StoredPayload } from "../../../src/notify/payload.js";
import { post } from "../../../src/notify/post.js";
import { Receivers } from "../../../src/notify/receivers.js";
import { asDiscord, asSlack, asTeams } from "../../support/chats.js";
import { MailServer } from "../../support/mail-server.js";
import { Receiver } from "../../support/receiver.js";

const hostile = [
  "<!channel> <@U123> <!here|x> <https://evil.example|click> & &lt;",
  "@everyone @here <@123> <@&4> <#5> [click](https://evil.example) ||spoiler|| **b** __u__ `c` ~~s~~",
  "# title\n> quote\n- list\n1. one\r\nBcc: victim@example.org\r\n\r\nbody \u202egnp.exe\u2066 \u0000\u0007",
  "\\](https://evil.example) \\\\* <at>all</at> ![x](https://evil.example/p.png) \ud83d\ude00",
  `${"*".repeat(5_000)}`,
];
const hostileText = hostile.join(" ");

const header = (text: string): BodyHeader => ({
  id: "7-1-abc",
  createdAt: "2026-01-01T00:00:00Z",
  search: { id: 7, description: text, query: text },
  owner: text,
  searchId: "U2F2ZWQ",
  url: `https://code.example.org/search?${new URLSearchParams({ q: text })}`,
  baseUrl: "https://code.example.org",
});

const commit = (i: number, text: string): NewCommit => ({
  repository: `hosts/${text.slice(0, 60)}`,
  repositoryID: 1,
  commit: String(i).padStart(40, "0"),
  authorName: text,
  authorDate: "2026-01-01T00:00:00Z",
  message: text,
  url: `/hosts/r/-/commit/${i}?a=(b)|<c>`,
});

function payloads(text: string): readonly StoredPayload[] {
  const repositories = [{ id: 1, came: 312, went: 2, moved: 0 }];
  const matches = Array.from({ length: 100 }, (_, i) => ({
    change: "came" as const,
    type: "content" as const,
    repository: "r",
    repositoryID: 1,
    revision: "",
    commit: "c".repeat(40),
    path: text.slice(0, 4_000),
    lineNumber: i,
    line: text,
  }));
  const commits = Array.from({ length: 100 }, (_, i) => commit(i, text));
  return [
    { event: "ping", repositories: [], matches: [] },
    { event: "search.failed", repositories: [], matches: [], error: text },
    { event: "search.changes", repositories, matches },
    { event: "search.commits", repositories, matches: [], commits, error: text },
  ];
}

const chats = { SLACK: asSlack, DISCORD: asDiscord, TEAMS: asTeams } as const;
const notification = { url: "", secret: "", enabledBy: 1, enabledAt: "", key: "", position: 0 };

t.test("each chat accepts what is sent to it, whatever the texts are", async (t) => {
  const receiver = await Receiver.start(t);
  const receivers = new Receivers([receiver.origin], []);
  for (const [format, rule] of Object.entries(chats) as [keyof typeof chats, typeof asSlack][]) {
    receiver.respond = (response) => {
      const { status, text } = rule(receiver.received.at(-1)?.text ?? "");
      response.writeHead(status).end(text);
    };
    for (const text of [...hostile, hostileText, "plain", "é".repeat(3_000)]) {
      for (const payload of payloads(text)) {
        const message = toMessage({ ...notification, format }, header(text), payload, () => "r");
        const sent = await post(new URL(receiver.origin), message, receivers, "trawl", new AbortController().signal);
        t.match(sent, { error: "" }, `${format} ${payload.event} ${text.slice(0, 20)}`);
      }
    }
  }
  t.notOk(
    receiver.received.some(({ headers }) => "webhook-signature" in headers),
    "a chat gets no signature",
  );
});

t.test("the receivers of this test refuse what the chats would", async (t) => {
  const slack = { text: "a", blocks: [{ type: "section", text: { type: "mrkdwn", text: "<!channel>" } }] };
  t.match(asSlack(JSON.stringify(slack)), { status: 400, text: /calls somebody/ });
  slack.blocks = Array.from({ length: 51 }, () => ({ type: "section", text: { type: "mrkdwn", text: "a" } }));
  t.match(asSlack(JSON.stringify(slack)), { status: 400, text: /blocks: 1 to 50/ });
  const embed = { title: "a", url: "https://a", description: "[a](https://b) **b**", footer: { text: "a" } };
  const discord = { allowed_mentions: { parse: [] }, embeds: [embed] };
  t.match(asDiscord(JSON.stringify(discord)), { status: 400, text: /Markdown of others/ });
  t.match(asDiscord(JSON.stringify({ embeds: [{ ...embed, description: "a" }] })), { text: /somebody may be called/ });
  const content = { type: "AdaptiveCard", version: "1.4", body: [{ type: "TextBlock", text: "[a](b)" }] };
  const attachments = [{ contentType: "application/vnd.microsoft.card.adaptive", content }];
  t.match(asTeams(JSON.stringify({ type: "message", attachments })), { status: 400 });
});

t.test("what a message says", async (t) => {
  const [ping, failed, changes, commits] = payloads("fix the leak") as [
    StoredPayload,
    StoredPayload,
    StoredPayload,
    StoredPayload,
  ];
  const of = (payload: StoredPayload) => announce(header("leaks"), payload);
  t.equal(of(ping).title, "A test: leaks");
  t.match(of(failed), { title: "Not evaluated: leaks", problem: "fix the leak" });
  t.match(of(changes), { title: "312 came, 2 went: leaks", count: 312 });
  t.match(of(commits).items[1], {
    label: "hosts/fix the leak 0000000000",
    url: /^https:\/\/code\.example\.org\/hosts\/r\/-\/commit\/1/,
    text: "fix the leak (fix the leak)",
  });
  t.equal(of({ ...commits, repositories: [{ id: 1, came: 1, went: 0, moved: 0 }] }).title, "1 new commit: leaks");
  const slack = toMessage({ ...notification, format: "SLACK" }, header("leaks"), commits, () => "r").body.toString();
  t.match(slack, /and 302 more/);
  t.match(slack, /<https:\/\/code\.example\.org\/search\?q=leaks\|All results>/);
  t.match(slack, /\/commit\/1\?a=\(b\)%7C%3Cc%3E\|hosts/, "nothing in a URL ends the link");
  const discord = toMessage(
    { ...notification, format: "DISCORD" },
    header("leaks"),
    commits,
    () => "r",
  ).body.toString();
  t.match(discord, /\/commit\/1\?a=%28b%29/);
});

const mailOptions = (server: MailServer, options: Partial<MailOptions> = {}): MailOptions => ({
  host: "localhost",
  port: server.port,
  security: "starttls",
  user: "",
  password: "",
  authorities: server.certificatePath,
  from: "trawl@example.org",
  recipients: ["@example.org", "one@other.example"],
  ...options,
});

t.test("mail is sent encrypted, with the password of a file, and says what it is", async (t) => {
  const server = await MailServer.start(t, { password: "open sesame" });
  const passwordFile = join(t.testdir({ secret: "open sesame\n" }), "secret");
  const credentials = { user: "trawl", password: `file:${passwordFile}` };
  const [, , , commits] = payloads(hostileText) as [StoredPayload, StoredPayload, StoredPayload, StoredPayload];
  const mail = {
    id: "7-1-abc",
    event: "search.commits",
    to: "team@example.org",
    announcement: announce(header("leaks\r\nBcc: victim@example.org\r\n\r\nforged"), commits),
  };
  const never = new AbortController().signal;
  const send = (options: Partial<MailOptions>, one = mail) =>
    new MailSender(mailOptions(server, { ...credentials, ...options })).send(one, never);
  t.same(await send({}), { status: 250, error: "" });
  const [got] = server.received;
  t.match(got, { isEncrypted: true, user: "trawl", from: "trawl@example.org", to: ["team@example.org"] });
  const [head = "", ...body] = (got?.text ?? "").split("\n\n");
  t.match(head, /^Subject: \[Trawl\] 312 new commits, 2 went|^Subject: \[Trawl\] 312 new commits: leaks Bcc/m);
  t.notMatch(head, /^Bcc:/im, "a line end in a description begins no header");
  t.match(head, /^Message-ID: <7-1-abc@example\.org>$/im);
  t.match(head, /^Auto-Submitted: auto-generated$/im);
  t.match(head, /^Content-Type: text\/plain/im, "nothing is HTML");
  t.notMatch(body.join("\n\n"), /^Bcc:/m);

  // What is refused for good is not repeated; what may be accepted later is.
  server.refusals.push({ at: "recipient", code: 550, text: `no such user ${"x".repeat(2_000)}` });
  const unknown = await send({});
  t.match(unknown, { status: 550, isFinal: true, error: /answered: 550 .*no such user x+\.\.\.$/ });
  t.ok(unknown.error.length < 500);
  server.refusals.push({ at: "message", code: 452, text: "too much at the moment" });
  t.match(await send({}), { status: 452, isFinal: false, error: /452 too much/ });
  writeFileSync(passwordFile, "wrong");
  const refused = await send({});
  t.match(refused, { status: 535, isFinal: false }, "the operator may correct it");
  t.notMatch(refused.error, /wrong/);

  // Nothing is sent to a server that cannot be trusted.
  t.match(await send({ authorities: "" }), { status: undefined, detail: /self.signed certificate/ });
  const plain = await MailServer.start(t, { hasTls: false });
  t.match(await send({ port: plain.port, user: "", password: "" }), {
    error: /could not be used/,
    detail: /does not encrypt by STARTTLS/,
  });
  t.same([plain.received, server.received.length], [[], 1]);
  t.same(await send({ port: plain.port, user: "", password: "", security: "none" }), { status: 250, error: "" });
  t.match(plain.received, [{ isEncrypted: false }]);

  // A server that says nothing is given up when the daemon stops.
  const stopped = new AbortController();
  const silent = await Receiver.start(t);
  const sending = new MailSender(
    mailOptions(server, { port: Number(new URL(silent.origin).port), host: "127.0.0.1" }),
  ).send(mail, stopped.signal);
  stopped.abort();
  t.match(await sending, { status: undefined, error: /could not be used/ });
});

t.test("to whom mail may be sent, and which options are refused", async (t) => {
  const server = await MailServer.start(t);
  const good = mailOptions(server);
  const sender = new MailSender(good);
  for (const to of ["team@example.org", "mailto:Team@EXAMPLE.org", "one@other.example"])
    t.equal(sender.require(to), to.replace("mailto:", ""));
  for (const to of ["two@other.example", "a@sub.example.org", "a@example.org.evil.example"])
    t.throws(() => sender.require(to), { code: "bad-request", message: /mail\.recipients/ }, to);
  for (const to of [
    "",
    "mailto:",
    "a@example.org,b@example.org",
    "a@example.org?bcc=b@example.org",
    "a@example.org\r\nRCPT TO:<b@example.org>",
    '"a b"@example.org',
    "<a@example.org>",
    "a@example.org ",
  ])
    t.throws(() => sender.require(to), { code: "bad-request", message: /one address/ }, to);
  t.throws(() => new MailSender({ ...good, host: "" }).require("team@example.org"), { message: /mail\.host/ });
  checkMailOptions(good, true);
  checkMailOptions({ ...good, host: "", from: "" }, true);
  for (const [wrong, message] of [
    [{ from: "" }, /mail\.from/],
    [{ from: "a@b\r\nX: y" }, /mail\.from/],
    [{ user: "a" }, /mail\.password/],
    [{ user: "a", password: "hunter2" }, /file:\/ABSOLUTE/],
    [{ user: "a", password: "file:/nowhere", security: "none" }, /mail\.security/],
    [{ user: "a", password: "file:/nowhere" }, /cannot read/],
    [{ authorities: "/nowhere" }, /mail\.authorities/],
    [{ recipients: ["example.org"] }, /mail\.recipients/],
    [{ recipients: ["*"] }, /mail\.recipients/],
  ] as const)
    t.throws(() => checkMailOptions({ ...good, ...wrong }, true), { code: "bad-config", message });
  checkMailOptions({ ...good, user: "a", password: "file:/nowhere" }, false);
});
