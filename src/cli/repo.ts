import { absoluteUrl } from "../daemon/repository-url.js";
import type { RepositoryStatus } from "../model/repository-status.js";
import { callDaemon } from "./control-client.js";

/** The `trawl repo` commands: each asks the daemon that runs with this data directory, and prints what it says. */
export class RepoCommands {
  readonly #dataDirectory: string;
  readonly #print: (line: string) => void;

  constructor(dataDirectory: string, print: (line: string) => void) {
    this.#dataDirectory = dataDirectory;
    this.#print = print;
  }

  /** A relative path is one of this directory, not of the daemon's. */
  async add(name: string, url: string, branches: readonly string[]): Promise<void> {
    const body = { name, url: absoluteUrl(url, process.cwd()), branches };
    this.#printStatus(await this.#call("POST", "/.api/repos", body) as RepositoryStatus);
  }

  async list(json: boolean): Promise<void> {
    const repositories = await this.#call("GET", "/.api/repos", undefined) as RepositoryStatus[];
    for (const status of repositories) {
      if (json) this.#print(JSON.stringify(status));
      else this.#printStatus(status);
    }
  }

  async remove(name: string): Promise<void> {
    await this.#call("DELETE", `/.api/repos/${encodeURIComponent(name)}`, undefined);
    this.#print(`removed ${name}`);
  }

  /** One repository, or all of them; resolves when what was fetched can be searched. */
  async sync(name: string | undefined): Promise<void> {
    if (name === undefined) {
      for (const status of await this.#call("POST", "/.api/sync", undefined) as RepositoryStatus[]) this.#printStatus(status);
      return;
    }
    const path = `/.api/repos/${encodeURIComponent(name)}/sync`;
    this.#printStatus(await this.#call("POST", path, undefined) as RepositoryStatus);
  }

  #call(method: "GET" | "POST" | "DELETE", path: string, body: unknown): Promise<unknown> {
    return callDaemon(this.#dataDirectory, { method, path, body, progress: (line) => this.#print(String(line)) });
  }

  #printStatus(status: RepositoryStatus): void {
    const megabytes = (status.contentBytes / 1e6).toFixed(1);
    const fields = [status.name, status.state, `${status.documentCount} documents`, `${megabytes} MB`, status.url];
    if (status.activity !== "") fields.push(status.activity);
    if (status.error !== "") fields.push(`error: ${status.error}`);
    this.#print(fields.join("  "));
  }
}
