import type { ResolversOf } from "../execution/resolver-types.js";
import { contextMutations } from "./contexts.js";
import { organisationMutations } from "./organisations.js";
import { repositoryMutations } from "./repository-changes.js";
import { savedSearchMutations } from "./saved-searches.js";
import { searchJobMutations } from "./search-jobs.js";
import { settingsMutations } from "./settings.js";
import { siteMutations } from "./site.js";
import { teamMutations } from "./teams.js";
import { telemetryMutations } from "./telemetry.js";
import { tokenMutations } from "./tokens.js";
import { userMutations } from "./users.js";

/**
 * All that changes something. Each asks who may do it before it looks at anything else, so that who may not learns
 * nothing; and is durable before it is answered.
 */
export const mutation: ResolversOf<"Mutation"> = {
  ...telemetryMutations,
  ...repositoryMutations,
  ...contextMutations,
  ...searchJobMutations,
  ...userMutations,
  ...tokenMutations,
  ...organisationMutations,
  ...teamMutations,
  ...settingsMutations,
  ...savedSearchMutations,
  ...siteMutations,
};
