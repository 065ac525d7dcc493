import { TrawlError } from "../../base/errors.js";
import { lowSpeedBytesPerSecond } from "../mirror/fetch-watch.js";
import type { RemoteUrl } from "../mirror/remote-url.js";

/**
 * How the operator lets `git` reach remotes. Nothing of it applies to reading a mirror.
 *
 * ssh keys need no setting: ssh looks for them in the home directory of the account, whatever `HOME` says.
 */
export interface RemoteAccess {
  /** `HOME` for network commands: where libcurl finds `.netrc` and a credential helper its store. Null: none. */
  readonly home: string | null;
  /** What git runs in place of `ssh` (`core.sshCommand`). Null: `ssh` in batch mode, with a connect timeout. */
  readonly sshCommand: string | null;
  /** git's `credential.helper` for http(s), such as `store`. Null: none. */
  readonly credentialHelper: string | null;
  /** Whether an http(s) remote may redirect the first request elsewhere, which may be a host of the inner network. */
  readonly followRedirects: boolean;
}

/** The strictest access: the account's ssh keys, no stored passwords, no redirects. */
export const strictRemoteAccess: RemoteAccess = {
  home: null,
  sshCommand: null,
  credentialHelper: null,
  followRedirects: false,
};

/**
 * Keepalives end a silent connection after a minute. No control socket: the master process that ssh would leave
 * behind holds our pipes open.
 */
const defaultSshCommand =
  "ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 -o ControlPath=none";

/** An http(s) transfer slower than `lowSpeedBytesPerSecond` for this many seconds is given up. */
const lowSpeedSeconds = 60;

/** What git keeps of the objects that deltas build on, where `blobEnvironment` says so; 96 MiB otherwise. */
export const deltaBaseCacheBytes = 32 << 20;

const noHome = "/nonexistent";

/** The operator's proxies, certificates and ssh agent; passed on to network commands only. */
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
 * Configuration of every command. It travels in the environment, where it outranks the configuration of the
 * repository and stays out of the process list.
 */
const fixedConfig: readonly ConfigEntry[] = [
  ["core.hooksPath", "/dev/null"],
  ["core.fsmonitor", "false"],
  ["core.askPass", "true"],
  ["core.attributesFile", "/dev/null"],
  ["core.excludesFile", "/dev/null"],
  ["core.alternateRefsCommand", "true"],
  // The default syncs packs only: a power loss may then tear refs, and loose objects that they name.
  ["core.fsync", "committed"],
  // A blob beyond this size is streamed rather than held in git's memory, where the object store permits it.
  ["core.bigFileThreshold", "16m"],
  // Each thread of index-pack has a cache of 96 MiB; without this git starts one for each core, up to 20.
  ["pack.threads", "2"],
  ["gc.auto", "0"],
  ["maintenance.auto", "false"],
  ["protocol.version", "2"],
  ["submodule.recurse", "false"],
  ["fetch.recurseSubmodules", "false"],
];

/**
 * The environment of a command that reads or maintains a mirror: no transport is allowed, no configuration but ours
 * is read, nothing asks a question. The mirror is named by `--git-dir`, for which git does not ask who owns it.
 */
export function localEnvironment(): Record<string, string> {
  return { ...fixedVariables(""), ...configVariables(fixedConfig) };
}

/**
 * The same for a command that reads blobs: each is read once, so that a small cache of what deltas build on serves as
 * well.
 */
export function blobEnvironment(): Record<string, string> {
  return {
    ...fixedVariables(""),
    ...configVariables([...fixedConfig, ["core.deltaBaseCacheLimit", `${deltaBaseCacheBytes >> 20}m`]]),
  };
}

/**
 * The environment of a command that talks to `url`: only the transport of that URL is allowed. A local source needs
 * `safeDirectoryConfig` too.
 */
export function remoteEnvironment(url: RemoteUrl, access: RemoteAccess): Record<string, string> {
  const config = [...fixedConfig];
  switch (url.kind) {
    case "local":
      return { ...fixedVariables("file"), ...configVariables(config) };
    case "ssh":
      config.push(["core.sshCommand", access.sshCommand ?? defaultSshCommand]);
      return { ...fixedVariables("ssh"), ...inherited(access), ...configVariables(config) };
    case "http":
      config.push(...httpConfig(url, access));
      return { ...fixedVariables(url.scheme), ...inherited(access), ...configVariables(config) };
  }
}

/**
 * The text of a global configuration file that makes git accept the repository at `path`, whoever owns it.
 *
 * Fetching from a path starts `git upload-pack` there, and git clears configuration in the environment for that
 * child. A global file is the one protected configuration that reaches it.
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

function httpConfig(url: RemoteUrl & { kind: "http" }, access: RemoteAccess): ConfigEntry[] {
  const config: ConfigEntry[] = [
    ["http.lowSpeedLimit", String(lowSpeedBytesPerSecond)],
    ["http.lowSpeedTime", String(lowSpeedSeconds)],
    ["http.followRedirects", access.followRedirects ? "initial" : "false"],
  ];
  if (access.credentialHelper !== null) config.push(["credential.helper", access.credentialHelper]);
  // Credentials go as a header of that one host: in the URL they would show in the process list and in messages.
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

/** The paths are free of control characters, see `parseRemoteUrl`. */
function quoteConfig(value: string): string {
  return `"${value.replace(/[\\"]/g, "\\$&")}"`;
}
