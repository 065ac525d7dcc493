import type { Accounts } from "../account/identity/accounts.js";
import type { AccessToken, Organization, User } from "../account/identity/user.js";
import { operator } from "../account/records/audit-log.js";
import { readLifetime } from "../account/records/validation.js";
import { TrawlError } from "../base/errors.js";
import type { ControlCall, ControlHandlers } from "../http/server/control-server.js";
import type { Controlled } from "./parts/controlled.js";

/** A token as the control interface shows it: with the name of its user, and without its text. */
export interface ShownToken extends AccessToken {
  readonly user: string;
}

/** An organization as the control interface shows it. */
export interface ShownOrganization {
  readonly name: string;
  readonly members: readonly string[];
}

/** The control interface's routes for users, organizations and access tokens. */
export function accountHandlers(daemon: () => Controlled): ControlHandlers {
  return {
    "GET /.api/users": (): readonly User[] => daemon().accounts.users(),
    "POST /.api/users": ({ body }) => createUser(daemon(), body),
    // Must precede the shorter pattern, which matches these paths too.
    "POST /.api/users/NAME/password": async ({ params, body }) => {
      await daemon().accounts.passwords.set(params["NAME"] ?? "", textIn(body, "password"), operator);
      return null;
    },
    "POST /.api/users/NAME/password-link": async ({ params }) => {
      const { accounts, externalUrl } = daemon();
      const { path, expiresAt } = await accounts.passwords.newReset(params["NAME"] ?? "", operator);
      return { url: externalUrl + path, expiresAt };
    },
    "POST /.api/users/NAME": ({ params, body }) => {
      const [isSiteAdmin, isSuspended] = [flagIn(body, "isSiteAdmin"), flagIn(body, "isSuspended")];
      const changes = {
        ...(isSiteAdmin === undefined ? {} : { isSiteAdmin }),
        ...(isSuspended === undefined ? {} : { isSuspended }),
      };
      return daemon().accounts.updateUser(params["NAME"] ?? "", changes, operator);
    },
    "DELETE /.api/users/NAME": ({ params }) => daemon().accounts.deleteUser(params["NAME"] ?? "", operator),
    "GET /.api/organizations": () =>
      daemon()
        .accounts.organizations.all()
        .map((organization) => shownOrganization(daemon().accounts, organization)),
    "POST /.api/organizations": async ({ body }) => {
      const { accounts } = daemon();
      return shownOrganization(
        accounts,
        await accounts.organizations.create({ name: textIn(body, "name"), displayName: "", memberIds: [] }, operator),
      );
    },
    "POST /.api/organizations/NAME": async ({ params, body }) => {
      const { accounts } = daemon();
      return shownOrganization(
        accounts,
        await accounts.organizations.setMember(
          params["NAME"] ?? "",
          textIn(body, "user"),
          flagIn(body, "isMember") ?? true,
          operator,
        ),
      );
    },
    "DELETE /.api/organizations/NAME": ({ params }) =>
      daemon().accounts.deleteOrganization(params["NAME"] ?? "", operator),
    "GET /.api/tokens": () =>
      daemon()
        .accounts.accessTokens.list()
        .map((token) => shownToken(daemon().accounts, token)),
    "POST /.api/tokens": (call) => createToken(daemon(), call),
    "DELETE /.api/tokens/ID": async ({ params }) => {
      const { accounts } = daemon();
      return shownToken(accounts, await accounts.accessTokens.delete(tokenId(params["ID"] ?? ""), operator));
    },
  };
}

async function createUser({ accounts }: Controlled, body: unknown): Promise<User> {
  const [address, password] = [optionalTextIn(body, "email"), optionalTextIn(body, "password")];
  return accounts.createUser(
    {
      name: textIn(body, "name"),
      displayName: "",
      isSiteAdmin: flagIn(body, "isSiteAdmin") ?? false,
      // Whoever may open the control socket is trusted to know whose address it is.
      ...(address === undefined ? {} : { email: { address, isVerified: true } }),
      ...(password === undefined ? {} : { passwordHash: await accounts.passwords.hashed(password, "operator") }),
    },
    operator,
  );
}

/** The only response that contains a token's text. */
async function createToken(
  { accounts, accessTokens, tokenLifetimes }: Controlled,
  { body }: ControlCall,
): Promise<{ readonly text: string }> {
  if (accessTokens === "none")
    throw new TrawlError("forbidden", 'access tokens are disabled: "auth": {"accessTokens": "none"}');
  const request = {
    scopes: textsIn(body, "scopes"),
    note: textIn(body, "note"),
    lifetimeMs: tokenLifetimes.lifetimeMs(readLifetime(optionalTextIn(body, "expires") ?? "")),
  };
  const { text } = await accounts.accessTokens.create(textIn(body, "user"), request, operator);
  return { text };
}

function tokenId(text: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text);
  throw new TrawlError(
    "bad-request",
    `${JSON.stringify(text)} is not the id of an access token: \`trawl token list\` shows the ids`,
  );
}

function shownToken(accounts: Accounts, token: AccessToken): ShownToken {
  return { ...token, user: accounts.user(token.userId)?.name ?? "" };
}

function shownOrganization(accounts: Accounts, { name, memberIds }: Organization): ShownOrganization {
  return { name, members: memberIds.flatMap((id) => accounts.user(id)?.name ?? []) };
}

function readField(body: unknown, key: string): unknown {
  return typeof body === "object" && body !== null ? (body as Readonly<Record<string, unknown>>)[key] : undefined;
}

function textIn(body: unknown, key: string): string {
  const value = readField(body, key);
  if (typeof value === "string") return value;
  throw new TrawlError("bad-request", `"${key}" must be a string`);
}

function optionalTextIn(body: unknown, key: string): string | undefined {
  return readField(body, key) === undefined ? undefined : textIn(body, key);
}

function textsIn(body: unknown, key: string): readonly string[] {
  const value = readField(body, key);
  if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value as string[];
  throw new TrawlError("bad-request", `"${key}" must be a list of strings`);
}

function flagIn(body: unknown, key: string): boolean | undefined {
  const value = readField(body, key);
  if (value === undefined || typeof value === "boolean") return value;
  throw new TrawlError("bad-request", `"${key}" must be true or false`);
}
