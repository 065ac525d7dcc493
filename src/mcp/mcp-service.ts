import {
  type CallToolResult,
  classifyInboundRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type JSONRPCResponse,
  ProtocolError,
  ProtocolErrorCode,
  Server,
  SUPPORTED_PROTOCOL_VERSIONS,
  type Transport,
} from "@modelcontextprotocol/server";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { RequestContext } from "../browse/request-context.js";
import type { Tool } from "./calls/tool.js";
import { ToolCalls, type ToolOutcome } from "./calls/tool-calls.js";
import { selectTools, type ToolSet } from "./tools/all-tools.js";
import { isObject } from "../base/is-object.js";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { errorMessage, TrawlError } from "../base/errors.js";
import { productVersion } from "../model/versions.js";
import { argumentSchema } from "./calls/tool-fields.js";

/** A message from a client, and the headers that describe it. */
export interface McpMessage {
  /** Parsed JSON. */
  readonly body: unknown;
  readonly protocolVersion: string | undefined;
  readonly method: string | undefined;
  readonly name: string | undefined;
}

export interface McpAnswer {
  readonly status: number;
  /** Undefined for an empty body. */
  readonly json: string | undefined;
}

/** Messages that need no answer: notifications, and answers to requests, which the server does not send. */
const accepted: McpAnswer = { status: 202, json: undefined };

type Era = "legacy" | "modern";

/** Serves messages without sessions: each is complete in itself, and any daemon with the same repositories can serve it. */
export class McpService {
  readonly #disabledTools: readonly string[];
  readonly #log: Log;
  readonly #calls: ToolCalls;
  readonly #tools = new Map<ToolSet, ReadonlyMap<string, Tool>>();
  readonly #channels = new Map<string, CallChannel>();

  constructor(disabledTools: readonly string[], log: Log, metrics: Metrics) {
    this.#disabledTools = disabledTools;
    this.#log = log;
    this.#calls = new ToolCalls(log, metrics);
  }

  /** The response to one message. The caller cancels the context when it is no longer wanted. */
  async answer(set: ToolSet, message: McpMessage, context: RequestContext): Promise<McpAnswer> {
    const { body, protocolVersion, method, name } = message;
    const isKnown = protocolVersion === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersion);
    const plain = isKnown ? readPlainCall(body, this.#toolsOf(set)) : undefined;
    if (plain !== undefined) {
      const outcome = await this.#calls.call(plain.tool, plain.given, context);
      return { status: 200, json: writePlainResponse(plain.id, outcome) };
    }
    const route = classifyInboundRequest({
      httpMethod: "POST",
      body,
      ...(protocolVersion === undefined ? {} : { protocolVersionHeader: protocolVersion }),
      ...(method === undefined ? {} : { mcpMethodHeader: method }),
      ...(name === undefined ? {} : { mcpNameHeader: name }),
    });
    if (route.kind === "reject") return refusal(route.httpStatus, readId(body), route);
    if (route.kind === "legacy") {
      if (route.reason === "batch")
        return refusal(400, null, {
          code: ProtocolErrorCode.InvalidRequest,
          message: "batches are not supported: send each message in a request of its own",
        });
      if (route.reason === "notification" || route.reason === "response") return accepted;
      if (!isKnown) return refusal(400, readId(body), unknownVersion(protocolVersion));
      return this.#call(set, "legacy", body as JSONRPCRequest, context);
    }
    if (route.messageKind === "notification") return accepted;
    return this.#call(set, "modern", route.message as JSONRPCRequest, context);
  }

  async #call(set: ToolSet, era: Era, request: JSONRPCRequest, context: RequestContext): Promise<McpAnswer> {
    // It would stay open, but the list of tools does not change.
    if (request.method === "subscriptions/listen") return refusal(404, request.id, methodNotFound);
    const response = await this.#channel(set, era).call(request, context);
    const isUnknown = "error" in response && response.error.code === ProtocolErrorCode.MethodNotFound;
    return {
      status: era === "modern" && isUnknown ? 404 : 200,
      json: await resultWhileYielding(writeInSteps(response)),
    };
  }

  #toolsOf(set: ToolSet): ReadonlyMap<string, Tool> {
    let tools = this.#tools.get(set);
    if (tools === undefined) {
      tools = new Map(selectTools(set, this.#disabledTools).map((tool) => [tool.name, tool]));
      this.#tools.set(set, tools);
    }
    return tools;
  }

  #channel(set: ToolSet, era: Era): CallChannel {
    const key = `${set} ${era}`;
    let channel = this.#channels.get(key);
    if (channel === undefined) {
      channel = startToolServer(this.#toolsOf(set), this.#calls, this.#log);
      this.#channels.set(key, channel);
    }
    return channel;
  }
}

/** In one step, which takes 1 ms for a long response: the next ones wait for their share of the main thread. */
// biome-ignore lint/correctness/useYield: see above.
function* writeInSteps(response: JSONRPCResponse): Generator<void, string> {
  return JSON.stringify(response);
}

