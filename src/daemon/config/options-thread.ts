/**
 * Entry of the thread that resolves options while the daemon runs, or checks a text as its configuration file. The lists are posted in parts that take less than a
 * millisecond to receive, then the rest.
 */
import { parentPort, workerData } from "node:worker_threads";
import { assert } from "../../base/assert.js";
import { serializeError } from "../../base/errors.js";
import { checkConfigText, resolveOptions } from "./config.js";
import { checkedPath, type OptionsPart, type OptionsRequest, type OptionsResult } from "./reread-options.js";

const itemsOfPart = 200;

const { typed, parts, text } = workerData as OptionsRequest;

function postParts<Key extends keyof OptionsPart>(key: Key, items: OptionsPart[Key]): void {
  for (let at = 0; at < items.length; at += itemsOfPart) {
    const part: OptionsPart = { repositories: [], contexts: [], [key]: items.slice(at, at + itemsOfPart) };
    parts.postMessage(part);
  }
}

function resolveAndPost(): OptionsResult {
  try {
    if (text !== undefined) {
      checkConfigText(typed, checkedPath, text);
      return { kind: "valid" };
    }
    const { repositories, contexts, ...options } = resolveOptions(typed);
    postParts("repositories", repositories);
    postParts("contexts", contexts);
    return { kind: "resolved", options };
  } catch (error) {
    return { kind: "failed", error: serializeError(error) };
  }
}

assert(parentPort !== null, "this file is started as a thread");
parentPort.postMessage(resolveAndPost());
