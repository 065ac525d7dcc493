/** A PostgreSQL server of Debian's, in a folder of its own, on a Unix socket. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { chownSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { Database, type DatabaseSettings } from "../../src/database/database.js";
import { migrate } from "../../src/database/migrations.js";
import { schema } from "../../src/database/schema.js";
import { makeCertificate } from "./certificate.js";
import { shared } from "./shared.js";
import { until } from "./waiting.js";

const debianFolder = "/usr/lib/postgresql";

/** The newest of Debian's versions that Trawl can use. */
const programs = (existsSync(debianFolder) ? readdirSync(debianFolder) : [])
  .filter((version) => Number(version) >= 15 && existsSync(join(debianFolder, version, "bin/initdb")))
  .sort((a, b) => Number(b) - Number(a))
  .map((version) => join(debianFolder, version, "bin"))[0];

/** For `t.test`: false, or why the test is skipped. */
export const withoutPostgres: string | false =
  programs === undefined ? "PostgreSQL is missing: install the Debian package postgresql-15, or a later one" : false;

/** The server refuses to run as root: then it runs as the user of Debian's package, or as nobody. */
interface Account {
  readonly uid: number;
  readonly gid: number;
}

function otherAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const lines = readFileSync("/etc/passwd", "latin1").split("\n");
  const [, , uid, gid] = (
    lines.find((line) => line.startsWith("postgres:")) ??
    lines.find((line) => line.startsWith("nobody:")) ??
    ""
  ).split(":");
  return { uid: Number(uid), gid: Number(gid) };
}

/** A server whose data nobody needs after a crash. */
export class PostgresServer {
  /** Also has the socket, whose path must be short. */
  readonly folder: string;
  readonly #account = otherAccount();
  #process: ChildProcess | undefined;
  #port = 5432;
  #listening: readonly string[] = [];

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Makes a new database, and starts its server. */
  static async start(): Promise<PostgresServer> {
    const isRoomy = existsSync("/dev/shm") && statfsSync("/dev/shm").bavail * statfsSync("/dev/shm").bsize > 2 ** 28;
    const server = new PostgresServer(mkdtempSync(join(isRoomy ? "/dev/shm" : tmpdir(), "trawl-pg-")));
    const account = server.#account;
    if (account !== undefined) chownSync(server.folder, account.uid, account.gid);
    execFileSync(
      join(programs ?? "", "initdb"),
      ["-D", server.#data, "--no-sync", "--no-instructions", "-A", "trust", "-U", "trawl", "--locale=C", "-E", "UTF8"],
      { ...account, stdio: ["ignore", "ignore", "pipe"], env: { PATH: "/usr/bin:/bin" }, cwd: "/" },
    );
    await server.run();
    return server;
  }

  get #data(): string {
    return join(this.folder, "data");
  }

  /** Lets it be reached at a port of this machine too, with a certificate for this name; resolves with PEM of its authority. */
  async listen(port: number, name: string): Promise<string> {
    await this.stop();
    const { key, certificate } = makeCertificate(this.folder, name);
    if (this.#account !== undefined) chownSync(key, this.#account.uid, this.#account.gid);
    this.#listening = [
      "listen_addresses=127.0.0.1",
      `port=${port}`,
      "ssl=on",
      `ssl_key_file=${key}`,
      `ssl_cert_file=${certificate}`,
    ];
    this.#port = port;
    await this.run();
    return readFileSync(certificate, "utf8");
  }

  get port(): number {
    return this.#port;
  }

  /** Starts the server again. */
  async run(): Promise<void> {
    const options = [
      `unix_socket_directories=${this.folder}`,
      "listen_addresses=",
      "fsync=off",
      "autovacuum=off",
      "shared_buffers=16MB",
      "max_connections=40",
      "jit=off",
      "restore_command=/bin/false",
      "logging_collector=off",
      ...this.#listening,
    ];
    // It ends with this process, however that ends.
    const args = ["--pdeathsig", "INT", join(programs ?? "", "postgres"), "-D", this.#data];
    this.#process = spawn("setpriv", [...args, ...options.flatMap((option) => ["-c", option])], {
      ...this.#account,
      stdio: "ignore",
      env: { PATH: "/usr/bin:/bin" },
      cwd: "/",
    });
    const database = this.open({ connectionsMax: 1, connectMs: 1_000 });
    await until("PostgreSQL answers", async () =>
      database.query("select 1").then(
        () => true,
        () => false,
      ),
    );
    await database.close();
  }

  /** Starts it as a server that takes over the database from another one: on the next timeline. */
  async takeOver(): Promise<void> {
    await this.stop();
    const signal = join(this.#data, "recovery.signal");
    writeFileSync(signal, "");
    if (this.#account !== undefined) chownSync(signal, this.#account.uid, this.#account.gid);
    await this.run();
  }

  async stop(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGINT");
    await ended;
  }

  /** Connections with small limits. */
  open(settings: Partial<DatabaseSettings> = {}): Database {
    return new Database(databaseSettings(this, settings));
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Settings for one server of a test. */
export function databaseSettings(server: PostgresServer, settings: Partial<DatabaseSettings> = {}): DatabaseSettings {
  return {
    address: { host: server.folder, port: server.port, database: "postgres", user: "trawl", isRemote: false },
    password: undefined,
    authority: undefined,
    schema: "trawl",
    name: "test",
    connectionsMax: 4,
    waitingMax: 100,
    connectMs: 20_000,
    statementMs: 20_000,
    answerMs: 30_000,
    seen: undefined,
    ...settings,
  };
}

/** The server of all test files in the process. */
export const testPostgres = shared(async (owner): Promise<PostgresServer> => {
  const server = await PostgresServer.start();
  owner.teardown(() => server.remove());
  return server;
});

let schemaCount = 0;

/** A schema of its own, with the tables of a fleet. */
export async function testDatabase(t: Test, settings: Partial<DatabaseSettings> = {}): Promise<Database> {
  const server = await testPostgres();
  const database = server.open({ schema: `test_${++schemaCount}`, ...settings });
  t.teardown(() => database.close());
  await migrate(database, schema);
  return database;
}
