import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from "node:worker_threads";
import { assert } from "../../base/assert.js";
import { callAfter } from "../../base/deadline.js";
import { deserializeError, errorMessage, type SerializedError, TrawlError } from "../../base/errors.js";
import { resultWhileYielding } from "../../base/yielding.js";
import type { ConfigurationProblem } from "../../model/configuration-problem.js";
import type { RepositoryConfig } from "../../model/repository.js";
import type { SearchContext } from "../../model/search-context.js";
import type { ResolvedOptions, TypedOptions } from "./options.js";

/** What the thread is given; it posts the lists to `parts` before its result. */
export interface OptionsRequest {
  readonly typed: TypedOptions;
  readonly parts: MessagePort;
  /** To be checked instead of the file; nothing is resolved then. */
  readonly text?: string;
}

/** Some of the repositories and contexts, in their order. */
export interface OptionsPart {
  readonly repositories: readonly RepositoryConfig[];
  readonly contexts: readonly SearchContext[];
}

export type OptionsResult =
  | { readonly kind: "resolved"; readonly options: Omit<ResolvedOptions, keyof OptionsPart> }
  | { readonly kind: "valid" }
  | { readonly kind: "failed"; readonly error: SerializedError };

const threadFile = new URL("./options-thread.js", import.meta.url);

/** 10,000 repositories take 0.3 s. */
const timeoutMs = 60_000;

/** Far more than a file of the size that an operator edits needs; without a limit the thread could take all memory. */
const heapMebibytesMax = 1024;

/**
 * Like `resolveOptions`, for a daemon that is serving: it reads the file in a thread of its own, because a file with
 * 10,000 repositories takes 0.1 to 0.2 s, and takes over the result in steps.
 */
export async function rereadOptions(typed: TypedOptions): Promise<ResolvedOptions> {
  const { port1: parts, port2 } = new MessageChannel();
  try {
    const result = await runThread({ typed, parts: port2 });
    if (result.kind === "failed") throw deserializeError(result.error);
    assert(result.kind === "resolved", "the thread was not asked to check a text");
    return { ...result.options, ...(await resultWhileYielding(receiveParts(parts))) };
  } finally {
    parts.close();
  }
}

/** What stands for the path of the file in errors of a text that is no file yet. */
export const checkedPath = "trawl.jsonc";

/** Longer texts are refused; 10,000 repositories have 1.5 MB. */
const checkedLengthMax = 4 << 20;

let isChecking = false;

/**
 * What is wrong with a text as the configuration file, with the options of the command line, in the order of its lines;
 * empty if the daemon could start with it. One text is checked at a time; others are refused with `overloaded`.
 */
export async function checkConfiguration(typed: TypedOptions, text: string): Promise<readonly ConfigurationProblem[]> {
  if (text.length > checkedLengthMax)
    throw new TrawlError("bad-request", `the text is longer than ${checkedLengthMax} characters`);
  if (isChecking) throw new TrawlError("overloaded", "another configuration is being checked: try again");
  isChecking = true;
  const { port1: parts, port2 } = new MessageChannel();
  try {
    const result = await runThread({ typed, parts: port2, text });
    if (result.kind !== "failed") return [];
    const error = deserializeError(result.error);
    if (!(error instanceof TrawlError) || error.code !== "bad-config") throw error;
    return error.message.split("\n").map(splitProblem);
  } finally {
    isChecking = false;
    parts.close();
  }
}

function splitProblem(line: string): ConfigurationProblem {
  const [, number, message] = /^trawl\.jsonc:([0-9]+): (.*)$/s.exec(line) ?? [];
  return number === undefined || message === undefined
    ? { line: null, message: line }
    : { line: Number(number), message };
}

function runThread(request: OptionsRequest): Promise<OptionsResult> {
  return new Promise((resolve, reject) => {
    const thread = new Worker(threadFile, {
      workerData: request,
      transferList: [request.parts],
      // Those of this process may be for its own entry only.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heapMebibytesMax },
    });
    const fail = (reason: string): void => {
      reject(new TrawlError("bad-config", `the configuration could not be read: ${reason}`));
    };
    const timer = callAfter(timeoutMs, () => {
      fail(`it takes longer than ${timeoutMs / 1000} s`);
      void thread.terminate();
    });
    thread.on("message", (result: OptionsResult) => resolve(result));
    thread.on("error", (error) => fail(errorMessage(error)));
    thread.on("exit", () => {
      timer.cancel();
      fail("its thread ended early");
    });
  });
}

/** All parts have been posted when the thread's result has arrived. */
function* receiveParts(parts: MessagePort): Generator<void, OptionsPart> {
  const repositories: RepositoryConfig[] = [];
  const contexts: SearchContext[] = [];
  for (;;) {
    const received = receiveMessageOnPort(parts) as { readonly message: OptionsPart } | undefined;
    if (received === undefined) return { repositories, contexts };
    repositories.push(...received.message.repositories);
    contexts.push(...received.message.contexts);
    yield;
  }
}
