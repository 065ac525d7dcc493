import { classifyInboundRequest, ProtocolErrorCode, SUPPORTED_PROTOCOL_VERSIONS } from "@modelcontextprotocol/server";
import type { JSONRPCRequest, JSONRPCResponse } from "@modelcontextprotocol/server";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { RequestContext } from "../browse/request-context.js";
import type { CallChannel } from "./call-channel.js";
import { readPlainCall, writePlainResponse } from "./plain-call.js";
import type { Tool } from "./tool.js";
import { ToolCalls } from "./tool-calls.js";
import { startToolServer } from "./tool-server.js";
import { selectTools, type ToolSet } from "./tools/all.js";

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
      const isKnown = protocolVersion === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(protocolVersion);
      if (!isKnown) return refusal(400, readId(body), unknownVersion(protocolVersion));
      const plain = readPlainCall(body, this.#toolsOf(set));
      if (plain === undefined) return this.#call(set, "legacy", body as JSONRPCRequest, context);
      const outcome = await this.#calls.call(plain.tool, plain.given, context);
      return { status: 200, json: writePlainResponse(plain.id, outcome) };
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
