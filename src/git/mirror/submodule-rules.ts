import { realpath } from "node:fs/promises";
import { isIP } from "node:net";
import { sep } from "node:path";
import { TrawlError } from "../../base/errors.js";
import type { RemoteSource, SubmodulePolicy } from "../../model/repository.js";
import {
  hostOfRemote,
  type HttpUrl,
  parseRemoteUrl,
  plainHost,
  type RemoteUrl,
  type SshUrl,
} from "../run/remote-url.js";
import { findPlaces, RemoteRules } from "./remote-rules.js";

/** The options `submodules` and `submodulesFrom`. */
export interface SubmoduleOptions {
  readonly submodules: boolean;
  readonly submodulesFrom: readonly string[];
}

/** Undefined if the contents of submodules are not searchable. */
export function submodulePolicy({ submodules, submodulesFrom }: SubmoduleOptions): SubmodulePolicy | undefined {
  return submodules ? { from: submodulesFrom.map((place) => plainPlace(place) ?? place) } : undefined;
}

/** What is wrong with the options. */
export function submoduleProblems({ submodules, submodulesFrom }: SubmoduleOptions): string[] {
  const problems = submodulesFrom
    .filter((place) => plainPlace(place) === undefined)
    .map(
      (place) =>
        `submodulesFrom: ${JSON.stringify(place)} is neither a host, such as git.example.org or http://git.example.org, nor *, nor an absolute path`,
    );
  if (!submodules && submodulesFrom.length > 0) problems.push("submodulesFrom needs submodules");
  return problems;
}

