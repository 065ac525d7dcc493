import { join } from "node:path";
import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { RemoteRules } from "../../../src/git/mirror/remote-rules.js";
import { remoteEnvironment, strictRemoteAccess } from "../../../src/git/run/environment.js";
import type { RemoteSource } from "../../../src/model/repository.js";
import { parseRemoteUrl, redactUrl } from "../../../src/git/run/remote-url.js";

const accepted: readonly (readonly [name: string, text: string, kind: string, given: string])[] = [
  ["absolute path", "/srv/git/linux.git", "local", "/srv/git/linux.git"],
  ["slashes at the end", "/srv/git/linux//", "local", "/srv/git/linux"],
  ["path with a colon", "/srv/a:b", "local", "/srv/a:b"],
  ["file URL", "file:///srv/my%20repo", "local", "/srv/my repo"],
  ["file URL with localhost", "file://localhost/srv/x", "local", "/srv/x"],
  ["https", "https://example.org/a/b.git", "http", "https://example.org/a/b.git"],
  ["http with a port", "http://example.org:8080/a", "http", "http://example.org:8080/a"],
  ["token in the URL is taken out", "https://t0ken@example.org/a", "http", "https://example.org/a"],
  ["ssh", "ssh://git@example.org:2222/a/b.git", "ssh", "ssh://git@example.org:2222/a/b.git"],
  ["scp address", "git@example.org:a/b.git", "ssh", "git@example.org:a/b.git"],
  ["scp address without a user", "example.org:a/b.git", "ssh", "example.org:a/b.git"],
  ["scp address of IPv6", "git@[::1]:a/b.git", "ssh", "git@[::1]:a/b.git"],
];

const refused: readonly (readonly [name: string, text: string, reason: RegExp])[] = [
  ["empty", "", /it is empty/],
  ["relative path", "repo.git", /neither a URL/],
  ["dotted relative path", "../repo.git", /neither a URL/],
  ["ext helper", "ext::sh -c touch% /tmp/x", /remote helpers/],
  ["fd helper", "fd::17", /remote helpers/],
  ["helper before a URL", "persistent-https::https://example.org/x", /remote helpers/],
  ["ext scheme", "ext://sh", /scheme "ext" is not allowed/],
  ["git scheme", "git://example.org/x", /scheme "git" is not allowed/],
  ["ftp scheme", "ftp://example.org/x", /scheme "ftp" is not allowed/],
  ["short option", "-h", /starts with a dash/],
  ["long option", "--upload-pack=touch /tmp/x", /starts with a dash/],
  ["line feed", "https://example.org/a\nb", /control character/],
  ["NUL", "/srv/a\0b", /control character/],
  ["encoded line feed in a file URL", "file:///srv/a%0Ab", /control character/],
  ["file URL of another host", "file://example.org/srv/x", /another host/],
  ["ssh option as host", "ssh://-oProxyCommand=x/a", /start with a dash|not a valid URL/],
  ["ssh option as user", "ssh://-oProxyCommand=x@example.org/a", /start with a dash/],
  ["ssh option as scp host", "-oProxyCommand=x:a", /starts with a dash/],
  ["ssh option as scp host after a user", "git@-oProxyCommand=x:a", /start with a dash/],
  ["ssh password", "ssh://git:s3cret@example.org/a", /does not support a password/],
  ["ssh without a path", "ssh://git@example.org/", /does not name a repository/],
  ["broken encoding", "https://%zz@example.org/a", /percent-encoding|not a valid URL/],
  ["no host", "https://", /not a valid URL/],
  ["fragment", "https://example.org/a#b", /fragment/],
];

const redacted: readonly (readonly [text: string, expected: string])[] = [
  ["https://user:s3cret@example.org/a", "https://***@example.org/a"],
  ["https://s3cret@example.org/a", "https://***@example.org/a"],
  ["https://user:s3/cret@example.org/a", "https://***@example.org/a"],
  ["fatal: unable to access 'https://u:s3cret@h/a/': 401", "fatal: unable to access 'https://***@h/a/': 401"],
  ["ssh://git:s3cret@h/x and http://a:s3cret@h2/", "ssh://***@h/x and http://***@h2/"],
  ["Authorization: Basic s3cret", "Authorization: ***"],
  ["ht%2ps://user:s3cret@h/a and 2://s3cret@h", "ht%2ps://***@h/a and 2://***@h"],
  ["://s3cret@h", "://***@h"],
  ["https://example.org:8080/a@b", "https://example.org:8080/a@b"],
  ["https://example.org/a", "https://example.org/a"],
  ["git@example.org:a/b", "git@example.org:a/b"],
];

