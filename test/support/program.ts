/**
 * The command line and the daemon that tests start in a process of their own. `make test` starts them from the bundle of
 * scripts/bundle-daemon.mjs, since that takes half the processor time; a test file that is run directly starts the
 * modules that were compiled with it.
 */
const bundle = process.env["TRAWL_BUNDLE"];

export const cliUrl =
  bundle === undefined ? new URL("../../src/cli/main.js", import.meta.url).href : `${bundle}/cli.mjs`;

export const daemonUrl =
  bundle === undefined ? new URL("../../src/daemon/main.js", import.meta.url).href : `${bundle}/daemon.mjs`;
