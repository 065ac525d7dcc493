/** Secrets of remotes are in files and credentials only: never in a catalog, log, list or message. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { readSecret } from "../../../src/base/secret-source.js";
import { Catalog } from "../../../src/catalog/catalog.js";
import { resolveOptions } from "../../../src/daemon/config/config.js";
import { resolveRepository } from "../../../src/daemon/config/file-repositories.js";
import { splitSecret, withSecret } from "../../../src/git/mirror/url-secret.js";
import { parseRemoteUrl } from "../../../src/git/run/remote-url.js";
import { resultWhileYielding } from "../../../src/base/yielding.js";
import { RecordStore } from "../../../src/store/record-store.js";
import { SecretFiles } from "../../../src/store/secret-files.js";
import { dataDirectory, runCommand, testDaemon, textsOnly, type DaemonProcess } from "../../support/daemon.js";
import type { GitFixture } from "../../support/git-fixture.js";
import { fixture } from "../../support/git-mirror.js";
import { serveHttp } from "../../support/http-remote.js";
import { until } from "../../support/waiting.js";

const token = "tok-9f8e7d6c5b4a";

function source(t: Test): GitFixture {
  const made = fixture(t);
  made.commit({ branch: "main", files: { "a.txt": "needle\n" } });
  return made;
}

/** The files below a folder that contain a text. */
function filesWith(folder: string, text: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && readFileSync(join(entry.parentPath, entry.name)).includes(text))
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
}

t.test("a daemon with secrets of each source", async (t) => {
  const data = dataDirectory(t);
  const port = await serveHttp(t, source(t), () => `ada:${token}`);
  const [secretUrl, url] = [`http://ada:${token}@127.0.0.1:${port}/`, `http://127.0.0.1:${port}/`];
  const config = join(t.testdir(), "trawl.jsonc");
  writeFileSync(config, JSON.stringify({ repositories: [{ name: "host/listed", url: secretUrl }] }));
  const options = ["--config", config, ...textsOnly];
  // As an older version stored it.
  const records = new RecordStore(join(data, "catalog"));
  const catalog = new Catalog(records);
  await resultWhileYielding(catalog.load());
  const old = resolveRepository({ name: "host/old", url: secretUrl });
  await catalog.publish(() => ({ repositories: [catalog.newRepository(old, false)] }));
  await records.close();
  const daemon = await testDaemon(t, options, data);

  await t.test("secrets are removed from the catalog of an older version", async (t) => {
    t.equal((await daemon.sync("host/old")).error, "");
    t.equal((await daemon.list()).find(({ name }) => name === "host/old")?.url, url);
    t.ok(
      (await daemon.wholeLog()).some(({ msg }) => /are now stored in the folder secrets/.test(String(msg))),
      "and says so",
    );
  });
  await t.test("a token comes from a file, which is read at each fetch", (t) => checkFile(t, daemon));

  await t.test("the user and password of a URL are in a separate file, and nowhere else", async (t) => {
    await daemon.add("host/private", secretUrl);
    await until("all are there", async () => (await daemon.search("-repo:file needle")).found.length === 3);
    for (const status of await daemon.list()) t.notOk(status.url.includes(token), status.name);
    t.equal((await daemon.list()).find(({ name }) => name === "host/private")?.url, url);
    await t.rejects(daemon.add("host/private", `http://ada:other@127.0.0.1:${port}/`), /there is a repository named/);
    t.equal((await daemon.sync("host/private")).error, "", "an order that is refused changes no secret");

    const other = await serveHttp(t, source(t), () => "nobody:");
    await t.rejects(
      daemon.control("POST", "/.api/repos/host%2Fprivate/url", { url: `http://127.0.0.1:${other}/` }),
      "another host does not get it",
    );
    await daemon.control("POST", "/.api/repos/host%2Fprivate/url", { url: secretUrl });
    await daemon.stop();
    const kept = filesWith(data, token);
    t.same(
      kept.sort(),
      ["host/listed", "host/old", "host/private"]
        .map((name) => join("secrets", SecretFiles.reference(name).slice("stored:".length)))
        .sort(),
    );
    for (const path of kept) t.equal(statSync(join(data, path)).mode & 0o777, 0o600);

    const again = await testDaemon(t, options, data);
    t.equal((await again.sync("host/private")).error, "", "it is there after a restart");
    await again.remove("host/private");
    t.equal(filesWith(join(data, "secrets"), token).length, 2, "it goes with its repository");
  });
});

