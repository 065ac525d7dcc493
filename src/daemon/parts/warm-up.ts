import type { GraphqlExecutor } from "../../graphql/execution/executor.js";
import type { DaemonParts } from "./parts.js";
import type { McpLoader } from "./mcp-parts.js";

/** What is prepared after the start, so that the first requests do not wait for it; each takes 10 ms or more. */
export function warmUpSteps(parts: DaemonParts, graphql: () => GraphqlExecutor, mcp: McpLoader): (() => void)[] {
  return [
    () => void parts.snapshots.takeIfChanged(),
    () => parts.warmer.start(),
    () => parts.threads.read.warm(),
    () => void graphql(),
    () => void graphql().warmUp(),
    () => void mcp?.(),
  ];
}
