import type { ResolversOf } from "../resolver-types.js";
import { contextMutations } from "./contexts.js";
import { repositoryMutations } from "./repository-changes.js";
import { searchJobMutations } from "./search-jobs.js";
import { telemetryMutations } from "./telemetry.js";

/**
 * All that changes something. Each asks who may do it before it looks at anything else, so that who may not learns nothing;
 * and is durable before it is answered.
 */
export const mutation: ResolversOf<"Mutation"> = { ...searchJobMutations, ...telemetryMutations, ...repositoryMutations, ...contextMutations };
