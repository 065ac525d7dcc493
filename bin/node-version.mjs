// The platforms that the daemon supports. Uses only basic syntax, so that unsupported releases can run it.
//
//   node bin/node-version.mjs     prints an error and exits with 2 if this release or this system is not supported

/**
 * Releases of Node: the major, its first supported minor, and the ABI for which uWebSockets.js has a binary. The package
 * sanitize-html needs a `require` that loads modules, which Node 20 has since 20.19.
 */
export const releases = [
  { major: 20, minor: 19, abi: "115" },
  { major: 22, minor: 12, abi: "127" },
  { major: 24, minor: 0, abi: "137" },
];

/** Systems for which uWebSockets.js has a binary, and the first glibc with which it loads. */
const architectures = ["x64", "arm64"];
const glibcMin = "2.36";

/** It has none for later ones; Node 25 is no release with long support. */
const majorMax = 25;

const names = releases.map(({ major, minor }) => `${major}.${minor}`).join(", ");

/** Why a version is not supported, with the remedy; undefined if it is supported. */
export function nodeProblem(version) {
  const [major, minor] = numbers(version);
  if (releases.some((release) => release.major === major && minor >= release.minor)) return undefined;
  const why = major > majorMax ? `, for which uWebSockets.js has no binary` : "";
  return `this is Node ${version}${why}, but Node ${names}, or a later version of the same major release, is required: install one from https://nodejs.org/en/download, and put it first in PATH`;
}

/** The same of a system. `glibc` is undefined where there is another C library. */
export function systemProblem({ platform, arch, glibc }) {
  const found =
    platform !== "linux" || !architectures.includes(arch)
      ? `this is ${platform} on ${arch}`
      : glibc === undefined
        ? "this system has no glibc (Alpine has musl)"
        : isBefore(glibc, glibcMin)
          ? `this system has glibc ${glibc}`
          : undefined;
  if (found === undefined) return undefined;
  return `${found}, for which uWebSockets.js has no binary: it has them for Linux on ${architectures.join(" and ")} with glibc ${glibcMin} or later, such as Debian 12 and 13 and Ubuntu 24.04`;
}

/** The system that this process runs on. Takes 15 ms. */
export function thisSystem() {
  const { report, platform, arch } = process;
  // Otherwise the names of all connected hosts are looked up.
  if (report) report.excludeNetwork = true;
  return { platform, arch, glibc: report ? report.getReport().header.glibcVersionRuntime : undefined };
}

/**
 * Why what was compiled or packaged for another platform does not run here; undefined if it does. `made` is the text of
 * node_modules/.trawl-platform, which scripts/install.mjs and scripts/package.mjs write: the architecture and the ABI.
 */
export function madeForProblem(made, { arch, versions }) {
  const [madeArch, abi, by] = made.trim().split(" ");
  if (madeArch === arch && abi === versions.modules) return undefined;
  const release = releases.find((one) => one.abi === abi);
  const wanted = `Node ${release ? release.major : `with ABI ${abi}`} on ${madeArch}`;
  const remedy =
    by !== "package"
      ? "run `make build` with this Node, or use that one"
      : madeArch === arch
        ? "install that Node, or a package for this one"
        : "install a package for this processor";
  return `this was compiled for ${wanted}, and this is Node ${versions.node} on ${arch}: ${remedy}`;
}

function isBefore(version, other) {
  const [major, minor] = numbers(version);
  const [otherMajor, otherMinor] = numbers(other);
  return major < otherMajor || (major === otherMajor && minor < otherMinor);
}

function numbers(version) {
  return version.split(".").map(Number);
}

if (process.argv[1] !== undefined && import.meta.url.endsWith("/node-version.mjs") && process.argv[1].endsWith("node-version.mjs")) {
  const problem = nodeProblem(process.versions.node) || systemProblem(thisSystem());
  if (problem !== undefined) {
    process.stderr.write(`trawl: ${problem}\n`);
    process.exitCode = 2;
  }
}
