import { ProtocolError, ProtocolErrorCode, Server, type CallToolResult } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { monotonicMs } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { RequestContext } from "../browse/request-context.js";
import { productVersion } from "../model/versions.js";
import { writeAnswerInSteps } from "./answer.js";
import { CallChannel } from "./call-channel.js";
import { argumentSchema } from "./fields.js";
import type { Tool } from "./tool.js";

/** What an assistant is told before it calls a tool. */
const instructions =
  "Searches are exhaustive: an answer names in completeness whatever it leaves out, and a complete answer has every match. Start with list_repos or keyword_search, narrow with repo:, file: and lang:, and read files with read_file. All tools only read.";

/**
 * A server of the SDK with these tools, on a channel that all calls share. The SDK serves the 2025 and the 2026 protocol
 * by different instances, so each has its own channel.
 */
export function startToolServer(tools: readonly Tool[], log: Log, metrics: Metrics): CallChannel {
  const channel = new CallChannel();
  const onerror = (error: Error): void => log.debug({ err: error }, `mcp: ${errorMessage(error)}`);
  // The SDK's way to serve either protocol on a transport of one's own.
  serveStdio(() => createServer(tools, channel, log, metrics), { transport: channel, onerror });
  return channel;
}

function createServer(tools: readonly Tool[], channel: CallChannel, log: Log, metrics: Metrics): Server {
  const server = new Server({ name: "trawl", version: productVersion }, { capabilities: { tools: {} }, instructions });
  const list = { tools: tools.map(describeTool) };
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  server.setRequestHandler("tools/list", () => list);
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const tool = byName.get(params.name);
    if (tool === undefined)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no tool ${JSON.stringify(params.name.slice(0, 100))}; the tools are ${[...byName.keys()].join(", ")}`,
      );
    return await callTool(tool, params.arguments ?? {}, channel.contextOf(mcpReq.id), log, metrics);
  });
  return server;
}

function describeTool({ name, title, description, fields }: Tool) {
  return {
    name,
    title,
    description,
    inputSchema: argumentSchema(fields),
    annotations: { title, readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
  };
}

async function callTool(
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
  context: RequestContext,
  log: Log,
  metrics: Metrics,
): Promise<CallToolResult> {
  const startMs = monotonicMs();
  metrics.mcpCallsRunning.inc();
  let outcome: "ok" | "error" | "cancelled" = "ok";
  try {
    const { answer, maxBytes } = await tool.run(given, context);
    return { content: [{ type: "text", text: await resultWhileYielding(writeAnswerInSteps(answer, maxBytes)) }] };
  } catch (error) {
    outcome = context.isCancelled ? "cancelled" : "error";
    return { isError: true, content: [{ type: "text", text: describeError(tool, error, log) }] };
  } finally {
    metrics.mcpCallsRunning.dec();
    metrics.mcpCalls.inc({ tool: tool.name, outcome });
    metrics.mcpCallSeconds.observe({ tool: tool.name }, (monotonicMs() - startMs) / 1000);
  }
}

/** The message of an error that the caller or the environment caused; a bug is logged. */
function describeError({ name }: Tool, error: unknown, log: Log): string {
  if (error instanceof TrawlError && error.code !== "internal") return `${name}: ${error.message}`;
  log.error({ err: error }, `the tool ${name} failed: ${errorMessage(error)}`);
  return `${name}: internal error`;
}
