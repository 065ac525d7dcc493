import { TrawlError } from "../../base/errors.js";
import { lowSpeedBytesPerSecond } from "./fetch-watch.js";
import type { RemoteUrl } from "./remote-url.js";

/**
 * The operator's settings for access to remotes. They do not apply to reading a mirror.
 *
 * ssh keys need no setting: ssh looks for them in the home directory of the account, regardless of `HOME`.
 */
export interface RemoteAccess {
  /** `HOME` for network commands: where libcurl finds `.netrc` and a credential helper its store. Null: none. */
  readonly home: string | null;
  /**
   * The command that git runs instead of `ssh` (`core.sshCommand`). Null: `ssh` in batch mode, with a connect timeout.
   */
  readonly sshCommand: string | null;
  /** git's `credential.helper` for http(s), such as `store`. Null: none. */
  readonly credentialHelper: string | null;
  /** Whether an http(s) remote may redirect the first request elsewhere, possibly to a host of the internal network. */
  readonly followRedirects: boolean;
  /** Addresses that git, or ssh for it, connects to, whatever the names resolve to then, as `HOST:PORT:ADDRESS,…`. */
  readonly resolvedHosts: readonly string[];
}

/** The strictest access: the account's ssh keys, no stored passwords, no redirects. */
export const strictRemoteAccess: RemoteAccess = {
  home: null,
  sshCommand: null,
  credentialHelper: null,
  followRedirects: false,
  resolvedHosts: [],
};

/**
 * Keepalives end a silent connection after a minute. No control socket, because the master process that ssh would leave
 * behind keeps our pipes open.
 */
const defaultSshCommand =
  "ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 -o ControlPath=none";

/** An http(s) transfer slower than `lowSpeedBytesPerSecond` for this many seconds is aborted. */
const lowSpeedSeconds = 60;

/** Size of git's cache of delta bases with `blobEnvironment`; otherwise 96 MiB. */
export const deltaBaseCacheBytes = 32 << 20;

/** A blob beyond this size is streamed rather than held in git's memory, if the object store permits it, and not compared. */
export const bigBlobBytes = 16 << 20;

const noHome = "/nonexistent";

/** The operator's proxies, certificates and ssh agent; passed to network commands only. */
const networkVariables = [
  "http_proxy",
  "https_proxy",
  "HTTPS_PROXY",
  "all_proxy",
  "ALL_PROXY",
  "no_proxy",
  "NO_PROXY",
  "GIT_SSL_CAINFO",
  "GIT_SSL_CAPATH",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  "SSH_AUTH_SOCK",
];

type ConfigEntry = readonly [key: string, value: string];

/**
 * Configuration of every command. It is passed in the environment, where it overrides the configuration of the
 * repository and is not visible in the process list.
 */
const fixedConfig: readonly ConfigEntry[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.askPass", "true"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.alternateRefsCommand", "true"],
  // By default git syncs only packs: a power loss may then corrupt refs, and the loose objects to which they point.
  ["core.fsync", "committed"],
  ["core.bigFileThreshold", `${bigBlobBytes >> 20}m`],
  // Each thread of index-pack has a cache of 96 MiB; by default git starts one per core, up to 20.
  ["pack.threads", "2"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["protocol.version", "2"],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
];

/**
 * The environment of a command that reads or maintains a mirror: no transport is allowed, only our configuration is
 * used, and there are no prompts. The mirror is specified by `--git-dir`, for which git does not check the owner.
 */
export function localEnvironment(): Record<string, string> {
  return { ...fixedVariables(""), ...configVariables(fixedConfig) };
}

/** Like `localEnvironment`, for a command that compares a work tree with an index, without what the file `excludes` names. */
export function workTreeEnvironment(index: string, excludes: string): Record<string, string> {
  const config = configVariables([...fixedConfig, ["core.excludesFile", excludes]]);
  return { ...fixedVariables(""), ...config, GIT_INDEX_FILE: index };
}

/**
 * Like `localEnvironment`, for a command that reads blobs: each is read once, so a small cache of delta bases suffices.
 */
export function blobEnvironment(): Record<string, string> {
  return {
    ...fixedVariables(""),
    ...configVariables([...fixedConfig, ["core.deltaBaseCacheLimit", `${deltaBaseCacheBytes >> 20}m`]]),
  };
}

/**
 * Like `localEnvironment`, for a command that reads a whole history. By default git keeps packs up to 8 GiB mapped, and all
 * that it has read of them counts as its memory: `diff-tree` over 6,000 commits of git's own repository took 621 MiB, and takes
 * 120 MiB with these limits, of which 48 MiB are delta bases. With 96 MiB of them it takes a tenth less processor time, but
 * 384 MiB do not suffice any more for a commit that changes a million files. Without the settings of malloc, it would return
 * most blobs to the system and get pages with zeros again, which is a quarter of its time in the system.
 */
