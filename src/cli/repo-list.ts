import { readFileSync, statSync } from "node:fs";
import { sleep } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { AddedRepositories } from "../daemon/added-repositories.js";
import { parseRepositoryList } from "../codehost/repository-list.js";
import type { RepositoryStatus } from "../model/repository-status.js";
import type { DaemonCall } from "./connection/control-client.js";
import { readInput } from "./terminal/input.js";

/** Calls the daemon; see `callDaemon`. */
export type Call = (call: Pick<DaemonCall, "method" | "path" | "body">) => Promise<unknown>;

const listBytesMax = 64 * 1024 * 1024;

/** A request has at most this many repositories, and this many bytes. */
const batchCountMax = 500;
const batchBytesMax = 512 * 1024;

const pollMs = 1_000;

/** Reads a list of repositories from a file, or from standard input if it is `-`. */
export async function readRepositoryList(file: string): Promise<readonly object[]> {
  const text = file === "-" ? await readInput(process.stdin, listBytesMax) : readFile(file);
  return parseRepositoryList(text, file, process.cwd());
}

function readFile(file: string): string {
  try {
    if (statSync(file).size > listBytesMax)
      throw new TrawlError("bad-request", `it is larger than ${listBytesMax} bytes`);
    return readFileSync(file, "utf8");
  } catch (error) {
    throw new TrawlError("bad-request", `the list ${file} cannot be read: ${errorMessage(error)}`);
  }
}

/** Sends the repositories in batches; returns what became of all of them. */
export async function addRepositories(call: Call, repositories: readonly object[]): Promise<AddedRepositories> {
  const results: AddedRepositories[] = [];
  for (const batch of divide(repositories)) {
    const body = { repositories: batch };
    results.push((await call({ method: "POST", path: "/.api/repositories", body })) as AddedRepositories);
  }
  return {
    added: results.flatMap(({ added }) => added),
    present: results.flatMap(({ present }) => present),
    refused: results.flatMap(({ refused }) => refused),
  };
}

function* divide(repositories: readonly object[]): Generator<readonly object[]> {
  let batch: object[] = [];
  let bytes = 0;
  for (const repository of repositories) {
    const size = Buffer.byteLength(JSON.stringify(repository)) + 1;
    if (batch.length === batchCountMax || (batch.length > 0 && bytes + size > batchBytesMax)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(repository);
    bytes += size;
  }
  if (batch.length > 0) yield batch;
}

/** Resolves when each of them is searchable or has failed; reports how many are left. */
export async function waitForRepositories(
  call: Call,
  names: readonly string[],
  report: (leftCount: number) => void,
): Promise<readonly RepositoryStatus[]> {
  const waited = new Set(names);
  let shown = -1;
  for (;;) {
    const all = (await call({ method: "GET", path: "/.api/repos", body: undefined })) as RepositoryStatus[];
    const statuses = all.filter(({ name }) => waited.has(name));
    const left = statuses.filter(({ state, error }) => state !== "searchable" && error === "").length;
    if (left === 0) return statuses;
    if (left !== shown) report(left);
    shown = left;
    await sleep(pollMs);
  }
}
