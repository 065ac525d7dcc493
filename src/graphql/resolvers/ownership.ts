import type { Actor } from "../../account/records/audit-log.js";
import type { OwnedRepository } from "../../account/ownership/owner-files.js";
import { assert } from "../../base/assert.js";
import { TrawlError } from "../../base/errors.js";
import { BlobSource, personSource } from "../../browse/git-sources.js";
import { numericKey } from "../../browse/ids.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { Repository } from "../../model/repository.js";
import type { FoundOwners } from "../../protocol/git-messages.js";
import type { ResolversOf } from "./resolver-types.js";
import { ownerFileSource, type OwnerFileSource } from "../sources/owner-file-source.js";
import { teamSource, userSource } from "./account-access.js";
import { nothing, paginate } from "./connection-types.js";

type Mutation = ResolversOf<"Mutation">;

/** Limit on the repositories named in one request. */
const namedRepositoriesMax = 1000;

export const ownershipQueries: Pick<ResolversOf<"Query">, "codeownersIngestedFiles"> = {
  codeownersIngestedFiles: (_, { first, after }, context) => {
    context.requireSiteAdmin();
    const files = [...context.services.accounts.ownerFiles.all()].flatMap((file) => {
      const repository = context.repositories.byId(file.id);
      return repository === undefined ? [] : [{ file, name: repository.name }];
    });
    const page = paginate(
      files.sort((a, b) => (a.name < b.name ? -1 : 1)),
      first,
      after,
    );
    return { ...page, nodes: page.nodes.flatMap(({ file }) => ownerFileSource(file, context) ?? []) };
  },
};

/** Who owns the file at its commit. */
export const blobOwnership: Required<Pick<ResolversOf<"GitBlob">, "ownership">> = {
  ownership: async (source, { first, after, reasons }, context) => {
    const isWanted = reasons === undefined || reasons === null || reasons.includes("CODEOWNERS_FILE_ENTRY");
    const { commit, path } = source;
    const repositoryId = commit.repository.record.id;
    const found = await context.git.run({
      kind: "find-owners",
      repositoryId,
      commit: commit.oid,
      path,
      otherwise: context.services.accounts.ownerFiles.get(repositoryId)?.contents ?? "",
    });
    const page = paginate(isWanted ? found.owners : [], first, after);
    const reason = ruleSource(found, source);
    const nodes = page.nodes.map((owner) => ({ owner: ownerSource(owner, context), reasons: [reason] }));
    return { ...page, nodes, totalOwners: page.totalCount };
  },
};

/** Code owners of repositories that have no CODEOWNERS file. All changes require a site admin. */
export const ownershipMutations: Pick<
  Mutation,
  "addCodeownersFile" | "updateCodeownersFile" | "deleteCodeownersFiles"
> = {
  addCodeownersFile: async (_, { input }, context) => {
    const { actor, repository } = administered(input, context);
    return shown(await context.services.accounts.ownerFiles.add(repository, input.fileContents, actor), context);
  },
  updateCodeownersFile: async (_, { input }, context) => {
    const { actor, repository } = administered(input, context);
    return shown(await context.services.accounts.ownerFiles.replace(repository, input.fileContents, actor), context);
  },
  deleteCodeownersFiles: async (_, { repositories }, context) => {
    const actor = context.requireSiteAdmin();
    if (repositories.length > namedRepositoriesMax)
      throw new TrawlError("bad-request", `more than ${namedRepositoriesMax} repositories; send several requests`);
    const named = repositories.map((given) => administered(given, context).repository);
    await context.services.accounts.ownerFiles.remove([...new Set(named)], actor);
    return nothing;
  },
};

interface GivenRepository {
  readonly repoID?: string | null;
  readonly repoName?: string | null;
}

/** Throws `forbidden` for viewers who are not site admins, before anything else, and `not-found`. */
function administered(
  { repoID, repoName }: GivenRepository,
  context: RequestContext,
): { readonly actor: Actor; readonly repository: OwnedRepository } {
  const actor = context.requireSiteAdmin();
  const isById = typeof repoID === "string";
  if (!isById && typeof repoName !== "string")
    throw new TrawlError("bad-request", "give a repository by repoID or by repoName");
  const { repositories } = context;
  const found: Repository | undefined = isById
    ? repositories.byId(numericKey(repoID, "Repository"))
    : repositories.byName(repoName ?? "");
  // Clients look for this text.
  if (found === undefined) throw new TrawlError("not-found", `repo not found: ${isById ? repoID : (repoName ?? "")}`);
  return { actor, repository: found };
}

function shown(file: Parameters<typeof ownerFileSource>[0], context: RequestContext): OwnerFileSource {
  const source = ownerFileSource(file, context);
  assert(source !== null, "a site admin sees the repository of a file that was just written");
  return source;
}

/** Accounts and teams are shown to users only, as everywhere. A name is first that of a user, then of a team. */
function ownerSource({ kind, text }: FoundOwners["owners"][number], context: RequestContext) {
  const { accounts } = context.services;
  if (kind === "handle") {
    const user = accounts.userByName(text);
    const team =
      user === undefined ? teamSource(accounts.teams.byName(text.slice(text.lastIndexOf("/") + 1)), context) : null;
    if (team !== null) return team;
    return ownerPerson({ name: text, email: "" }, user?.id);
  }
  return ownerPerson({ name: "", email: text });
}

function ownerPerson(named: { readonly name: string; readonly email: string }, userId?: number) {
  return { __typename: "Person" as const, ...personSource(named, userId) };
}

/** Accounts are shown to users only. */
export const person: ResolversOf<"Person"> = {
  user: ({ email, userId }, _, context) =>
    context.isUser ? userSource(userId ?? context.services.accounts.emails.findVerifiedOwner(email), context) : null,
};

function ruleSource({ file, line, pattern }: FoundOwners, { commit }: BlobSource) {
  return {
    __typename: "CodeownersFileEntry" as const,
    title: "codeowners",
    description: `Owner is associated with a rule in a CODEOWNERS file: ${pattern}`,
    codeownersFile: file === "" ? null : new BlobSource(commit, file, undefined, undefined),
    ruleLineMatch: line,
  };
}