async function checkFile(t: Test, daemon: DaemonProcess): Promise<void> {
  const text = "tok-0a1b2c3d4e5f";
  let accepted = `git:${text}`;
  const port = await serveHttp(t, source(t), () => accepted);
  const file = join(t.testdir(), "token");
  writeFileSync(file, `${text}\n`);
  const { data } = daemon;
  const url = `http://127.0.0.1:${port}/`;
  const added = await runCommand("repo", "add", "host/file", url, "--credential", `file:${file}`, "--data", data);
  t.equal(added.exitCode, 0, added.err);
  t.equal((await daemon.search("repo:file needle")).found.length, 1);

  accepted = "ada:new:pass";
  await t.rejects(
    daemon.sync("host/file"),
    { message: /Authentication failed|credential/ },
    "the old one is good no longer",
  );
  writeFileSync(file, accepted);
  t.equal((await daemon.sync("host/file")).error, "", "a new one in the file needs no restart");

  const missing = ["--credential", "file:/nonexistent/token"];
  t.equal((await runCommand("repo", "set", "host/file", ...missing, "--data", data)).exitCode, 2);
  t.match(
    (await daemon.list()).find(({ name }) => name === "host/file")?.error,
    /^host\/file: cannot read its secret: .*\/nonexistent\/token/,
  );
  t.same(filesWith(data, accepted), []);
  t.same(filesWith(data, text), []);
}

t.test("the source of a secret", async (t) => {
  const folder = t.testdir({ token: `${token}\n`, crlf: `${token}\r\n`, empty: "\n", lines: "a\nb\n" });
  t.equal(readSecret(`file:${folder}/token`, "x"), token);
  t.equal(readSecret(`file:${folder}/crlf`, "x"), token);
  t.throws(() => readSecret("credential:token", "x"), /LoadCredential=token:PATH/);
  process.env["CREDENTIALS_DIRECTORY"] = folder;
  t.equal(readSecret("credential:token", "x"), token);
  delete process.env["CREDENTIALS_DIRECTORY"];
  for (const bad of ["", "token", "file:relative", "credential:../token", "credential:", "credential:.x"])
    t.throws(() => readSecret(bad, "x"), { code: "bad-config" }, bad);
  t.throws(() => readSecret(`file:${folder}/empty`, "x"), /is empty/);
  t.throws(() => readSecret(`file:${folder}/lines`, "x"), /more than one line/);
  t.throws(() => readSecret("file:/dev/zero", "x"), /more than 65536 bytes/);
});

t.test("the meaning of a secret", async (t) => {
  const basic = (secret: string): string => {
    const { authorization } = withSecret(parseRemoteUrl("https://host/a"), secret) as { authorization: string };
    return Buffer.from(authorization.slice("Basic ".length), "base64").toString();
  };
  t.equal(basic("tok"), "git:tok");
  t.equal(basic("ann:p:w"), "ann:p:w");
  t.same(splitSecret("https://ann:p%40w@host/a"), { url: "https://host/a", secret: "ann:p@w" });
  t.same(splitSecret("https://tok@host/a"), { url: "https://host/a", secret: "tok:" });
  for (const url of ["https://host/a", "/srv/a", "git@host:a"]) t.same(splitSecret(url), { url, secret: undefined });
});

t.test("a configuration with a secret for a remote that takes none is rejected", async (t) => {
  const resolved = (repository: object): unknown => {
    const configFile = join(t.testdir(), "trawl.jsonc");
    writeFileSync(configFile, JSON.stringify({ repositories: [{ name: "a", ...repository }] }));
    return resolveOptions({ configFile, overrides: [], repositories: [] }).repositories[0];
  };
  t.match(resolved({ url: "https://host/a", credential: "credential:a" }), { credential: "credential:a" });
  t.throws(
    () => resolved({ url: "git@host:a", credential: "credential:a" }),
    /credential applies only to http\(s\): ssh uses the keys/,
  );
  t.throws(() => resolved({ url: "/srv/a", credential: "credential:a" }), /a local repository needs none/);
  t.throws(() => resolved({ url: "https://u:p@host/a", credential: "credential:a" }), /remove one of them/);
  t.throws(
    () => resolved({ url: "https://host/a", credential: "stored:abc" }),
    /credential: must be file:\/PATH, or credential:NAME/,
  );
});
