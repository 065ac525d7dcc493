import { nothing } from "./connections.js";
import type { ResolversOf } from "../execution/resolver-types.js";

/** Usage data reported by clients is discarded. */
export const telemetryMutations: Pick<
  ResolversOf<"Mutation">,
  "logEvent" | "logEvents" | "logUserEvent" | "telemetry"
> = { logEvent: () => nothing, logEvents: () => nothing, logUserEvent: () => nothing, telemetry: () => ({}) };

export const telemetryMutation: ResolversOf<"TelemetryMutation"> = { recordEvents: () => nothing };
