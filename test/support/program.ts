/**
 * The command line and the daemon that tests start in a process of their own. `make test` starts them from the bundle of
 * scripts/bundle.mjs, since that takes half the processor time; a test file that is run directly starts the
 * modules that were compiled with it.
 */
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const bundle = process.env["TRAWL_BUNDLE"];

export const isBundled = bundle !== undefined;

const urlOf = (module: string, bundled: string): string =>
  bundle === undefined
    ? new URL(`../../src/${module}`, import.meta.url).href
    : pathToFileURL(join(bundle, bundled)).href;

export const cliUrl = urlOf("cli/main.js", "cli.mjs");
export const daemonUrl = urlOf("daemon/main.js", "daemon.mjs");

/**
 * Text of CommonJS for a module of those, or a promise of it. The bundle gets by without the loader of ES modules, which takes a tenth of
 * the processor time of a short command.
 */
const loading = (url: string, bundled: string): string => {
  if (bundle === undefined) return `import(${JSON.stringify(url)})`;
  const required = (name: string): string => `require(${JSON.stringify(resolve(bundle, name))})`;
  return `(${required("compiled-code.cjs")}, ${required(bundled)})`;
};

export const loadingCli = loading(cliUrl, "cli.cjs");
export const loadingDaemon = loading(daemonUrl, "daemon.cjs");
