import { lookup } from "node:dns/promises";
import { constants } from "node:fs";
import { open, readlink, realpath, stat } from "node:fs/promises";
import { isIP, type LookupFunction } from "node:net";
import { basename, dirname, join, resolve, sep } from "node:path";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { isPublicAddress, Networks, checkedLookup } from "../../base/networks.js";
import { proxyFor } from "../../base/proxies.js";
import { unquote } from "../attributes/attribute-file.js";
import type { RemoteSource } from "../../model/repository.js";
import { hostOfRemote, type HttpUrl, plainHost, type RemoteUrl, type SshUrl } from "../run/remote-url.js";
import { findGitDirectory } from "./work-tree.js";

/** A file that leads to another directory has one line, or a few with alternates. */
const pointerBytesMax = 64 * 1024;

/**
 * Where repositories may be fetched from. What code hosts, lists on the web and site admins write is not the operator's: it
 * could name another mirror, which may be private, or a service that only this machine reaches (server-side request
 * forgery). Such a remote
 *
 * - is reached by https, http or ssh, and is no path;
 * - is at a host that its source may name: that of the connection, or one that the operator has configured for it;
 * - if the source may name any host, has only public addresses, or those in `git.networks`;
 * - is not redirected to another host.
 *
 * What the operator has written in the configuration, in a file or on the command line may be any place, except in the data
 * directory, whose mirrors have readers of their own. Remotes are checked when they are listed or added, and again at each
 * fetch, because names and links may lead elsewhere by then.
 */
export class RemoteRules {
  readonly #dataFolder: string;
  readonly #networks: Networks;

  /** Throws `bad-config` for a network that is none. */
  constructor(dataFolder: string, networks: readonly string[]) {
    this.#dataFolder = dataFolder;
    this.#networks = new Networks(networks, "git.networks");
  }

