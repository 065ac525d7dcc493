import { isObject } from "../base/is-object.js";
import type { Tool } from "./tool.js";
import type { ToolOutcome } from "./tool-calls.js";

/** A call of a known tool that says nothing else. */
export interface PlainCall {
  readonly tool: Tool;
  readonly given: Readonly<Record<string, unknown>>;
  readonly id: string | number;
}

/**
 * The call that a message of the protocol of 2025 is, if the SDK would hand it on and its result back as they are. Most
 * messages are such calls, and the layers of the SDK, which check and copy them, take half of the time of one whose answer
 * is known. Undefined for every other message: the SDK answers it.
 */
export function readPlainCall(body: unknown, tools: ReadonlyMap<string, Tool>): PlainCall | undefined {
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
export function writePlainResponse(id: string | number, { isError, text }: ToolOutcome): string {
  const result = `{"content":[{"type":"text","text":${JSON.stringify(text)}}]${isError ? ',"isError":true' : ""}}`;
  return `{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`;
}

const bodyMembers: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params"]);
const paramsMembers: ReadonlySet<string> = new Set(["name", "arguments"]);

function hasOnly(value: unknown, members: ReadonlySet<string>): value is Readonly<Record<string, unknown>> {
  return isObject(value) && Object.keys(value).every((name) => members.has(name));
}
