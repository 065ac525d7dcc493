/**
 * A remote that cannot be read: the message is one line, and begins with what to do. git and ssh say the rest
 * themselves.
 */
import { chmodSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import t, { type Test } from "tap";
import { strictRemoteAccess } from "../../../src/git/run/environment.js";
import { Mirror } from "../../../src/git/mirror/mirror.js";
import { withRemedy } from "../../../src/git/run/remedy.js";
import { parseRemoteUrl } from "../../../src/git/run/remote-url.js";
import { neverStop } from "../../../src/git/run/run.js";
import { errorOf, fixture, testMirrorOptions } from "../../support/git-mirror.js";

async function failure(t: Test, url: string, sshCommand: string | null = null): Promise<string> {
  const options = { ...testMirrorOptions, access: { ...strictRemoteAccess, sshCommand } };
  const mirror = await Mirror.open(fixture(t).sibling("mirror"), parseRemoteUrl(url), options);
  return (await errorOf(mirror.sync(neverStop))).message;
}

async function serverOf(t: Test, status: number): Promise<string> {
  const server = createServer((_, response) =>
    response.writeHead(status, status === 401 ? { "WWW-Authenticate": "Basic realm=x" } : {}).end(),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => server.close());
  const address = server.address();
  return `127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`;
}

t.test("over http", async (t) => {
  const rows: readonly (readonly [status: number, remedy: string])[] = [
    [401, "requires authentication: give the repository a credential"],
    [403, "denies access: give the token the right"],
    [404, "there is no such repository"],
  ];
  for (const [status, remedy] of rows) {
    const place = await serverOf(t, status);
    const message = await failure(t, `http://${place}/a.git`);
    t.ok(
      message.startsWith(`cannot read http://${place}/a.git: `) && message.includes(remedy) && message.includes(place),
      message,
    );
    t.notMatch(message, /\n/, "one line");
  }
  const busy = await serverOf(t, 429);
  t.equal(await failure(t, `http://${busy}/a.git`), `${busy} allows no more requests for 60 s`);
  const place = await serverOf(t, 401);
  t.match(
    await failure(t, `http://ann:wrong@${place}/a.git`),
    new RegExp(`${place} rejects the user and password.*\\(git`),
  );
  t.match(await failure(t, "http://127.0.0.1:1/a.git"), /127\.0\.0\.1:1 (cannot be reached|: )|127\.0\.0\.1:1/);
  t.match(await failure(t, "http://nowhere.invalid/a.git"), /the host name nowhere\.invalid cannot be resolved/);
});

t.test("over ssh", async (t) => {
  const rows: readonly (readonly [says: string, remedy: string])[] = [
    ["Host key verification failed.", "the host key of code.example.org is not known: put it in ~/.ssh/known_hosts"],
    [
      "@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.",
      "the host key of code.example.org differs from the known one",
    ],
    ["git@code.example.org: Permission denied (publickey).", "code.example.org accepts no key of the daemon's account"],
    [
      "ssh: Could not resolve hostname code.example.org: Name or service not known",
      "the host name code.example.org cannot be resolved",
    ],
    [
      "ssh: connect to host code.example.org port 22: Connection timed out",
      "code.example.org cannot be reached from here",
    ],
    ["ERROR: Repository not found.", "there is no such repository at code.example.org"],
  ];
  for (const [says, remedy] of rows) {
    const ssh = join(t.testdir(), "ssh");
    writeFileSync(ssh, `#!/bin/sh\n[ "$1" = -G ] && exit 0\ncat >&2 <<'END'\n${says}\nEND\nexit 255\n`);
    chmodSync(ssh, 0o755);
    const message = await failure(t, "git@code.example.org:team/a.git", ssh);
    t.ok(message.startsWith(`cannot read git@code.example.org:team/a.git: ${remedy}`), message);
    t.notMatch(message, /\n/);
  }
});

t.test("a path", async (t) => {
  t.match(await failure(t, "/nonexistent/a.git"), /there is no such repository at \/nonexistent\/a\.git/);
});

t.test("an unknown error is kept, in one line", async (t) => {
  t.equal(
    withRemedy("git fetch failed: fatal: odd\n\n  odder", parseRemoteUrl("/srv/a")),
    "git fetch failed: fatal: odd; odder",
  );
  t.ok(withRemedy(`Connection refused ${"x".repeat(5000)}`, parseRemoteUrl("ssh://git@[::1]:22/a")).length < 1000);
  t.match(withRemedy("Connection refused", parseRemoteUrl("git@[::1]:a")), /^\[::1\]/);
});
