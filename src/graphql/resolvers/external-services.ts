import { auditEntry } from "../../account/records/audit-log.js";
import { TrawlError } from "../../base/errors.js";
import { numericKey, parseGlobalId } from "../../browse/ids.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { ResolversOf } from "./resolver-types.js";
import {
  externalServices,
  serviceByKey,
  serviceKey,
  findService,
  shownAttempt,
} from "../sources/external-service-source.js";
import { nothing, paginate, paginateBothWays } from "./connection-types.js";

type Query = ResolversOf<"Query">;
type Mutation = ResolversOf<"Mutation">;

/** The services that repositories come from; for site admins. */
export const serviceQueries: Pick<Query, "externalServices" | "permissionsSyncJobs"> = {
  externalServices: async (_, { first, after, repo }, context) => {
    context.requireSiteAdmin();
    if (repo === undefined || repo === null) return paginate(await externalServices(context), first, after);
    const isRepository = parseGlobalId(repo).kind === "Repository";
    const found = isRepository ? context.repositories.byId(numericKey(repo, "Repository")) : undefined;
    return paginate(found === undefined ? [] : [await findService(found, context)], first, after);
  },
  permissionsSyncJobs: (_, __, context) => {
    context.requireSiteAdmin();
    return paginateBothWays([], {});
  },
};

export const externalService: ResolversOf<"ExternalService"> = {
  syncJobs: ({ connection }, { first }) => paginate((connection?.attempts ?? []).map(shownAttempt), first, undefined),
};

/** Connections are made in the configuration file only. */
export const serviceMutations: Pick<
  Mutation,
  | "excludeRepoFromExternalServices"
  | "addExternalService"
  | "updateExternalService"
  | "deleteExternalService"
  | "syncExternalService"
> = {
  excludeRepoFromExternalServices: (_, __, context) => refuseServices(context),
  addExternalService: (_, __, context) => refuseServices(context),
  updateExternalService: (_, __, context) => refuseServices(context),
  deleteExternalService: (_, __, context) => refuseServices(context),
  syncExternalService: async (_, { id }, context) => {
    const actor = context.requireSiteAdmin();
    const { services, repositories } = context;
    const service = await serviceByKey(serviceKey(id), context);
    if (service === null) throw new TrawlError("not-found", "there is no such external service (any more)");
    const { connection } = service;
    const what = connection === undefined ? { repositories: repositories.count } : { connection: connection.name };
    await services.audit.around(auditEntry("repository-ordered", actor, { order: "fetch", ...what }), () => {
      if (connection !== undefined) return services.connections.request(connection.name);
      for (const { id: repositoryId } of repositories.values()) services.repositoryCommands.request(repositoryId);
    });
    return nothing;
  },
};

function refuseServices(context: RequestContext): never {
  context.requireSiteAdmin();
  throw new TrawlError(
    "forbidden",
    "code host connections are made in the configuration file, not here; single repositories are added with `trawl repo add`",
  );
}