export function historyEnvironment(): Record<string, string> {
  return { ...fixedVariables(""), ...mallocVariables, ...configVariables([...fixedConfig, ...historyConfig]) };
}

const historyConfig: readonly ConfigEntry[] = [
  ["core.packedGitWindowSize", "4m"],
  ["core.packedGitLimit", "64m"],
  ["core.deltaBaseCacheLimit", "48m"],
];

/** Of glibc; others ignore them. */
const mallocVariables = { MALLOC_MMAP_THRESHOLD_: String(32 << 20), MALLOC_TRIM_THRESHOLD_: String(64 << 20) };

/**
 * The environment of a command that contacts `url`: only the transport of that URL is allowed. A local source also
 * needs `safeDirectoryConfig`.
 */
export function remoteEnvironment(url: RemoteUrl, access: RemoteAccess): Record<string, string> {
  const config = [...fixedConfig];
  switch (url.kind) {
    case "local":
      return { ...fixedVariables("file"), ...configVariables(config) };
    case "ssh":
      config.push(["core.sshCommand", (access.sshCommand ?? defaultSshCommand) + sshAddresses(access)]);
      return { ...fixedVariables("ssh"), ...inherited(access), ...configVariables(config) };
    case "http":
      config.push(...httpConfig(url, access));
      return { ...fixedVariables(url.scheme), ...inherited(access), ...configVariables(config) };
  }
}

/**
 * The text of a global configuration file that makes git accept the repository at `path`, whoever owns it.
 *
 * Fetching from a path starts `git upload-pack` there, and git removes configuration from the environment of that
 * child. A global file is the only protected configuration that it reads.
 */
export function safeDirectoryConfig(path: string): string {
  const lines = [path, `${path}/.git`].map((directory) => `\tdirectory = ${quoteConfig(directory)}\n`);
  return `[safe]\n${lines.join("")}`;
}

function fixedVariables(allowedProtocols: string): Record<string, string> {
  const path = process.env["PATH"];
  if (path === undefined) throw new TrawlError("bad-config", "PATH is not set: git cannot be found");
  return {
    PATH: path,
    HOME: noHome,
    XDG_CONFIG_HOME: noHome,
    LC_ALL: "C",
    TZ: "UTC",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "true",
    SSH_ASKPASS_REQUIRE: "never",
    GIT_OPTIONAL_LOCKS: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    // Otherwise info/grafts of a mirror would change the parents of its commits.
    GIT_GRAFT_FILE: `${noHome}/grafts`,
    GIT_NO_LAZY_FETCH: "1",
    GIT_PROTOCOL_FROM_USER: "0",
    GIT_ALLOW_PROTOCOL: allowedProtocols,
  };
}

function inherited(access: RemoteAccess): Record<string, string> {
  const variables: Record<string, string> = access.home === null ? {} : { HOME: access.home };
  for (const name of networkVariables) {
    const value = process.env[name];
    if (value !== undefined) variables[name] = value;
  }
  return variables;
}

/**
 * Options with which ssh connects to the first address, and checks the key of the host by its name nevertheless. The command
 * is run by a shell.
 */
function sshAddresses({ resolvedHosts }: RemoteAccess): string {
  const options = resolvedHosts.map((resolved) => {
    const [host = "", port = "", ...rest] = resolved.split(":");
    const [address = ""] = rest.join(":").split(",");
    return ` -o HostName=${address} -o HostKeyAlias='${port === "22" ? host : `[${host}]:${port}`}'`;
  });
  return options.join("");
}

function httpConfig(url: RemoteUrl & { kind: "http" }, access: RemoteAccess): ConfigEntry[] {
  const config: ConfigEntry[] = [
    ["http.lowSpeedLimit", String(lowSpeedBytesPerSecond)],
    ["http.lowSpeedTime", String(lowSpeedSeconds)],
    ["http.followRedirects", access.followRedirects ? "initial" : "false"],
  ];
  for (const resolved of access.resolvedHosts) config.push(["http.curloptResolve", resolved]);
  if (access.credentialHelper !== null) config.push(["credential.helper", access.credentialHelper]);
  // Credentials are sent as a header to that host only: in the URL they would be visible in the process list and in
  // messages.
  if (url.authorization !== null) {
    config.push([`http.${url.origin}/.extraHeader`, `Authorization: ${url.authorization}`]);
  }
  return config;
}

function configVariables(entries: readonly ConfigEntry[]): Record<string, string> {
  const variables: Record<string, string> = { GIT_CONFIG_COUNT: String(entries.length) };
  for (const [index, [key, value]] of entries.entries()) {
    variables[`GIT_CONFIG_KEY_${index}`] = key;
    variables[`GIT_CONFIG_VALUE_${index}`] = value;
  }
  return variables;
}

/** Paths contain no control characters, see `parseRemoteUrl`. */
function quoteConfig(value: string): string {
  return `"${value.replace(/[\\"]/g, "\\$&")}"`;
}
