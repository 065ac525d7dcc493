import type { ResolversOf } from "../execution/resolver-types.js";
import { contextMutations } from "./contexts.js";
import { serviceMutations } from "./external-services.js";
import { invitationMutations } from "./invitations.js";
import { organizationMutations } from "./organizations.js";
import { ownershipMutations } from "./ownership.js";
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
 * All mutations. Each checks permissions before it reads anything else, so that an unauthorized viewer learns nothing;
 * and its change is durable before the response.
 */
export const mutation: ResolversOf<"Mutation"> = {
  ...telemetryMutations,
  ...repositoryMutations,
  ...serviceMutations,
  ...ownershipMutations,
  ...contextMutations,
  ...searchJobMutations,
  ...userMutations,
  ...tokenMutations,
  ...organizationMutations,
  ...invitationMutations,
  ...teamMutations,
  ...settingsMutations,
  ...savedSearchMutations,
  ...siteMutations,
};