t.test("accepted", async (t) => {
  for (const [name, text, kind, given] of accepted) {
    const url = parseRemoteUrl(text);
    t.match({ kind: url.kind, text: url.text }, { kind, text: given }, name);
  }
});

t.test("rejected", async (t) => {
  for (const [name, text, reason] of refused) {
    const error = thrownBy(() => parseRemoteUrl(text));
    t.equal(error?.code, "bad-config", name);
    t.match(error?.message, reason, name);
    t.notMatch(error?.message, /s3cret/, `${name}: no password in the message`);
  }
});

t.test("credentials become a header", async (t) => {
  const header = (text: string): string | null => {
    const url = parseRemoteUrl(text);
    return url.kind === "http" ? url.authorization : null;
  };
  const basic = (text: string): string => `Basic ${Buffer.from(text).toString("base64")}`;
  t.equal(header("https://ada:p%40ss@example.org/a"), basic("ada:p@ss"));
  t.equal(header("https://t0ken@example.org/a"), basic("t0ken:"));
  t.equal(header("https://example.org/a"), null);
});

t.test("redaction", async (t) => {
  for (const [text, expected] of redacted) t.equal(redactUrl(text), expected, text);
});

function thrownBy(work: () => unknown): TrawlError | null {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof TrawlError ? error : null;
  }
}

