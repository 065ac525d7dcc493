import { resolve } from "node:path";
import { TrawlError } from "../base/errors.js";
import { resolveOptions } from "../daemon/config/config.js";

/** The options of `trawl serve`, as given on the command line. */
export interface ServeArguments {
  readonly config?: string;
  readonly data?: string;
  readonly listen?: string;
  readonly repository: readonly string[];
  readonly set: readonly string[];
}

/** Runs the daemon until it is stopped; resolves with the exit code. The daemon's code is loaded only here. */
export async function serve(typed: ServeArguments): Promise<number> {
  const options = resolveOptions({
    configFile: typed.config,
    overrides: [
      ...typed.set.map(keyAndValue),
      ...(typed.data === undefined ? [] : [["data", resolve(typed.data)] as const]),
      ...(typed.listen === undefined ? [] : [["listen", typed.listen] as const]),
    ],
    repositories: typed.repository,
  });
  const { runDaemon } = await import("../daemon/main.js");
  return await runDaemon(options);
}

function keyAndValue(text: string): readonly [key: string, value: string] {
  const at = text.indexOf("=");
  if (at < 1) throw new TrawlError("bad-config", `--set takes KEY=VALUE, not ${JSON.stringify(text)}`);
  return [text.slice(0, at), text.slice(at + 1)];
}
