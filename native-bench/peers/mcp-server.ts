// Serves a tool with the SDK of the Model Context Protocol, as in its documentation: `mcp-server.js ANSWER`. Prints its
// address. The tool answers at once with the text of the file ANSWER.
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";

const text = readFileSync(process.argv[2] ?? "", "utf8");

const handler = createMcpHandler(() => {
  const server = new McpServer({ name: "example", version: "1.0.0" });
  const inputSchema = fromJsonSchema<{ query: string }>({
    type: "object",
    properties: { query: { type: "string" } },
    required: ["query"],
  });
  server.registerTool("keyword_search", { description: "Searches", inputSchema }, async () => ({
    content: [{ type: "text", text }],
  }));
  return server;
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request);
  const headers = Object.entries(request.headers).flatMap(([name, value]): [string, string][] =>
    typeof value === "string" ? [[name, value]] : [],
  );
  const answered = await handler.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }));
  const bytes = Buffer.from(await answered.arrayBuffer());
  response
    .writeHead(answered.status, { "Content-Type": "application/json", "Content-Length": bytes.length })
    .end(bytes);
}

const server = createServer((request, response) => void answer(request, response));
server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