  /** Rejects with `forbidden` if the remote is at a place that its source may not name. Resolves no names. */
  async require(remote: RemoteUrl, source: RemoteSource | undefined): Promise<void> {
    if (remote.kind === "local") {
      if (source?.hosts !== undefined)
        throw refused(remote, "it is a path on this machine; only https, http and ssh are allowed");
      if (await leadsInto(remote.path, this.#dataFolder)) throw refused(remote, "it is in the data directory");
      return;
    }
    const { hosts } = source ?? {};
    const host = hostOfRemote(remote);
    if (hosts === undefined || hosts.includes(host)) return;
    if (!hosts.includes("*"))
      throw refused(
        remote,
        `its host is not that of connection ${source?.connection} (${hosts.join(", ")}): if it is right, put ${JSON.stringify(host)} in hosts of the connection`,
      );
    const address = host === "localhost" || host.endsWith(".localhost") ? "127.0.0.1" : host;
    if (isIP(address) !== 0) this.#requireOpen(remote, host, address);
  }

  /**
   * Like `require`, before a fetch: also resolves the name of the host if its addresses matter. Returns them as
   * `HOST:PORT:ADDRESS,…`, so that git connects to the addresses that were checked; empty if any will do.
   */
  async requireForFetch(remote: RemoteUrl, source: RemoteSource | undefined): Promise<readonly string[]> {
    await this.require(remote, source);
    if (remote.kind === "local" || source?.hosts === undefined) return [];
    const host = hostOfRemote(remote);
    // A proxy resolves names itself, in its own network.
    const isProxied = remote.kind === "http" && proxyFor(new URL(remote.text), process.env) !== undefined;
    if (source.hosts.includes(host) || isIP(host) !== 0 || isProxied) return [];
    if (!/^[a-z0-9._-]+$/.test(host)) throw refused(remote, "its host has characters that names of hosts do not have");
    const addresses = await resolveHost(host);
    for (const address of addresses) this.#requireOpen(remote, host, address);
    return [`${host}:${findPort(remote)}:${addresses.join(",")}`];
  }

  /**
   * Throws `forbidden` if no request may go to a place that the server of a remote has named, as one of Git LFS does: such a place is
   * at the host of the remote or of its source, or has a public address, or one in `git.networks`. A remote by https names none by http.
   * Returns the lookup by which its name must be resolved; undefined if its addresses do not matter.
   */
  admitOther(url: URL, remote: HttpUrl, source: RemoteSource | undefined): LookupFunction | undefined {
    const host = plainHost(url.hostname);
    const refuse = (reason: string): never => {
      throw new TrawlError(
        "forbidden",
        `the server of ${remote.text} names ${url.host}, where nothing is fetched: ${reason}`,
      );
    };
    if (remote.scheme === "https" && url.protocol !== "https:") refuse("it is not reached by https");
    const isOwn = host === hostOfRemote(remote) && (url.origin === remote.origin || url.protocol === "https:");
    if ((isOwn && source?.hosts?.includes("*") !== true) || source?.hosts?.includes(host) === true) return undefined;
    const refusal = (_: string, address: string): string | undefined =>
      isPublicAddress(address) || this.#networks.has(address)
        ? undefined
        : `the address of ${host} (${address}) is not public: the operator has to list it in git.networks`;
    const address = host === "localhost" || host.endsWith(".localhost") ? "127.0.0.1" : host;
    if (isIP(address) === 0) return checkedLookup(refusal);
    const reason = refusal(host, address);
    return reason === undefined ? undefined : refuse(reason);
  }

  #requireOpen(remote: SshUrl | HttpUrl, host: string, address: string): void {
    if (isPublicAddress(address) || this.#networks.has(address)) return;
    const shown = host === address ? host : `${host} (${address})`;
    throw refused(remote, `the address of ${shown} is not public: the operator has to list it in git.networks`);
  }
}

function refused({ text }: RemoteUrl, reason: string): TrawlError {
  return new TrawlError("forbidden", `${text} may not be fetched: ${reason}`);
}

async function resolveHost(host: string): Promise<readonly string[]> {
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch (cause) {
    throw new TrawlError(
      "git",
      `the host name ${host} cannot be resolved: check its spelling, and the DNS configuration of this machine (${errorMessage(cause)})`,
      { cause },
    );
  }
}

function findPort(remote: SshUrl | HttpUrl): string {
  if (remote.kind === "http") return new URL(remote.text).port || (remote.scheme === "https" ? "443" : "80");
  // `user@host:path` has no port.
  return (remote.text.startsWith("ssh://") && new URL(remote.text).port) || "22";
}

/** Whether git would read something in `folder` when it is given this path. */
async function leadsInto(path: string, folder: string): Promise<boolean> {
  const root = await followLinks(folder);
  const below = root.endsWith(sep) ? root : root + sep;
  for await (const real of findPlaces(path)) if (real === root || real.startsWith(below)) return true;
  return false;
}

/** As many as git follows from one another. */
const alternatesDepthMax = 5;
const placesMax = 10_000;

/**
 * The places, without links, that git reads when it is given this path: the path itself, one of the endings that git
 * appends, and what a `.git` file, `commondir`, a link or `alternates` leads to. Throws `forbidden` if there are too many.
 */
export async function* findPlaces(path: string): AsyncGenerator<string> {
  const seen = new Set<string>();
  const isNew = (place: string): boolean => {
    if (seen.has(place)) return false;
    if (seen.add(place).size > placesMax)
      throw new TrawlError("forbidden", `${path} may not be fetched: it leads to more than ${placesMax} places`);
    return true;
  };
  async function* objectFolders(folder: string, depth: number): AsyncGenerator<string> {
    const real = await followLinks(folder);
    if (!isNew(real)) return;
    yield real;
    // What would be in it, would be below the same place.
    if (!(await exists(real))) return;
    for (const name of ["pack", "info"]) yield await followLinks(join(folder, name));
    // What is deeper, git does not read.
    for (const line of await readLines(join(folder, "info", "alternates")))
      if (depth < alternatesDepthMax)
        for (const path of pathsInLine(line)) yield* objectFolders(resolve(real, path), depth + 1);
  }
  for (const start of [path, join(path, ".git"), `${path}.git`, join(`${path}.git`, ".git")]) {
    // Also what is not there: a mirror may be made at any time.
    yield await followLinks(start);
    if (!(await exists(start))) continue;
    const found = await findGitDirectory(start, dirname(start)).catch((error: unknown) => {
      if (error instanceof TrawlError) throw error;
      return undefined;
    });
    for (const one of found === undefined ? [start] : new Set([found.directory, found.common])) {
      yield one;
      for (const name of ["refs", "packed-refs", "HEAD"]) yield await followLinks(join(one, name));
      yield* objectFolders(join(one, "objects"), 0);
    }
  }
}

/** A line of alternates, and the path that it is if it is in quotes. */
function pathsInLine(line: string): readonly string[] {
  const quoted = line.startsWith('"') ? unquote(line, 0) : undefined;
  return quoted === undefined ? [line] : [line, Buffer.from(quoted.text, "latin1").toString()];
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}

/** As many links as Linux follows in one path. */
const linksMax = 40;

/** What git reads of a mirror, such as `mirrors/1.git/objects/info/alternates`, is not deeper than this below the data directory. */
const missingFoldersMax = 8;

/**
 * With all links followed, as far as there is something that may be read: also a link may lead to what is not there yet. A path of which
 * more folders are missing stays as it is.
 */
async function followLinks(path: string): Promise<string> {
  let missing = "";
  let rest = resolve(path);
  for (let links = 0, folders = 0; links <= linksMax && folders <= missingFoldersMax; ) {
    const real = await realpath(rest).catch(() => undefined);
    if (real !== undefined) return join(real, missing);
    const target = await readlink(rest).catch(() => undefined);
    const folder = dirname(rest);
    if (target !== undefined) {
      rest = resolve(folder, target);
      links++;
    } else {
      missing = join(basename(rest), missing);
      rest = folder;
      folders++;
    }
  }
  return resolve(path);
}

/** The lines of a small file; none if it cannot be read. */
async function readLines(path: string): Promise<readonly string[]> {
  try {
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) return [];
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(pointerBytesMax) });
      return buffer
        .toString("utf8", 0, bytesRead)
        .split("\n")
        .filter((line) => line !== "");
    } finally {
      await file.close();
    }
  } catch {
    return [];
  }
}
