import type { Command } from "commander";
import { dataOption, print } from "./terminal/command-options.js";
import type { User } from "../account/identity/user.js";
import { TrawlError } from "../base/errors.js";
import type { ShownOrganization, ShownToken } from "../daemon/account-control.js";
import { callDaemon, suggestName } from "./connection/control-client.js";

function accountCommands(typed: { data: string }): AccountCommands {
  return new AccountCommands(typed.data, print);
}

/** Adds `trawl user`. */
export function addUser(program: Command): void {
  const user = program.command("user").description("Create, list and delete users of the running daemon.");
  user
    .command("create")
    .argument("<name>")
    .addOption(dataOption())
    .description("Create a user. It has no access token yet.")
    .option(
      "--admin",
      "make it a site admin, who can see all repositories and have tokens that act as other users",
      false,
    )
    .option("--email <address>", "e-mail address")
    .option(
      "--password-stdin",
      "read the password from the first line of standard input; a user without a password cannot sign in",
      false,
    )
    .action((name: string, typed: TypedUser & { data: string }) => accountCommands(typed).createUser(name, typed));
  user
    .command("password")
    .argument("<name>")
    .addOption(dataOption())
    .description("Set the password to the first line of standard input, and end the user's sessions.")
    .option("--link", "print a link with which the user sets the password; valid once, for a day", false)
    .action((name: string, typed: { data: string; link: boolean }) =>
      typed.link ? accountCommands(typed).linkPassword(name) : accountCommands(typed).setPassword(name),
    );
  user
    .command("set")
    .argument("<name>")
    .addOption(dataOption())
    .description("Change a user.")
    .option("--admin", "make it a site admin")
    .option("--no-admin", "make it an ordinary user")
    .option("--suspended", "end its sessions; nothing opens the account, and its tokens are refused")
    .option("--no-suspended", "open the account again, with its tokens")
    .action((name: string, typed: { data: string; admin?: boolean; suspended?: boolean }) =>
      accountCommands(typed).setUser(name, { isSiteAdmin: typed.admin, isSuspended: typed.suspended }),
    );
  user
    .command("list")
    .addOption(dataOption())
    .description("List the users.")
    .option("--json", "print one JSON object per user", false)
    .action((typed: { data: string; json: boolean }) => accountCommands(typed).listUsers(typed.json));
  user
    .command("delete")
    .argument("<name>")
    .addOption(dataOption())
    .description("Delete a user and its access tokens, which are rejected from then on.")
    .action((name: string, typed: { data: string }) => accountCommands(typed).deleteUser(name));
}

/** Adds `trawl org`. */
export function addOrganization(program: Command): void {
  const organization = program
    .command("org")
    .description("Create, list and delete organizations, and manage their members.");
  organization
    .command("create")
    .argument("<name>")
    .addOption(dataOption())
    .description("Create an organization. Private repositories can name it as a reader.")
    .action((name: string, typed: { data: string }) => accountCommands(typed).createOrganization(name));
  organization
    .command("add")
    .argument("<name>")
    .argument("<user>")
    .addOption(dataOption())
    .description("Add a user to an organization.")
    .action((name: string, user: string, typed: { data: string }) =>
      accountCommands(typed).setMember(name, user, true),
    );
  organization
    .command("remove")
    .argument("<name>")
    .argument("<user>")
    .addOption(dataOption())
    .description("Remove a user from an organization.")
    .action((name: string, user: string, typed: { data: string }) =>
      accountCommands(typed).setMember(name, user, false),
    );
  organization
    .command("list")
    .addOption(dataOption())
    .description("List the organizations with their members.")
    .option("--json", "print one JSON object per organization", false)
    .action((typed: { data: string; json: boolean }) => accountCommands(typed).listOrganizations(typed.json));
  organization
    .command("delete")
    .argument("<name>")
    .addOption(dataOption())
    .description("Delete an organization.")
    .action((name: string, typed: { data: string }) => accountCommands(typed).deleteOrganization(name));
}