const methodNotFound = { code: ProtocolErrorCode.MethodNotFound, message: "Method not found" };

function unknownVersion(version: string) {
  return {
    code: ProtocolErrorCode.InvalidRequest,
    message: `MCP-Protocol-Version ${JSON.stringify(version.slice(0, 60))} is not supported; supported are ${SUPPORTED_PROTOCOL_VERSIONS.join(", ")}`,
  };
}

function readId(body: unknown): string | number | null {
  if (typeof body !== "object" || body === null || !("id" in body)) return null;
  const { id } = body;
  return typeof id === "string" || typeof id === "number" ? id : null;
}

interface Refused {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
}

function refusal(status: number, id: string | number | null, { code, message, data }: Refused): McpAnswer {
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  return { status, json: JSON.stringify({ jsonrpc: "2.0", id, error }) };
}

/** A call of a known tool that says nothing else. */
interface PlainCall {
  readonly tool: Tool;
  readonly given: Readonly<Record<string, unknown>>;
  readonly id: string | number;
}

/**
 * The call that a message of the protocol of 2025 is, if the SDK would hand it on and its result back as they are. Most
 * messages are such calls, and the layers of the SDK, which check and copy them, take half of the time of one whose answer
 * is known. Without `_meta` it belongs to a protocol before that of 2026, whatever headers there are but one that names a later
 * version. Undefined for every other message: the SDK answers it.
 */
function readPlainCall(body: unknown, tools: ReadonlyMap<string, Tool>): PlainCall | undefined {
  if (!hasOnly(body, bodyMembers) || body.jsonrpc !== "2.0" || body.method !== "tools/call") return undefined;
  const { id, params } = body;
  if (typeof id !== "string" && !Number.isSafeInteger(id)) return undefined;
  if (!hasOnly(params, paramsMembers) || typeof params.name !== "string") return undefined;
  const tool = tools.get(params.name);
  const { arguments: given = {} } = params;
  // The SDK drops an argument with this name.
  if (tool === undefined || !isObject(given) || Object.hasOwn(given, "__proto__")) return undefined;
  return { tool, given, id: id as string | number };
}

/** The response of the SDK, byte for byte. */
function writePlainResponse(id: string | number, { isError, text }: ToolOutcome): string {
  const result = `{"content":[{"type":"text","text":${JSON.stringify(text)}}]${isError ? ',"isError":true' : ""}}`;
  return `{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
}

const bodyMembers: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);
const paramsMembers: ReadonlySet<string> = new Set(["name", "arguments"]);

function hasOnly(value: unknown, members: ReadonlySet<string>): value is Readonly<Record<string, unknown>> {
  return isObject(value) && Object.keys(value).every((name) => members.has(name));
}

/** What an assistant is told before it calls a tool. */
const instructions =
  "Searches are exhaustive: an answer names in completeness whatever it leaves out, and a complete answer has every match. Start with list_repos or keyword_search, narrow with repo:, file: and lang:, and read files with read_file. All tools only read.";

/**
 * A server of the SDK with these tools, on a channel that all calls share. The SDK serves the 2025 and the 2026 protocol
 * by different instances, so each has its own channel.
 */
function startToolServer(tools: ReadonlyMap<string, Tool>, calls: ToolCalls, log: Log): CallChannel {
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

interface Call {
  readonly context: RequestContext;
  readonly resolve: (response: JSONRPCResponse) => void;
}

/**
 * The transport of a server of the SDK that serves the calls of all clients, as long as the daemon runs. A server for
 * each call, as the SDK's own HTTP transport has it, takes 1.7 ms and leaves 50 KB behind.
 *
 * Clients number their calls alike, so each call gets a number of its own while it runs. The server keeps nothing about
 * a client: it sends responses only, and what it learns from `initialize` is not used.
 */
class CallChannel implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #calls = new Map<number, Call>();
  #nextId = 1;

  async start(): Promise<void> {
    // Messages arrive by `call`.
  }

  async close(): Promise<void> {
    this.onclose?.();
  }

  /** Hands a call to the server; resolves with its response, which has the id of the request. */
  async call(request: JSONRPCRequest, context: RequestContext): Promise<JSONRPCResponse> {
    const id = this.#nextId++;
    try {
      const response = await new Promise<JSONRPCResponse>((resolve) => {
        this.#calls.set(id, { context, resolve });
        this.onmessage?.({ ...request, id });
      });
      return { ...response, id: request.id };
    } finally {
      this.#calls.delete(id);
    }
  }

  /** The context of a running call, by the number that the server knows. */
  contextOf(id: string | number): RequestContext {
    const call = this.#calls.get(Number(id));
    if (call === undefined) throw new TrawlError("internal", `there is no call ${id}`);
    return call.context;
  }

  /** Messages other than responses belong to no request, so nobody waits for them. */
  async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message || message.id === undefined) return;
    this.#calls.get(Number(message.id))?.resolve(message);
  }
}
