import { spawn } from "node:child_process";
import { errorMessage, TrawlError } from "../../base/errors.js";

/** A pager that shows what is written to `input`. */
export interface Pager {
  readonly input: NodeJS.WritableStream;
  /** Ends the input; resolves when the user has left the pager. */
  close(): Promise<void>;
}

/** Starts the pager of the environment, or less. It keeps colours, and leaves at once what fits on the screen. */
export function startPager(environment: NodeJS.ProcessEnv = process.env): Pager {
  const command = environment["TRAWL_PAGER"] || environment["PAGER"] || "less";
  const child = spawn("/bin/sh", ["-c", command], {
    stdio: ["pipe", "inherit", "inherit"],
    env: { LESS: "FRX", ...environment },
  });
  const ended = new Promise<void>((resolve, reject) => {
    child.on("error", (error) =>
      reject(new TrawlError("bad-config", `the pager "${command}" cannot be started: ${errorMessage(error)}`)),
    );
    child.on("exit", (code) => {
      if (code === 126 || code === 127)
        reject(new TrawlError("bad-config", `the pager "${command}" cannot be started; see TRAWL_PAGER and PAGER`));
      else resolve();
    });
  });
  ended.catch(() => undefined);
  // A pager that is left, or that cannot be started, closes its input; whoever writes to it hears of it, too.
  child.stdin.on("error", () => undefined);
  return {
    input: child.stdin,
    close: () => {
      child.stdin.end();
      return ended;
    },
  };
}
