import t from "tap";
import { TrawlError } from "../../../src/base/errors.js";
import { parseRemoteUrl, redactUrl } from "../../../src/git/mirror/remote-url.js";

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
