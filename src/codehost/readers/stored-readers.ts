import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isObject } from "../../base/is-object.js";
import { replaceFile } from "../../base/sync-to-disk.js";
import type { HostUser } from "./reader-sources.js";

/** What a host has said about the readers of a repository. */
export interface KnownReaders {
  readonly users: readonly HostUser[];
  /** When it was asked, in milliseconds since 1970: a date, because it is kept across restarts. */
  readonly askedAtMs: number;
}

/** The format of the file. Lists of readers are stored once, because most repositories of a team have the same ones. */
interface Stored {
  readonly host: string;
  readonly users: readonly (readonly [id: string, name: string])[];
  /** Indexes of users. */
  readonly lists: readonly (readonly number[])[];
  readonly repositories: Readonly<Record<string, readonly [askedAtMs: number, list: number]>>;
}

/** The readers of the repositories of a connection, in a file of the data directory. */
export class StoredReaders {
  readonly #path: string;
  readonly #host: string;

  constructor(folder: string, connection: string, host: string) {
    // Not a `.json`, so that no backup has it: what was true then is not after a restore.
    this.#path = join(folder, `${connection}.readers`);
    this.#host = host;
  }

  /** By repository. Empty if there is none, if it is of another host, or if the file is damaged: then the host is asked. */
  async read(): Promise<ReadonlyMap<string, KnownReaders>> {
    try {
      const value: unknown = JSON.parse(await readFile(this.#path, "utf8"));
      return isObject(value) && value["host"] === this.#host ? toReaders(value as unknown as Stored) : new Map();
    } catch {
      return new Map();
    }
  }

  async write(readers: ReadonlyMap<string, KnownReaders>): Promise<void> {
    await replaceFile(this.#path, JSON.stringify(toStored(this.#host, readers)));
  }
}

function toReaders({ users, lists, repositories }: Stored): ReadonlyMap<string, KnownReaders> {
  const all = users.map(([id, name]) => ({ id, name }));
  const found = lists.map((list) => list.map((at) => all[at]));
  const isWhole = found.every((list) => list.every((user) => typeof user?.id === "string"));
  if (!isWhole) return new Map();
  return new Map(
    Object.entries(repositories).flatMap(([key, [askedAtMs, list]]) => {
      const readers = found[list];
      return readers === undefined || !Number.isFinite(askedAtMs) ? [] : [[key, { users: readers, askedAtMs }]];
    }),
  );
}

function toStored(host: string, readers: ReadonlyMap<string, KnownReaders>): Stored {
  const users = new Map<string, number>();
  const pairs: [string, string][] = [];
  const lists = new Map<readonly HostUser[], number>();
  const indexes: number[][] = [];
  const repositories: Record<string, [number, number]> = {};
  for (const [key, { users: list, askedAtMs }] of readers) {
    let at = lists.get(list);
    if (at === undefined) {
      at = indexes.push(list.map((user) => indexFor(user, users, pairs))) - 1;
      lists.set(list, at);
    }
    repositories[key] = [askedAtMs, at];
  }
  return { host, users: pairs, lists: indexes, repositories };
}

function indexFor({ id, name }: HostUser, known: Map<string, number>, pairs: [string, string][]): number {
  const key = `${id} ${name}`;
  const at = known.get(key) ?? pairs.push([id, name]) - 1;
  known.set(key, at);
  return at;
}
