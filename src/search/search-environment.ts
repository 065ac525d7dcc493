import type { Catalog } from "../catalog/catalog.js";
import type { CostBudgets } from "./limits/cost-budgets.js";
import type { LimitDefaults } from "./limits/search-limits.js";
import type { SourceServices } from "./local-source.js";
import type { ShardRepairs } from "./slices/shard-failure.js";

/** Services of the daemon that searches use, and its limits: each part of a search asks for those that it uses. */
export interface SearchEnvironment extends SourceServices, LimitDefaults, ShardRepairs {
  readonly catalog: Catalog;
  /** The `trace` URL of progress events. */
  readonly traceUrl: string;
  /** The `url` of receipts. */
  readonly receiptUrl: string;
  /** What the searches of each client may cost. */
  readonly budgets: CostBudgets;
}
