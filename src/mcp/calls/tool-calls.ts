import { monotonicMs } from "../../base/deadline.js";
import { errorMessage, TrawlError } from "../../base/errors.js";
import type { Log } from "../../base/log.js";
import type { Metrics } from "../../base/metrics.js";
import { resultWhileYielding } from "../../base/yielding.js";
import type { RequestContext } from "../../browse/request-context.js";
import { internalError, originFields } from "../../model/request-origin.js";
import { writeAnswerInSteps, type CheckedArguments, type Tool } from "./tool.js";
import { BoundedMap } from "../../base/bounded-map.js";

/** What the caller of a tool is told. */
export interface ToolOutcome {
  readonly isError: boolean;
  readonly text: string;
}

/** Runs tools. What goes wrong is an outcome, too: `call` never rejects. */
export class ToolCalls {
  readonly #log: Log;
  readonly #metrics: Metrics;
  readonly #cache = new AnswerCache();

  constructor(log: Log, metrics: Metrics) {
    this.#log = log;
    this.#metrics = metrics;
  }

  async call(tool: Tool, given: Readonly<Record<string, unknown>>, context: RequestContext): Promise<ToolOutcome> {
    const startMs = monotonicMs();
    const metrics = this.#metrics;
    metrics.mcpCallsRunning.inc();
    let outcome: "ok" | "error" | "cancelled" = "ok";
    try {
      return { isError: false, text: await this.#answer(tool, given, context) };
    } catch (error) {
      outcome = context.isCancelled ? "cancelled" : "error";
      return { isError: true, text: this.#describe(tool, error, context) };
    } finally {
      metrics.mcpCallsRunning.dec();
      metrics.mcpCalls.inc({ tool: tool.name, outcome });
      metrics.mcpCallSeconds.observe({ tool: tool.name }, (monotonicMs() - startMs) / 1000);
    }
  }

  async #answer(tool: Tool, given: Readonly<Record<string, unknown>>, context: RequestContext): Promise<string> {
    const args = tool.read(given);
    const state = this.#cache.stateOf(tool.name, args, context);
    const kept = this.#cache.find(state);
    if (kept !== undefined) {
      requireAdmission(context);
      this.#metrics.mcpAnswersReused.inc();
      return kept;
    }
    const answer = await tool.run(args, context);
    const text = await resultWhileYielding(writeAnswerInSteps(answer, args.max_bytes));
    if (answer.isRepeatable === true) this.#cache.add(state, text, context);
    return text;
  }

  /** The message of an error that the caller or the environment caused; a bug is logged. */
  #describe({ name }: Tool, error: unknown, { origin }: RequestContext): string {
    if (error instanceof TrawlError && error.code !== "internal") return `${name}: ${error.message}`;
    this.#log.error({ ...originFields(origin), err: error }, `the tool ${name} failed: ${errorMessage(error)}`);
    return `${name}: ${internalError(origin)}`;
  }
}

/** Throws `overloaded` if the client may not search now, whether it has used up its budget or its share. */
export function requireAdmission({ services, client }: RequestContext): void {
  const refusal = services.searcher.admit(client);
  if (refusal !== undefined) throw new TrawlError("overloaded", refusal.message);
}

/** Limit on the memory of all answers, with what was asked. */
const bytesMax = 16 << 20;

/** A longer answer is not kept. */
const answerBytesMax = 256 << 10;

interface KeptAnswer {
  readonly text: string;
  readonly bytes: number;
}

/** What an answer depends on besides the tool and its arguments. */
interface CallState {
  /** Of the catalog. */
  readonly version: number;
  readonly key: string;
}

/**
 * Answers that only depend on the tool, the arguments, the repositories that the viewer may see, and what is indexed:
 * assistants repeat their calls. Any change of the catalog drops all of them, and viewers share one only if they see the
 * same repositories, since their answers are computed from the same table.
 */
class AnswerCache {
  readonly #answers = new BoundedMap<string, KeptAnswer>(bytesMax, ({ bytes }) => bytes);
  #version = -1;

  /** Describes a call before it begins. */
  stateOf(tool: string, args: CheckedArguments, { services, repositories }: RequestContext): CallState {
    return { version: services.catalog.version, key: `${repositories.id} ${tool} ${JSON.stringify(args)}` };
  }

  find({ version, key }: CallState): string | undefined {
    this.#drop(version);
    return this.#answers.get(key)?.text;
  }

  /** Keeps the answer to the call, unless the catalog has changed since the call began. */
  add({ version, key }: CallState, text: string, { services }: RequestContext): void {
    if (version !== services.catalog.version || text.length > answerBytesMax) return;
    this.#drop(version);
    // Two bytes for each character, if some are beyond latin1.
    this.#answers.set(key, { text, bytes: 2 * (key.length + text.length) });
  }

  #drop(version: number): void {
    if (version === this.#version) return;
    this.#answers.clear();
    this.#version = version;
  }
}
