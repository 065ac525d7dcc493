// Which releases of Node the daemon runs on. Plain enough for old ones to read it, as they are to be told.
//
//   node bin/node-version.mjs     says what is wrong, and ends with 2 then

/** Major release, and the first of its minor ones that will do. */
const supported = [[20, 15], [22, 12], [24, 0]];

const names = supported.map(([major, minor]) => `${major}.${minor}`).join(", ");

/** What is wrong with a version, and what to do; undefined for one that will do. */
export function nodeProblem(version) {
  const [major, minor] = version.split(".").map(Number);
  if (supported.some(([other, first]) => other === major && minor >= first)) return undefined;
  return `this is Node ${version}, and it takes one of Node ${names} or later of the same major release: install that, as https://nodejs.org/en/download says, and put it first in PATH`;
}

if (process.argv[1] !== undefined && import.meta.url.endsWith("/node-version.mjs") && process.argv[1].endsWith("node-version.mjs")) {
  const problem = nodeProblem(process.versions.node);
  if (problem !== undefined) {
    process.stderr.write(`trawl: ${problem}\n`);
    process.exitCode = 2;
  }
}
