import { monotonicMs } from "../base/deadline.js";
import { errorMessage, TrawlError } from "../base/errors.js";
import type { Log } from "../base/log.js";
import type { Metrics } from "../base/metrics.js";
import { resultWhileYielding } from "../base/yielding.js";
import type { RequestContext } from "../browse/request-context.js";
import { writeAnswerInSteps } from "./answer.js";
import { AnswerCache } from "./answer-cache.js";
import type { Tool } from "./tool.js";

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
      return { isError: true, text: this.#describe(tool, error) };
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
  #describe({ name }: Tool, error: unknown): string {
    if (error instanceof TrawlError && error.code !== "internal") return `${name}: ${error.message}`;
    this.#log.error({ err: error }, `the tool ${name} failed: ${errorMessage(error)}`);
    return `${name}: internal error`;
  }
}

/** Throws `overloaded` if the client may not search now, whether it has used up its budget or its share. */
export function requireAdmission({ services, client }: RequestContext): void {
  const refusal = services.searcher.admit(client);
  if (refusal !== undefined) throw new TrawlError("overloaded", refusal.message);
}
