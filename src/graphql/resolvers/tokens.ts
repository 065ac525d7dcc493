import type { AccessToken, TokenRequest } from "../../account/identity/user.js";
import type { Actor } from "../../account/records/audit-log.js";
import { checkScopes } from "../../account/records/validation.js";
import { TrawlError } from "../../base/errors.js";
import { requireUser } from "./account-access.js";
import { TokenSource, UserSource } from "../sources/account-sources.js";
import { nothing, paginate } from "./connection-types.js";
import type { RequestContext } from "../../browse/request-context.js";
import { globalId, numericKey } from "../../browse/ids.js";
import type { ResolversOf } from "./resolver-types.js";

export const accessToken: ResolversOf<"AccessToken"> = {
  creator: ({ token, subject }, _, { services: { accounts } }) => {
    const creator = accounts.userByName(token.creator);
    return creator === undefined ? subject : new UserSource(creator);
  },
};

export const tokenMutations: Pick<ResolversOf<"Mutation">, "createAccessToken" | "deleteAccessToken"> = {
  createAccessToken: async (_, { user: id, scopes, note, durationSeconds }, context) => {
    const actor = requireTokenMaker(numericKey(id, "User"), context);
    requireScopes(scopes, context);
    const { name } = requireUser(id, context);
    const { token, text } = await context.services.accounts.accessTokens.create(
      name,
      { scopes, note, ...madeWith(durationSeconds, context) },
      actor,
    );
    return { id: globalId("AccessToken", token.id), token: text };
  },
  deleteAccessToken: async (_, { byID, byToken }, context) => {
    const { actor } = context;
    if ((typeof byID === "string") === (typeof byToken === "string"))
      throw new TrawlError("bad-request", "either byID or byToken must be given, and not both");
    const { id } =
      typeof byID === "string" ? requireOwnToken(byID, context) : requireTokenOfText(byToken ?? "", context);
    await context.services.accounts.accessTokens.delete(id, actor);
    return nothing;
  },
};

/** A page of tokens. Caller guarantees: the viewer may see them. */
export function tokenPage(
  tokens: readonly AccessToken[],
  first: number | null | undefined,
  after: string | null | undefined,
  { services: { accounts } }: RequestContext,
) {
  const page = paginate(tokens, first, after);
  const nodes = page.nodes.flatMap((token) => {
    const user = accounts.user(token.userId);
    return user === undefined ? [] : [new TokenSource(token, user)];
  });
  return { ...page, nodes };
}

/**
 * A user's token authenticates that user, so if all users may create tokens, each creates only its own, and a site
 * admin none for others. If only site admins may, they create them for everyone.
 */
function requireTokenMaker(userId: number, context: RequestContext): Actor {
  const { actor, viewer } = context;
  switch (context.services.accessTokens) {
    case "all-users-create":
      if (viewer.userId !== userId)
        throw new TrawlError("forbidden", `must be authenticated as user with id ${userId}`);
      return actor;
    case "site-admin-create":
      if (!viewer.isSiteAdmin)
        throw new TrawlError("forbidden", "access token creation is restricted to site admins: must be site admin");
      return actor;
    case "none":
      throw new TrawlError(
        "forbidden",
        "access token creation is disabled by the site's configuration, auth.accessTokens",
      );
  }
}

/** A token cannot create one with more permissions. */
function requireScopes(scopes: readonly string[], { viewer: { credential, isSiteAdmin } }: RequestContext): void {
  if (credential?.kind !== "token") return;
  const wider = checkScopes(scopes, isSiteAdmin).find((scope) => !credential.scopes.includes(scope));
  if (wider === undefined) return;
  throw new TrawlError(
    "forbidden",
    `this request's access token has no scope ${JSON.stringify(wider)}, so it cannot create a token with that scope; sign in, or send a token that has it`,
  );
}

/** The lifetime, and the token of the request, with which the new token ends. Only a lifetime that is asked for is refused. */
function madeWith(
  seconds: number | null | undefined,
  context: RequestContext,
): Pick<TokenRequest, "lifetimeMs" | "maker"> {
  const { credential } = context.viewer;
  return {
    lifetimeMs: lifetimeMs(seconds, context),
    ...(credential?.kind === "token" ? { maker: { id: credential.id, mayShorten: typeof seconds !== "number" } } : {}),
  };
}

/**
 * Null requests a token without expiry, if that is allowed; clients without such an option send null for the default.
 */
function lifetimeMs(
  seconds: number | null | undefined,
  { services: { tokenLifetimes } }: RequestContext,
): number | undefined {
  if (seconds === undefined) return tokenLifetimes.lifetimeMs(undefined);
  if (seconds === null) return tokenLifetimes.lifetimeMs(tokenLifetimes.allowsNever ? "never" : undefined);
  if (seconds >= 1) return tokenLifetimes.lifetimeMs(seconds * 1000);
  throw new TrawlError("bad-request", `durationSeconds: ${seconds} is less than 1; omit it for the default`);
}

function requireOwnToken(id: string, context: RequestContext): AccessToken {
  const token = context.services.accounts.accessTokens.get(numericKey(id, "AccessToken"));
  if (token !== undefined && context.mayActFor(token.userId)) return token;
  if (context.viewer.isSiteAdmin) throw new TrawlError("not-found", "there is no such access token (any more)");
  throw new TrawlError("forbidden", "must be authenticated as the authorized user or site admin");
}

/** Whoever has the text could use the token, so may also revoke it. */
function requireTokenOfText(text: string, { services: { accounts } }: RequestContext): AccessToken {
  const found = accounts.accessTokens.find(text, new Date().getTime());
  if (found === undefined) throw new TrawlError("not-found", "there is no such access token (any more)");
  return found.token;
}