/** Adds `trawl token`. */
export function addToken(program: Command): void {
  const token = program.command("token").description("Create, list and delete access tokens of users.");
  token
    .command("create")
    .argument("<user>")
    .addOption(dataOption())
    .description("Create an access token and print it. It cannot be shown again.")
    .option(
      "--scope <scopes>",
      "scopes, separated by commas: user:all, and for site admins site-admin:sudo; or of a narrow token search, mcp and repository:NAME",
      "user:all",
    )
    .option("--expires <time>", "lifetime, for example 30d or 12h, or never; the default is auth.tokenDays", "")
    .option("--note <text>", "purpose of the token", "")
    .action((user: string, typed: TypedToken & { data: string }) => accountCommands(typed).createToken(user, typed));
  token
    .command("list")
    .argument("[user]")
    .addOption(dataOption())
    .description("List access tokens: id, user, scopes, expiry, last use, note.")
    .option("--json", "print one JSON object per token", false)
    .action((user: string | undefined, typed: { data: string; json: boolean }) =>
      accountCommands(typed).listTokens(user, typed.json),
    );
  token
    .command("delete")
    .argument("<id>")
    .addOption(dataOption())
    .description("Delete an access token, which is rejected from then on.")
    .action((id: string, typed: { data: string }) => accountCommands(typed).deleteToken(id));
}

/** Command-line arguments for a new token. */
interface TypedToken {
  /** Separated by commas. */
  readonly scope: string;
  readonly expires: string;
  readonly note: string;
}

/** Command-line arguments for a new user. */
interface TypedUser {
  readonly admin: boolean;
  readonly email?: string;
  /** Whether its password is read from standard input. */
  readonly passwordStdin: boolean;
}

/**
 * The `trawl user`, `trawl org` and `trawl token` commands: each calls the daemon that is running with this data
 * directory.
 */
class AccountCommands {
  readonly #dataDirectory: string;
  readonly #print: (line: string) => void;

  constructor(dataDirectory: string, print: (line: string) => void) {
    this.#dataDirectory = dataDirectory;
    this.#print = print;
  }

