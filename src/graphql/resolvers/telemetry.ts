import type { ResolversOf } from "../resolver-types.js";

const nothing = { alwaysNil: null };

/** What clients report about their own use is dropped. */
export const mutation: ResolversOf<"Mutation"> = {
  logEvent: () => nothing,
  logEvents: () => nothing,
  logUserEvent: () => nothing,
  telemetry: () => ({}),
};

export const telemetryMutation: ResolversOf<"TelemetryMutation"> = { recordEvents: () => nothing };
