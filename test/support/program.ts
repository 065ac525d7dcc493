/**
 * The command line and the daemon that tests start in a process of their own. `make test` starts them from the bundle of
 * scripts/bundle.mjs, since that takes half the processor time; a test file that is run directly starts the
 * modules that were compiled with it.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const bundle = process.env["TRAWL_BUNDLE"];

export const isBundled = bundle !== undefined;

const urlOf = (module: string, bundled: string): string =>
  bundle === undefined
    ? new URL(`../../src/${module}`, import.meta.url).href
    : pathToFileURL(join(bundle, bundled)).href;

export const cliUrl = urlOf("cli/main.js", "cli.mjs");
export const daemonUrl = urlOf("daemon/main.js", "daemon.mjs");
