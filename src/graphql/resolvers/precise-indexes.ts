import { auditEntry } from "../../account/records/audit-log.js";
import { TrawlError } from "../../base/errors.js";
import { globalId, numericKey } from "../../browse/ids.js";
import type { RequestContext } from "../../browse/request-context.js";
import type { PreciseIndexState } from "../../model/precise-index.js";
import { PreciseIndexSource } from "../sources/sources.js";
import { nothing, paginate } from "./connection-types.js";
import type { ResolversOf } from "./resolver-types.js";

/** As in the address that `src` shows after an upload. */
export const preciseIndexKind = "SCIPUpload";

export const preciseIndex: ResolversOf<"PreciseIndex"> = {
  id: ({ record }) => globalId(preciseIndexKind, record.id),
  inputCommit: ({ record }) => record.commit,
  inputRoot: ({ record }) => record.root,
  inputIndexer: ({ record }) => record.indexer,
  indexerVersion: ({ record }) => record.indexerVersion,
  state: ({ record }) => record.state,
  failure: ({ record }) => record.failure || null,
  uploadedAt: ({ record }) => record.uploadedAt || null,
  processingStartedAt: ({ record }) => record.startedAt || null,
  processingFinishedAt: ({ record }) => record.endedAt || null,
  documentCount: ({ record: { counts } }) => counts?.documentCount ?? null,
  occurrenceCount: ({ record: { counts } }) => counts?.occurrenceCount ?? null,
  leftOutDocumentCount: ({ record: { counts } }) =>
    counts === undefined ? null : counts.missingCount + counts.unfitCount,
  leftOutOccurrenceCount: ({ record: { counts } }) => counts?.outsideCount ?? null,
};

interface Wanted {
  readonly first?: number | null | undefined;
  readonly after?: string | null | undefined;
  readonly states?: readonly PreciseIndexState[] | null | undefined;
}

export const preciseIndexQueries: Pick<ResolversOf<"Query">, "preciseIndexes"> = {
  preciseIndexes: (_, { repo, ...wanted }, context) => {
    const repository = context.repositories.byId(numericKey(repo, "Repository"));
    return repository === undefined ? null : listIndexes(repository.id, wanted, context);
  },
};

export const repositoryIndexes: Pick<ResolversOf<"Repository">, "preciseIndexes"> = {
  preciseIndexes: ({ record }, wanted, context) => listIndexes(record.id, wanted, context),
};

function listIndexes(repositoryId: number, { first, after, states }: Wanted, { services }: RequestContext) {
  const wanted = states === undefined || states === null || states.length === 0 ? undefined : new Set(states);
  const records = services.precise.list(repositoryId).filter(({ state }) => wanted === undefined || wanted.has(state));
  const { nodes, pageInfo } = paginate(records, first, after);
  return { nodes: nodes.map((record) => new PreciseIndexSource(record)), totalCount: records.length, pageInfo };
}

/** Null if there is none, or the viewer may not see its repository. */
export function preciseIndexById(id: number | undefined, context: RequestContext): PreciseIndexSource | null {
  const record = id === undefined ? undefined : context.services.precise.get(id);
  return record === undefined || context.repositories.byId(record.repositoryId) === undefined
    ? null
    : new PreciseIndexSource(record);
}

export const preciseIndexMutations: Pick<ResolversOf<"Mutation">, "deletePreciseIndex"> = {
  deletePreciseIndex: async (_, { id }, context) => {
    const actor = context.requireSiteAdmin();
    const { precise, audit } = context.services;
    const index = precise.get(numericKey(id, preciseIndexKind));
    if (index === undefined) throw new TrawlError("not-found", "there is no such index (any more)");
    const repository = context.repositories.byId(index.repositoryId)?.name;
    await audit.around(auditEntry("index-deleted", actor, { index: index.id, repository, commit: index.commit }), () =>
      precise.remove([index.id]),
    );
    return nothing;
  },
};
