import type { User } from "../account/identity/user.js";
import { TrawlError } from "../base/errors.js";
import type { ShownOrganization, ShownToken } from "../daemon/account-control.js";
import { callDaemon } from "./control-client.js";
import { suggestName } from "./suggest-name.js";

/** Command-line arguments for a new token. */
export interface TypedToken {
  /** Separated by commas. */
  readonly scope: string;
  readonly expires: string;
  readonly note: string;
}

/** Command-line arguments for a new user. */
export interface TypedUser {
  readonly admin: boolean;
  readonly email?: string;
  /** Whether its password is read from standard input. */
  readonly passwordStdin: boolean;
}

/**
 * The `trawl user`, `trawl org` and `trawl token` commands: each calls the daemon that is running with this data
 * directory.
 */
export class AccountCommands {
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

  async setUser(name: string, isSiteAdmin: boolean | undefined): Promise<void> {
    if (isSiteAdmin === undefined)
      throw new TrawlError("bad-request", "nothing to change; see `trawl user set --help`");
    this.#printUser(
      (await this.#callFor("users", name, "POST", `/.api/users/${encodeURIComponent(name)}`, { isSiteAdmin })) as User,
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

  #printUser({ name, isSiteAdmin, createdAt }: User): void {
    this.#print([name, ...(isSiteAdmin ? ["site admin"] : []), `created ${createdAt}`].join("  "));
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
