import { nothing } from "./connections.js";
import type { ResolversOf } from "../execution/resolver-types.js";

/** What clients report about their own use is dropped. */
export const telemetryMutations: Pick<
  ResolversOf<"Mutation">,
  "logEvent" | "logEvents" | "logUserEvent" | "telemetry"
> = { logEvent: () => nothing, logEvents: () => nothing, logUserEvent: () => nothing, telemetry: () => ({}) };

export const telemetryMutation: ResolversOf<"TelemetryMutation"> = { recordEvents: () => nothing };
