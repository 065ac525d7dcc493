/**
 * `make fleet-demo`: from nothing to three nodes with one index, a search, a killed node, and a complete answer; what happens is on the terminal.
 * Needs Debian's PostgreSQL; the bucket is that of versitygw if it is installed, and else one of this process.
 */
import { execFileSync, spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PostgresServer, withoutPostgres } from "../support/postgres.js";
import { freePorts } from "../support/fleet-site.js";
import { removeFolder } from "../support/remove-folder.js";
import { S3Server } from "../support/s3-server.js";
import { until } from "../support/waiting.js";

const trawl = fileURLToPath(new URL("../../../bin/trawl", import.meta.url));
const checkout = fileURLToPath(new URL("../../..", import.meta.url));
const leaseSeconds = 5;
const folder = mkdtempSync(join(tmpdir(), "trawl-demo-"));
const ends: (() => unknown)[] = [() => removeFolder(folder)];

const say = (text: string): void => void process.stdout.write(`\n# ${text}\n`);

/** Runs a command and shows it with its output. */
function show(...args: readonly string[]): string {
  process.stdout.write(`$ trawl ${args.join(" ")}\n`);
  const { stdout, stderr, status } = spawnSync(trawl, args, { encoding: "utf8" });
  process.stdout.write(stdout + stderr);
  if (status !== 0) throw new RangeError(`it ended with ${String(status)}`);
  return stdout;
}

/** A bucket, and where its key is. */
async function startBucket(): Promise<{ readonly objects: string; readonly objectsCredential: string }> {
  const key = join(folder, "key");
  const hasGateway = spawnSync("versitygw", ["--version"], { stdio: "ignore" }).status === 0;
  if (!hasGateway) {
    say(
      "versitygw is not installed (go install github.com/versity/versitygw/cmd/versitygw@v1.8.0): a bucket of this process",
    );
    const server = await S3Server.start();
    ends.push(() => server.stop());
    writeFileSync(key, server.credential);
    return { objects: server.url, objectsCredential: `file:${key}` };
  }
  const root = join(folder, "buckets");
  mkdirSync(join(root, "trawl"), { recursive: true });
  writeFileSync(key, "demo:demo-secret\n");
  const [port = 0] = await freePorts(1);
  const gateway = spawn("versitygw", ["--port", `127.0.0.1:${port}`, "--quiet", "posix", "--nometa", root], {
    env: { ...process.env, ROOT_ACCESS_KEY: "demo", ROOT_SECRET_KEY: "demo-secret" },
    stdio: "ignore",
  });
  ends.push(() => gateway.kill());
  const isUp = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/`).then(
      () => true,
      () => false,
    );
  await until("versitygw answers", isUp);
  return { objects: `http://127.0.0.1:${port}/trawl/demo`, objectsCredential: `file:${key}` };
}

interface Node {
  readonly name: string;
  readonly config: string;
  url: string;
  child: ChildProcess | undefined;
}

async function start(node: Node): Promise<void> {
  const child = spawn(trawl, ["serve", "--config", node.config], { stdio: ["ignore", "pipe", "pipe"] });
  node.child = child;
  ends.push(() => child.kill("SIGKILL"));
  createInterface(child.stderr).on("line", (line) => {
    const { msg = line, error } = JSON.parse(line) as { readonly msg?: string; readonly error?: string };
    process.stdout.write(`  ${node.name}: ${msg}${error === undefined ? "" : ` (${error})`}\n`);
  });
  node.url = await new Promise((resolve) => {
    createInterface(child.stdout).on("line", (line) => {
      const url = /^trawld: listening on (.*)$/.exec(line)?.[1];
      if (url !== undefined) resolve(url);
    });
  });
}

async function found(node: Node, text: string): Promise<boolean> {
  const answer = await fetch(`${node.url}/.api/search/stream?q=${encodeURIComponent(text)}&t=literal`);
  return (await answer.text()).includes('"type":"content"');
}

async function demo(): Promise<void> {
  say("A database, a bucket, and a repository with the files of this checkout");
  const postgres = await PostgresServer.start();
  ends.push(() => postgres.remove());
  const bucket = await startBucket();
  const source = join(folder, "source");
  mkdirSync(source);
  execFileSync("sh", ["-c", `git -C '${checkout}' archive HEAD | tar -x -C '${source}'`]);
  const git = (...args: readonly string[]): unknown =>
    execFileSync("git", ["-C", source, "-c", "user.name=demo", "-c", "user.email=demo@example.org", ...args]);
  git("init", "-q", "-b", "main");
  git("add", "-A");
  git("commit", "-qm", "what is in this checkout");
  const nodes: readonly Node[] = ["a", "b", "c"].map((name) => {
    const config = join(folder, `${name}.jsonc`);
    const database = `postgresql:///postgres?host=${postgres.folder}&user=trawl`;
    const fleet = { node: name, id: "demo", database, ...bucket, leaseSeconds };
    const repositories = [{ name: "example.org/trawl", url: `file://${source}` }];
    const content = { listen: "127.0.0.1:0", data: join(folder, `data-${name}`), fleet, repositories };
    writeFileSync(config, JSON.stringify(content, undefined, 2));
    return { name, config, url: "", child: undefined };
  });
  const [first] = nodes;
  say("The fleet is made, and three nodes join");
  show("fleet", "init", "--config", first.config);
  for (const { config } of nodes) show("fleet", "join", "--config", config);
  say("They start: one fetches and indexes, the others follow");
  for (const node of nodes) await start(node);
  for (const node of nodes)
    await until(`${node.name} finds something`, () => found(node, "SharedManifest"), 600_000, 200);
  show("fleet", "status", "--config", first.config);
  say("Each answers");
  for (const { url } of nodes) show("search", "--endpoint", url, "the manifest of one partition count:3");

  const { owner } = JSON.parse(show("fleet", "status", "--json", "--config", first.config)) as {
    readonly owner: string;
  };
  const killed = nodes.find(({ name }) => name === owner) ?? first;
  say(`A commit is made, and ${killed.name}, which would have indexed it, is killed`);
  writeFileSync(join(source, "demo.txt"), "a needle in the haystack\n");
  git("add", "demo.txt");
  git("commit", "-qm", "a needle");
  killed.child?.kill("SIGKILL");
  const killedMs = performance.now();
  const rest = nodes.filter((node) => node !== killed);
  for (const node of rest)
    await until(`${node.name} finds the commit`, () => found(node, "a needle in the"), 600_000, 50);
  const seconds = ((performance.now() - killedMs) / 1000).toFixed(1);
  say(
    `The others find it, ${seconds} s after the kill (the lease is ${leaseSeconds} s, and the next one had to clone)`,
  );
  for (const { url } of rest) show("search", "--endpoint", url, "a needle in the");
  say(`${killed.name} comes back, and follows`);
  await start(killed);
  await until("it finds the commit", () => found(killed, "a needle in the"), 600_000, 100);
  show("fleet", "status", "--config", first.config);
}

try {
  if (withoutPostgres !== false) throw new RangeError(withoutPostgres);
  await demo();
} catch (error) {
  process.stderr.write(`${String(error)}\n`);
  process.exitCode = 1;
} finally {
  for (const end of ends.reverse()) await end();
}
process.exit();
