import { workerData } from "node:worker_threads";
import { serializeError, TrawlError } from "../base/errors.js";
import type { WorkerSettings } from "./messages.js";
import type { ReadAnswer, ReadKind, ReadOutcome, ReadRequest, ReadTask } from "./read-messages.js";
import type { ReadContext } from "./read/context.js";
import { answerCommitFacts } from "./read/commit-facts.js";
import { answerGitRead } from "./read/git-reads.js";
import { answerResolveRevisions } from "./read/resolve-revisions.js";
import { settingsOf } from "./settings.js";

const settings = settingsOf<WorkerSettings>(workerData);

/** Answers one request from the mirrors. */
export default async function runReadTask({ request, stops }: ReadTask): Promise<ReadOutcome> {
  const stop = (): boolean => stops.some((word) => Atomics.load(word, 0) !== 0);
  try {
    if (stop()) throw new TrawlError("cancelled", "the read was stopped before it began");
    return { ok: true, answer: await answer(request, { dataFolder: settings.dataFolder, stop }) };
  } catch (error) {
    return { ok: false, error: serializeError(error) };
  }
}

function answer(request: ReadRequest, context: ReadContext): Promise<ReadAnswer<ReadKind>> {
  switch (request.kind) {
    case "commit-facts": return answerCommitFacts(request, context);
    case "resolve-revisions": return answerResolveRevisions(request, context);
    default: return answerGitRead(request, context);
  }
}
