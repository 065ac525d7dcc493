import { BoundedMap } from "../base/bounded-map.js";
import type { RequestContext } from "../browse/request-context.js";
import type { CheckedArguments } from "./tool.js";

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
export class AnswerCache {
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