  async createUser(name: string, typed: TypedUser): Promise<void> {
    const password = typed.passwordStdin ? await readPassword() : undefined;
    this.#printUser(
      (await this.#call("POST", "/.api/users", {
        name,
        isSiteAdmin: typed.admin,
        email: typed.email,
        password,
      })) as User,
    );
  }

  async setPassword(name: string): Promise<void> {
    await this.#callFor("users", name, "POST", `/.api/users/${encodeURIComponent(name)}/password`, {
      password: await readPassword(),
    });
    this.#print(`the password of ${name} was set, and its sessions were ended`);
  }

  /** Prints only the link. */
  async linkPassword(name: string): Promise<void> {
    const { url } = (await this.#callFor(
      "users",
      name,
      "POST",
      `/.api/users/${encodeURIComponent(name)}/password-link`,
      undefined,
    )) as {
      url: string;
    };
    this.#print(url);
  }

  async setUser(
    name: string,
    changes: Readonly<Record<"isSiteAdmin" | "isSuspended", boolean | undefined>>,
  ): Promise<void> {
    if (Object.values(changes).every((value) => value === undefined))
      throw new TrawlError("bad-request", "nothing to change; see `trawl user set --help`");
    this.#printUser(
      (await this.#callFor("users", name, "POST", `/.api/users/${encodeURIComponent(name)}`, changes)) as User,
    );
  }

  async listUsers(json: boolean): Promise<void> {
    for (const user of (await this.#call("GET", "/.api/users", undefined)) as User[]) {
      if (json) this.#print(JSON.stringify(user));
      else this.#printUser(user);
    }
  }

  async deleteUser(name: string): Promise<void> {
    await this.#callFor("users", name, "DELETE", `/.api/users/${encodeURIComponent(name)}`, undefined);
    this.#print(`deleted ${name}`);
  }

  async createOrganization(name: string): Promise<void> {
    this.#printOrganization((await this.#call("POST", "/.api/organizations", { name })) as ShownOrganization);
  }

  async setMember(name: string, user: string, isMember: boolean): Promise<void> {
    const path = `/.api/organizations/${encodeURIComponent(name)}`;
    const organization = await suggestName(
      user,
      () => this.#call("GET", "/.api/users", undefined),
      () => this.#callFor("organizations", name, "POST", path, { user, isMember }),
    );
    this.#printOrganization(organization as ShownOrganization);
  }

  async listOrganizations(json: boolean): Promise<void> {
    for (const organization of (await this.#call("GET", "/.api/organizations", undefined)) as ShownOrganization[]) {
      if (json) this.#print(JSON.stringify(organization));
      else this.#printOrganization(organization);
    }
  }

  async deleteOrganization(name: string): Promise<void> {
    await this.#callFor("organizations", name, "DELETE", `/.api/organizations/${encodeURIComponent(name)}`, undefined);
    this.#print(`deleted ${name}`);
  }

  /** Prints only the token, for `TOKEN=$(trawl token create NAME)`. */
  async createToken(user: string, { scope, expires, note }: TypedToken): Promise<void> {
    const { text } = (await this.#callFor("users", user, "POST", "/.api/tokens", {
      user,
      scopes: scope.split(","),
      expires,
      note,
    })) as {
      text: string;
    };
    this.#print(text);
  }

  /** The tokens of one user, or all. */
  async listTokens(user: string | undefined, json: boolean): Promise<void> {
    for (const token of (await this.#call("GET", "/.api/tokens", undefined)) as ShownToken[]) {
      if (user !== undefined && token.user.toLowerCase() !== user.toLowerCase()) continue;
      if (json) this.#print(JSON.stringify(token));
      else this.#printToken(token);
    }
  }

  async deleteToken(id: string): Promise<void> {
    const { user } = (await this.#call("DELETE", `/.api/tokens/${encodeURIComponent(id)}`, undefined)) as ShownToken;
    this.#print(`deleted token ${id} of ${user}`);
  }

  /** Like `#call`; if there is none of this name, the error names the one that was probably meant. */
  #callFor(
    kind: "users" | "organizations",
    name: string,
    method: "POST" | "DELETE",
    path: string,
    body: unknown,
  ): Promise<unknown> {
    return suggestName(
      name,
      () => this.#call("GET", `/.api/${kind}`, undefined),
      () => this.#call(method, path, body),
    );
  }

  #call(method: "GET" | "POST" | "DELETE", path: string, body: unknown): Promise<unknown> {
    return callDaemon(this.#dataDirectory, { method, path, body, progress: () => undefined });
  }

  #printUser({ name, isSiteAdmin, suspendedBy = [], createdAt }: User): void {
    const states = [
      ...(isSiteAdmin ? ["site admin"] : []),
      ...(suspendedBy.length > 0 ? [`suspended by ${suspendedBy.join(" and ")}`] : []),
    ];
    this.#print([name, ...states, `created ${createdAt}`].join("  "));
  }

  #printOrganization({ name, members }: ShownOrganization): void {
    this.#print([name, members.length === 0 ? "no members" : members.join(" ")].join("  "));
  }

  #printToken({ id, user, scopes, note, expiresAt, lastUsedAt }: ShownToken): void {
    const expires = expiresAt === "" ? "never expires" : `expires ${expiresAt}`;
    const used = lastUsedAt === "" ? "never used" : `last used ${lastUsedAt}`;
    this.#print([String(id), user, scopes.join(","), expires, used, ...(note === "" ? [] : [note])].join("  "));
  }
}

/** Longer than any accepted password. */
const passwordBytesMax = 4096;

/** Reads the first line of standard input. Refused on a terminal, which would display what is typed. */
async function readPassword(): Promise<string> {
  if (process.stdin.isTTY)
    throw new TrawlError(
      "bad-request",
      "the password is read from standard input, and a terminal would show it: pipe it in, or use --link",
    );
  let text = "";
  for await (const bytes of process.stdin.setEncoding("utf8")) {
    text += String(bytes);
    if (text.includes("\n") || text.length > passwordBytesMax) break;
  }
  return text.split(/\r?\n/, 1)[0] ?? "";
}
