import { ProtocolError, ProtocolErrorCode, Server, type CallToolResult } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { errorMessage } from "../base/errors.js";
import type { Log } from "../base/log.js";
import { productVersion } from "../model/versions.js";
import { CallChannel } from "./call-channel.js";
import { argumentSchema } from "./fields.js";
import type { Tool } from "./tool.js";
import type { ToolCalls, ToolOutcome } from "./tool-calls.js";

/** What an assistant is told before it calls a tool. */
const instructions =
  "Searches are exhaustive: an answer names in completeness whatever it leaves out, and a complete answer has every match. Start with list_repos or keyword_search, narrow with repo:, file: and lang:, and read files with read_file. All tools only read.";

/**
 * A server of the SDK with these tools, on a channel that all calls share. The SDK serves the 2025 and the 2026 protocol
 * by different instances, so each has its own channel.
 */
export function startToolServer(tools: ReadonlyMap<string, Tool>, calls: ToolCalls, log: Log): CallChannel {
  const channel = new CallChannel();
  const onerror = (error: Error): void => log.debug({ err: error }, `mcp: ${errorMessage(error)}`);
  // The SDK's way to serve either protocol on a transport of one's own.
  serveStdio(() => createServer(tools, channel, calls), { transport: channel, onerror });
  return channel;
}

function createServer(tools: ReadonlyMap<string, Tool>, channel: CallChannel, calls: ToolCalls): Server {
  const server = new Server({ name: "trawl", version: productVersion }, { capabilities: { tools: {} }, instructions });
  const list = { tools: [...tools.values()].map(describeTool) };
  server.setRequestHandler("tools/list", () => list);
  server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
    const tool = tools.get(params.name);
    if (tool === undefined)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `there is no tool ${JSON.stringify(params.name.slice(0, 100))}; the tools are ${[...tools.keys()].join(", ")}`,
      );
    return toResult(await calls.call(tool, params.arguments ?? {}, channel.contextOf(mcpReq.id)));
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

function toResult({ isError, text }: ToolOutcome): CallToolResult {
  const content: CallToolResult["content"] = [{ type: "text", text }];
  return isError ? { isError, content } : { content };
}
