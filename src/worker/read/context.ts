import { join } from "node:path";
import type { StopSignal } from "../../git/run.js";

/** What a handler of the read pool works with. */
export interface ReadContext {
  readonly dataFolder: string;
  /** True when the caller has gone or time is over: to be looked at often. */
  readonly stop: StopSignal;
}

/** Directory of a repository's mirror. */
export function mirrorOf({ dataFolder }: ReadContext, repositoryId: number): string {
  return join(dataFolder, "mirrors", `${repositoryId}.git`);
}