t.test("where repositories may be fetched from that the operator has not named", async (t) => {
  const folder = t.testdir({
    data: { mirrors: { "1.git": { HEAD: "", objects: {} } } },
    "plain.git": { HEAD: "", objects: {} },
    link: t.fixture("symlink", "data/mirrors/1.git"),
    "link-to-none": t.fixture("symlink", "data/mirrors/2.git"),
    tree: { ".git": "gitdir: ../data/mirrors/1.git\n" },
    linked: { ".git": t.fixture("symlink", "../data/mirrors/1.git") },
    common: { ".git": { HEAD: "", commondir: "../../data/mirrors/1.git\n" } },
    objects: { HEAD: "", objects: t.fixture("symlink", "../data/mirrors/1.git/objects") },
    borrowed: { HEAD: "", objects: { info: { alternates: "../../data/mirrors/1.git/objects\n" } } },
    shared: { HEAD: "", objects: { info: { alternates: "../../plain.git/objects\n" } } },
    long: { HEAD: "", objects: { info: { alternates: `${"a/".repeat(30_000)}\n` } } },
  });
  const rules = new RemoteRules(join(folder, "data"), ["10.1.0.0/16"]);
  const refusal = async (url: string, source: RemoteSource | undefined): Promise<string> =>
    await rules.require(parseRemoteUrl(url), source).then(
      () => "",
      (error: unknown) => (error instanceof TrawlError && error.code === "forbidden" ? error.message : String(error)),
    );
  const own = { connection: "acme", hosts: ["git.corp", "10.0.0.5"] };
  const any = { connection: "", hosts: ["*"] };
  const operator = undefined;
  const rows: readonly (readonly [url: string, source: RemoteSource | undefined, refused: RegExp | ""])[] = [
    ["https://git.corp/a", own, ""],
    ["http://GIT.corp.:8080/a", own, ""],
    ["ssh://git@git.corp:2222/a", own, ""],
    ["git@git.corp:a", own, ""],
    ["http://10.0.0.5:3000/a", own, ""],
    ["http://0x0a000005/a", own, ""],
    ["ssh://167772165/a", own, ""],
    ["https://git.corp.evil/a", own, /connection acme \(git\.corp, 10\.0\.0\.5\): .*put "git\.corp\.evil" in hosts/],
    ["https://evil/git.corp", own, /put "evil"/],
    ["https://git.corp@evil/a", own, /put "evil"/],
    ["git@evil:git.corp/a", own, /put "evil"/],
    ["ssh://git.corp@127.0.0.1/a", own, /put "127\.0\.0\.1"/],
    ["ssh://%31%32%37.0.0.1/a", own, /put "127\.0\.0\.1"/],
    ["git@[::1]:a", own, /put "::1"/],
    [`${folder}/plain.git`, own, /path on this machine/],
    [`file://${folder}/plain.git`, own, /path on this machine/],
    ["file://localhost/etc", own, /path on this machine/],
    ["https://github.com/a/b", any, ""],
    ["git@github.com:a/b", any, ""],
    ["https://10.1.2.3/a", any, ""],
    ["https://10.2.2.3/a", any, /10\.2\.2\.3 is not public: .*git\.networks/],
    ["http://localhost:80/a", any, /not public/],
    ["http://x.localhost/a", any, /not public/],
    ["http://127.1/a", any, /not public/],
    ["http://2130706433/a", any, /not public/],
    ["ssh://0x7f.1/a", any, /not public/],
    ["git@127.0.0.1:a", any, /not public/],
    ["http://[::ffff:7f00:1]/a", any, /not public/],
    ["http://[::127.0.0.1]/a", any, /not public/],
    ["http://[fec0::1]/a", any, /not public/],
    ["http://[2002:7f00:1::]/a", any, /not public/],
    ["http://[64:ff9b::7f00:1]/a", any, /not public/],
    ["git@[fe80::1%lo]:a", any, /not public/],
    ["git@[::1]:22:a", any, /not public/],
    ["http://169.254.169.254/latest", any, /not public/],
    [`${folder}/plain.git`, any, /path on this machine/],
    ["http://127.0.0.1/a", operator, ""],
    [`${folder}/plain.git`, operator, ""],
    [`${folder}/plain`, operator, ""],
    [`${folder}/shared`, { connection: "files" }, ""],
    // Looking for each of its folders would take minutes.
    [`${folder}/long`, operator, ""],
    ...[
      "data/mirrors/1.git",
      "data/mirrors/1",
      "data/mirrors/2.git",
      "data/mirrors/2.git/objects/info/a/b",
      "link-to-none",
      "data",
      "plain.git/../data/mirrors/1.git",
      "link",
      "tree",
      "linked",
      "common",
      "objects",
      "borrowed",
    ].flatMap((path) =>
      [`${folder}/${path}`, `file://${folder}/${path}`].map((url) => [url, operator, /in the data directory/] as const),
    ),
  ];
  for (const [url, source, refused] of rows) t.match(await refusal(url, source), refused === "" ? /^$/ : refused, url);

  const addresses = (url: string, source: RemoteSource) => rules.requireForFetch(parseRemoteUrl(url), source);
  t.same(await addresses("http://git.corp/a", own), [], "the operator has named this host");
  t.same(await addresses("http://10.1.2.3/a", any), []);
  await t.rejects(addresses("http://name.invalid/a", any), { code: "git", message: /cannot be resolved/ });
  await t.rejects(addresses("ssh://name.invalid/a", any), { code: "git", message: /cannot be resolved/ });
  const open = new RemoteRules(join(folder, "data"), ["127.0.0.0/8", "::1"]);
  t.match(
    await open.requireForFetch(parseRemoteUrl("http://localhost:8080/a"), any),
    [/^localhost:8080:(127\.0\.0\.1|::1)(,|$)/],
    "git connects to what was checked",
  );
  for (const [url, options] of [
    ["ssh://git@localhost/a", /^-o HostName=(127\.0\.0\.1|::1) -o HostKeyAlias='localhost'$/],
    ["git@LOCALHOST.:a", /^-o HostName=(127\.0\.0\.1|::1) -o HostKeyAlias='localhost'$/],
    ["ssh://git@localhost:2222/a", /^-o HostName=(127\.0\.0\.1|::1) -o HostKeyAlias='\[localhost\]:2222'$/],
  ] as const) {
    const remote = parseRemoteUrl(url);
    const resolvedHosts = await open.requireForFetch(remote, any);
    const variables = remoteEnvironment(remote, { ...strictRemoteAccess, sshCommand: "ssh", resolvedHosts });
    const command = Object.values(variables).find((value) => value.startsWith("ssh ")) ?? "";
    t.match(
      command.slice("ssh ".length),
      options,
      `${url}: ssh connects to what was checked, and knows its key by name`,
    );
  }
  for (const url of ["ssh://a'b/a", "ssh://$(id)/a", "git@`id`:a"])
    await t.rejects(
      (async () => await addresses(url, any))(),
      { message: /characters that names of hosts do not have|not a valid URL/ },
      url,
    );
  t.throws(() => parseRemoteUrl("ssh://a%00b/a"), { message: /control characters/ });
  for (const dots of [".", ".."]) {
    const remote = parseRemoteUrl(`http://Localhost${dots}:8080/a`);
    t.equal(remote.text, "http://localhost:8080/a", "git looks up the name that was checked");
    t.match(await open.requireForFetch(remote, any), [/^localhost:8080:/]);
  }
});
