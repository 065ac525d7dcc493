import { ClientDocuments } from "../../account/sign-in/client-documents.js";
import { ProxyHeader } from "../../account/sign-in/proxy-header.js";
import { isIP } from "node:net";
import { errorMessage, TrawlError } from "../../base/errors.js";
import { Networks } from "../../base/networks.js";
import { requireOrigin } from "../../base/origin.js";
import { isHomePath } from "../../base/repository-url.js";
import { ClientAddresses } from "../../http/server/client-address.js";
import { TrustedHosts } from "../../http/access/request-check.js";
import { requireSocketPath } from "../../http/server/control-server.js";
import { checkMailOptions } from "../../notify/mail.js";
import { Receivers } from "../../notify/receivers.js";
import { toolNames } from "../../mcp/tools/all-tools.js";
import {
  readDatabaseOptions,
  readFleetIdentity,
  readFleetNodes,
  readObjectOptions,
  readReplicas,
} from "./fleet-options.js";
import type { OptionKey, OptionValues, ResolvedOptions } from "./options.js";
import { readWebhookSecrets } from "./webhook-secrets.js";

/** What is wrong with the value of an option. */
export interface OptionProblem {
  readonly key: OptionKey;
  readonly message: string;
}

/**
 * What is wrong with the values of options although each fits its row of the table: everything for which the components of the
 * daemon would refuse to start. They are asked themselves, so a file that is found good here starts. `mayReadFiles` is false
 * for the text of somebody who may not learn what is in the files that it names.
 */
export function findOptionProblems(options: OptionValues, mayReadFiles: boolean): readonly OptionProblem[] {
  const {
    auth,
    listen,
    metrics,
    data,
    externalUrl,
    trustedHosts,
    trustedOrigins,
    trustedProxies,
    notifications,
    mail,
    git,
    index,
    fleet,
  } = options;
  const checks: readonly (readonly [key: OptionKey, check: () => unknown])[] = [
    ["listen", () => requireHost(listen)],
    ["metrics.listen", () => metrics.listen === "" || requireHost(metrics.listen)],
    ["data", () => requireSocketPath(data)],
    ["externalUrl", () => new URL(externalUrl || "http://localhost")],
    ["trustedHosts", () => new TrustedHosts({ listenHost: "localhost", externalUrl: "", trustedHosts, machine: "" })],
    ["trustedOrigins", () => trustedOrigins.map((origin) => requireOrigin(origin, "trustedOrigins"))],
    ["auth.allowSignup", () => requireNoSignup(options)],
    ["auth.header", () => checkProxyHeader(options)],
    ["auth.headerProxies", () => new ProxyHeader("", auth.headerProxies)],
    ["trustedProxies", () => new ClientAddresses(trustedProxies)],
    ["notifications.origins", () => new Receivers(notifications.origins, [])],
    ["notifications.networks", () => new Receivers([], notifications.networks)],
    ["mail.host", () => checkMailOptions(mail, mayReadFiles)],
    ["git.networks", () => new Networks(git.networks, "git.networks")],
    ["git.home", () => requireNoHome(git.home)],
    ["index.ctagsCommand", () => requireNoHome(index.ctagsCommand)],
    ["fleet.database", () => readDatabaseOptions(fleet, mayReadFiles)],
    ["fleet.objects", () => readObjectOptions(fleet, mayReadFiles)],
    ["fleet.nodes", () => fleet.node === "" || fleet.database !== "" || readFleetNodes({ ...fleet, replicas: [] })],
    ["fleet.replicas", () => fleet.node === "" || fleet.database !== "" || readReplicas(fleet)],
    [
      "fleet.node",
      () =>
        fleet.node === "" ||
        (fleet.database !== "" && fleet.listen === "") ||
        !mayReadFiles ||
        readFleetIdentity(fleet),
    ],
    ["mcp.clientNetworks", () => new ClientDocuments(options.mcp.clientNetworks, "")],
    ["mcp.tools.disabled", () => checkDisabledTools(options)],
    ["webhooks.secrets", () => readWebhookSecrets(options.webhooks.secrets, mayReadFiles)],
  ];
  return checks.flatMap(([key, check]) => {
    try {
      check();
      return [];
    } catch (error) {
      const message = errorMessage(error);
      return [{ key, message: message.startsWith(`${key}:`) ? message : `${key}: ${message}` }];
    }
  });
}

/**
 * Throws `bad-config` if anybody could sign up at a node that shares its index. Accounts are those of a node, and readers of repositories
 * are names, the same at all nodes: whoever takes the name of a reader reads what the reader may.
 */
function requireNoSignup({ auth, fleet }: Pick<OptionValues, "auth" | "fleet">): void {
  if (auth.allowSignup && fleet.database !== "")
    throw new TrawlError(
      "bad-config",
      "it cannot be used with fleet.database: each node has its own accounts, and all have the same readers of repositories, so whoever signs up at one node could take the name of a reader at another. Make accounts with `trawl user add` at each node, or let an identity provider name them",
    );
}

/** Throws `bad-config` for a header that nobody may send, or that means something else. */
function checkProxyHeader({ auth }: Pick<OptionValues, "auth">): void {
  if (auth.header !== "" && auth.headerProxies.length === 0)
    throw new TrawlError("bad-config", "it has no effect without auth.headerProxies: list the addresses of the proxy");
  if (/^(?:accept|authorization|cookie|host|origin|x-forwarded-for|x-requested-with)$/i.test(auth.header))
    throw new TrawlError("bad-config", `the header ${auth.header} has another meaning`);
}

/** Throws `bad-config` for a path that begins with what only a shell expands. */
function requireNoHome(path: string): void {
  if (isHomePath(path))
    throw new TrawlError("bad-config", `~ in ${JSON.stringify(path)} is not expanded here; write the path in full`);
}

function requireHost(listen: string): void {
  const host = listen.slice(0, listen.lastIndexOf(":"));
  const isBracketed = host.startsWith("[");
  const isGood = isBracketed
    ? isIP(host.slice(1, -1)) === 6
    : isIP(host) === 4 || (/^[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*$/.test(host) && !/^[0-9.]+$/.test(host));
  if (!isGood)
    throw new TrawlError("bad-config", `${JSON.stringify(host)} is neither an address nor the name of a host`);
}

/** Throws `bad-config` for a name that is no tool. */
export function checkDisabledTools({ mcp }: Pick<ResolvedOptions, "mcp">): void {
  const unknown = mcp["tools.disabled"].find((name) => !toolNames.includes(name));
  if (unknown !== undefined)
    throw new TrawlError(
      "bad-config",
      `mcp.tools.disabled: there is no tool ${JSON.stringify(unknown)}; the tools are ${toolNames.join(", ")}`,
    );
}
