import { gitOutputTargets } from "./git-output-targets.js";
import { graphqlTargets } from "./graphql-targets.js";
import { httpTargets } from "./http-targets.js";
import { nativeTargets } from "./native-targets.js";
import { packTargets } from "./pack-targets.js";
import { queryTargets } from "./query-targets.js";
import { rankingTarget } from "./ranking-target.js";
import { requestFilterTarget } from "./request-filter-target.js";
import { leafTarget } from "./leaf-target.js";
import type { FuzzTarget } from "./runner.js";
import { scipTargets } from "./scip-targets.js";
import { shardTargets } from "./shard-targets.js";
import { textFileTargets } from "./text-file-targets.js";
import { mirrorTarget, wireTarget } from "./wire-target.js";

/** All readers of what a client sends, a remote says or a commit holds. */
export const targets: readonly FuzzTarget[] = [
  ...queryTargets,
  ...httpTargets,
  requestFilterTarget,
  ...graphqlTargets,
  ...gitOutputTargets,
  ...textFileTargets,
  ...packTargets,
  ...shardTargets,
  ...scipTargets,
  ...nativeTargets,
  rankingTarget,
  wireTarget,
  leafTarget,
  mirrorTarget,
];
