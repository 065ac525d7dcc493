import { lazy } from "../../base/lazy.js";
import type { McpService } from "../../mcp/mcp-service.js";
import type { ResolvedOptions } from "../config/options.js";
import { checkDisabledTools } from "../config/option-problems.js";
import type { DaemonParts } from "./parts.js";

/** Undefined if it is switched off. */
export type McpLoader = (() => Promise<McpService>) | undefined;

/** Throws `bad-config` for a disabled tool that does not exist. */
export function mcpLoader(options: ResolvedOptions, parts: DaemonParts): McpLoader {
  checkDisabledTools(options);
  return options.mcp.enabled ? lazy(() => loadMcpService(options, parts)) : undefined;
}

/** Loads the SDK, which takes 0.1 s, so that the start does not wait for it. */
async function loadMcpService(
  { mcp }: ResolvedOptions,
  { log, registry }: Pick<DaemonParts, "log" | "registry">,
): Promise<McpService> {
  const { McpService } = await import("../../mcp/mcp-service.js");
  return new McpService(mcp["tools.disabled"], log, registry.metrics);
}
