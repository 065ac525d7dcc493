// The Node releases that the daemon supports. Uses only basic syntax, so that unsupported releases can run it.
//
//   node bin/node-version.mjs     prints an error and exits with 2 if the release is not supported

/** Major release, and its first supported minor release. */
const supported = [[20, 15], [22, 12], [24, 0]];

const names = supported.map(([major, minor]) => `${major}.${minor}`).join(", ");

/** Why a version is not supported, with the remedy; undefined if it is supported. */
export function nodeProblem(version) {
  const [major, minor] = version.split(".").map(Number);
  if (supported.some(([other, first]) => other === major && minor >= first)) return undefined;
  return `this is Node ${version}, but Node ${names}, or a later version of the same major release, is required: install one from https://nodejs.org/en/download, and put it first in PATH`;
}

if (process.argv[1] !== undefined && import.meta.url.endsWith("/node-version.mjs") && process.argv[1].endsWith("node-version.mjs")) {
  const problem = nodeProblem(process.versions.node);
  if (problem !== undefined) {
    process.stderr.write(`trawl: ${problem}\n`);
    process.exitCode = 2;
  }
}