/** A host as libraries understand it, perhaps after `http://` and with a port; `*` and paths as they are. Undefined if it is none of them. */
function plainPlace(place: string): string | undefined {
  if (place === "*") return place;
  if (place.startsWith(clearText)) {
    const host = plainPlace(place.slice(clearText.length));
    return host === undefined || host.includes("/") ? undefined : clearText + host;
  }
  if (place.startsWith("/")) return place.includes("\0") ? undefined : place;
  const inUrl = isIP(place) === 6 ? `[${place}]` : place;
  if (/[/@?#\\*\s]/.test(inUrl) || !URL.canParse(`ssh://${inUrl}/`)) return undefined;
  const { hostname, port } = new URL(`ssh://${inUrl}/`);
  if (hostname === "") return undefined;
  return port === "" ? plainHost(hostname) : `${plainHost(hostname)}:${port}`;
}

/** A remote of a submodule that may be fetched from. */
export interface SubmoduleRemote {
  /** With the credentials of the repository if it is of the same origin. */
  readonly remote: RemoteUrl;
  /** See `RemoteRules.requireForFetch`. */
  readonly resolvedHosts: readonly string[];
  /** Whether the operator has named its host, so that passwords that are stored for hosts may be looked up. */
  readonly isNamed: boolean;
}

/**
 * Where submodules may be fetched from. `.gitmodules` is written by whoever can commit, so its URLs are as untrusted as those that code hosts
 * list (see `RemoteRules`), and what is fetched is shown to the readers of the repository. A submodule
 *
 * - is at the host of the repository, by https or ssh, or by http if the repository is, at the port of the repository or the usual one; if
 *   somebody else than the operator has named that host, only at a public address, and without what is stored for hosts;
 * - or at a host, or below a folder, that the operator has named for submodules: by http only if it is named with `http://`;
 * - or, if the operator has named `*`, at any public address, by https, and without any credentials; with `http://*` also by http.
 *
 * The credentials of the repository go to its own origin only. With an http(s) URL of the repository, ssh to its host becomes that, so that the
 * account's keys are not used for it.
 */
export class SubmoduleRules {
  readonly #own: RemoteUrl;
  readonly #from: readonly string[];
  readonly #remotes: RemoteRules;
  readonly #source: RemoteSource | undefined;

  /** `own`: of the repository, with its credentials. `source`: who has named it. */
  constructor(
    own: RemoteUrl,
    source: RemoteSource | undefined,
    { from }: SubmodulePolicy,
    dataFolder: string,
    networks: readonly string[],
  ) {
    this.#own = own;
    this.#source = source;
    this.#from = from;
    this.#remotes = new RemoteRules(dataFolder, networks);
  }

  /** Rejects with `bad-config` for a URL that is none, `forbidden` for one that may not be fetched, `git` if its host is not found. */
  async require(url: string): Promise<SubmoduleRemote> {
    const remote = this.#withOwnTransport(parseRemoteUrl(url));
    if (remote.kind === "local") {
      await this.#requireFolder(remote.path);
      await this.#remotes.require(remote, undefined);
      return { remote, resolvedHosts: [], isNamed: true };
    }
    const isAtOwnHost = this.#isAtOwnHost(remote);
    if (isAtOwnHost && this.#isDowngrade(remote) && !this.#isListed(remote))
      throw this.#refuse(remote, "it is not reached by https or ssh, as the repository is");
    const isNamed = (isAtOwnHost && this.#isOwnHostNamed(hostOfRemote(remote))) || this.#isListed(remote);
    if (!isNamed && !isAtOwnHost && !this.#from.includes(startOfPlace(remote) + "*"))
      throw this.#refuse(remote, this.#describeStranger(remote));
    if (!isNamed && !isAtOwnHost && remote.kind === "ssh")
      throw this.#refuse(remote, "by ssh, only hosts are allowed that submodulesFrom names");
    const hosts = isNamed ? [hostOfRemote(remote)] : ["*"];
    const resolvedHosts = await this.#remotes.requireForFetch(remote, { connection: "", hosts });
    return { remote: this.#withCredentials(remote, isNamed), resolvedHosts, isNamed };
  }

  #withOwnTransport(remote: RemoteUrl): RemoteUrl {
    const own = this.#own;
    if (remote.kind !== "ssh" || own.kind !== "http" || hostOfRemote(remote) !== hostOfRemote(own)) return remote;
    const path = remote.text.startsWith("ssh://")
      ? new URL(remote.text).pathname
      : remote.text.slice(remote.text.indexOf(":", remote.text.lastIndexOf("]") + 1) + 1);
    return parseRemoteUrl(`${own.origin}/${path.replace(/^\/+/, "")}`);
  }

  #withCredentials(remote: SshUrl | HttpUrl, isNamed: boolean): RemoteUrl {
    if (remote.kind !== "http") return remote;
    if (this.#own.kind === "http" && this.#own.origin === remote.origin)
      return { ...remote, authorization: this.#own.authorization };
    return isNamed ? remote : { ...remote, authorization: null };
  }

  #isAtOwnHost(remote: SshUrl | HttpUrl): boolean {
    const own = this.#own;
    if (own.kind === "local" || hostOfRemote(own) !== hostOfRemote(remote)) return false;
    return isUsualPort(remote) || (own.kind === remote.kind && portIn(own) === portIn(remote));
  }

  /** False if whoever has named the repository may name any host with a public address. */
  #isOwnHostNamed(host: string): boolean {
    const hosts = this.#source?.hosts;
    return hosts === undefined || !hosts.includes("*") || hosts.includes(host);
  }

  /** Whether names, passwords and contents would be sent in clear text, which those of the repository are not. */
  #isDowngrade(remote: SshUrl | HttpUrl): boolean {
    const own = this.#own;
    return isClearText(remote) && !(own.kind === "http" && own.scheme === "http");
  }

  #isListed(remote: SshUrl | HttpUrl): boolean {
    const host = startOfPlace(remote) + hostOfRemote(remote);
    const port = portIn(remote) || usualPort(remote);
    return (this.#from.includes(host) && isUsualPort(remote)) || this.#from.includes(`${host}:${port}`);
  }

  #describeStranger(remote: SshUrl | HttpUrl): string {
    const host = hostOfRemote(remote);
    const isNamedOtherwise = this.#from.some(
      (place) => place === "*" || place === host || place.startsWith(`${host}:`),
    );
    return isClearText(remote) && isNamedOtherwise
      ? `by http, only places are allowed that submodulesFrom names with ${clearText}`
      : "it is neither at the repository's own host nor at one in submodulesFrom";
  }

  /** Everything that git reads there has to be in one of the folders. */
  async #requireFolder(path: string): Promise<void> {
    const real = await realpath(path).catch(() => undefined);
    if (real === undefined) throw new TrawlError("git", `there is no repository at ${path}`);
    const roots: string[] = [];
    for (const folder of this.#from) {
      if (!folder.startsWith("/")) continue;
      const root = await realpath(folder).catch(() => undefined);
      if (root !== undefined) roots.push(root.endsWith(sep) ? root : root + sep);
    }
    const isInside = (place: string): boolean => roots.some((root) => place.startsWith(root));
    if (!isInside(real))
      throw new TrawlError("forbidden", `${path} may not be fetched: it is in no folder in submodulesFrom`);
    for await (const place of findPlaces(path))
      if (!isInside(place))
        throw new TrawlError(
          "forbidden",
          `${path} may not be fetched: it leads to a place in no folder in submodulesFrom`,
        );
  }

  #refuse({ text }: RemoteUrl, reason: string): TrawlError {
    return new TrawlError("forbidden", `${text} may not be fetched: ${reason}`);
  }
}

/** What a place in the option begins with where names, passwords and contents are sent in clear text. */
const clearText = "http://";

function isClearText(remote: SshUrl | HttpUrl): boolean {
  return remote.kind === "http" && remote.scheme === "http";
}

/** With what a place of the option begins if it allows the remote. */
function startOfPlace(remote: SshUrl | HttpUrl): string {
  return isClearText(remote) ? clearText : "";
}

/** "" for the usual one. */
function portIn(remote: SshUrl | HttpUrl): string {
  if (remote.kind === "http") return new URL(remote.text).port;
  const port = remote.text.startsWith("ssh://") ? new URL(remote.text).port : "";
  return port === "22" ? "" : port;
}

function usualPort(remote: SshUrl | HttpUrl): string {
  if (remote.kind === "ssh") return "22";
  return isClearText(remote) ? "80" : "443";
}

function isUsualPort(remote: SshUrl | HttpUrl): boolean {
  return portIn(remote) === "";
}
