import { lazy } from "../../base/lazy.js";
import { TrawlError } from "../../base/errors.js";
import { toolNames } from "../../mcp/tools/all.js";
import type { McpService } from "../../mcp/mcp-service.js";
import type { ResolvedOptions } from "../options.js";
import type { DaemonParts } from "./parts.js";

/** Throws `bad-config` for a name that is no tool. */
export function checkDisabledTools({ mcp }: Pick<ResolvedOptions, "mcp">): void {
  const unknown = mcp["tools.disabled"].find((name) => !toolNames.includes(name));
  if (unknown !== undefined)
    throw new TrawlError(
      "bad-config",
      `mcp.tools.disabled: there is no tool ${JSON.stringify(unknown)}; the tools are ${toolNames.join(", ")}`,
    );
}

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
