import { execFile } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { availableParallelism, totalmem } from "node:os";
import { promisify } from "node:util";
import { errorMessage } from "../../base/errors.js";
import { loadBinding } from "../../http/server/uws-binding.js";
import { findCtags } from "../../indexer/symbols/ctags-program.js";
import { loadKernel } from "../../native/kernel/load.js";
import { queryData } from "../api/run-api.js";
import { type Connection, resolveConnection, type TypedConnection } from "../connection/connection.js";

/** What a check found. `remedy` is a sentence, undefined if nothing is to be done. */
export interface Finding {
  readonly name: string;
  /** `bad` prevents something that most installations need; `warning` may be as intended. */
  readonly state: "good" | "warning" | "bad";
  readonly text: string;
  readonly remedy?: string;
}

export function good(name: string, text: string): Finding {
  return { name, state: "good", text };
}

export function warning(name: string, text: string, remedy: string): Finding {
  return { name, state: "warning", text, remedy };
}

export function bad(name: string, text: string, remedy: string): Finding {
  return { name, state: "bad", text, remedy };
}

const probeMs = 10_000;

/** The least that the packaged unit sets; see docs/installation.md. */
const mapCountMin = 262_144;
const openFilesMin = 65_536;
const memoryBytesMin = 1024 * 1024 * 1024;

/** The programs, libraries and limits of this host. */
export async function checkHost(ctagsCommand: string): Promise<readonly Finding[]> {
  return [
    good("node", `${process.versions.node} on ${process.platform} ${process.arch}`),
    checkLibraries(),
    checkKernel(),
    await checkProgram("git", ["--version"], "Install git 2.39 or later: nothing can be fetched without it.", bad),
    await checkProgram("ssh", ["-V"], "Install openssh-client, if repositories have ssh URLs.", warning),
    await checkCtags(ctagsCommand),
    checkCertificates(),
    checkMemory(),
    checkLimit(
      "memory maps",
      readNumber("/proc/sys/vm/max_map_count", /^(\d+)/),
      mapCountMin,
      "sysctl vm.max_map_count",
    ),
    checkLimit("open files", readNumber("/proc/self/limits", /^Max open files +(\d+)/m), openFilesMin, "ulimit -n"),
  ];
}

async function checkProgram(name: string, args: string[], remedy: string, state: typeof bad): Promise<Finding> {
  try {
    const { stdout, stderr } = await promisify(execFile)(name, args, { timeout: probeMs, killSignal: "SIGKILL" });
    return good(name, (stdout + stderr).trim().split("\n", 1)[0] ?? "");
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === "ENOENT";
    return state(name, isMissing ? "is not installed" : errorMessage(error), remedy);
  }
}

async function checkCtags(command: string): Promise<Finding> {
  const found = await findCtags(command);
  if ("reason" in found) return warning("ctags", found.reason, "Without it, searches for symbols find nothing.");
  return good("ctags", `${found.version}, ${found.parsers.size} languages`);
}

function checkLibraries(): Finding {
  try {
    loadBinding();
    return good("libraries", "uWebSockets.js can be loaded");
  } catch (error) {
    return bad("libraries", errorMessage(error), "Run `make build`, or install the package for this release of Node.");
  }
}

function checkKernel(): Finding {
  try {
    loadKernel("native");
    return good("addon", "the native addon can be loaded");
  } catch (error) {
    return bad(
      "addon",
      errorMessage(error),
      'Run `make build`; with "kernel": "ts" the daemon runs without it, slower.',
    );
  }
}

function checkCertificates(): Finding {
  const path = "/etc/ssl/certs/ca-certificates.crt";
  if (existsSync(path)) return good("certificates", path);
  return warning("certificates", `${path} does not exist`, "Install ca-certificates, if repositories have https URLs.");
}

function checkMemory(): Finding {
  const text = `${(totalmem() / 2 ** 30).toFixed(1)} GiB, ${availableParallelism()} processors`;
  if (totalmem() >= memoryBytesMin) return good("memory", text);
  return warning("memory", text, "The daemon needs 1 GiB for itself, and the text to search should fit beside it.");
}

function checkLimit(name: string, value: number | undefined, min: number, setting: string): Finding {
  if (value === undefined) return warning(name, "the limit is unknown", `See ${setting}.`);
  if (value >= min) return good(name, `at most ${value}`);
  return warning(name, `at most ${value}`, `Large installations need ${min}: raise ${setting}.`);
}

function readNumber(path: string, pattern: RegExp): number | undefined {
  try {
    const found = pattern.exec(readFileSync(path, "utf8"))?.[1];
    return found === undefined ? undefined : Number(found);
  } catch {
    return undefined;
  }
}

interface SiteData {
  readonly currentUser: { readonly username: string } | null;
  readonly site: { readonly productVersion: string };
}

/** Whether only the owner can read the stored tokens, as `trawl login` writes them. */
export function checkTokenFile(path: string): readonly Finding[] {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
  if ((mode & 0o077) === 0) return [];
  return [warning("tokens", `others can read the access tokens in ${path}`, `Run \`chmod 600 ${path}\`.`)];
}

/** The endpoint that `trawl search` uses, and its token. */
export async function checkClient(typed: TypedConnection): Promise<readonly Finding[]> {
  let connection: Connection;
  try {
    connection = resolveConnection(typed);
  } catch (error) {
    return [bad("endpoint", errorMessage(error), "Correct the option, the variable or the file.")];
  }
  try {
    const request = { query: "{ currentUser { username } site { productVersion } }", variables: {} };
    const { currentUser } = await queryData<SiteData>(connection, request);
    const who = currentUser === null ? "without a token" : `signed in as ${currentUser.username}`;
    return [good("endpoint", `${connection.endpoint} answers, ${who}`)];
  } catch (error) {
    return [warning("endpoint", errorMessage(error), "`trawl search` cannot be used with this address and token.")];
  }
}
