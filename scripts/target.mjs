/**
 * The platform that native code is compiled and a package is made for: the one that this process runs on or, with `--arch=NAME`, Linux on
 * another processor with Node 24. What differs there is in a tree of its own, with the same folders as a checkout: node_modules, src/native and,
 * beside them, that Node and the libraries that it loads (cross-build.mjs).
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { releases } from "../bin/node-version.mjs";

const checkout = fileURLToPath(new URL("..", import.meta.url));

/** The release of Node that node-packages.json has for each processor. */
const crossMajor = 24;

/** Names of processors: Debian's, of its compilers, and of the emulator. */
const processors = {
  x64: { debian: "amd64", gnu: "x86_64-linux-gnu", qemu: "x86_64" },
  arm64: { debian: "arm64", gnu: "aarch64-linux-gnu", qemu: "aarch64" },
};

/** Takes `--arch=NAME`, where NAME is Node's or Debian's, out of the arguments of a script. */
export function takeTarget(args) {
  const found = args.find((one) => one.startsWith("--arch="));
  return { args: args.filter((one) => one !== found), target: target(found?.slice("--arch=".length)) };
}

function target(name) {
  const [arch, processor] = Object.entries(processors).find(
    ([arch, { debian }]) => name === arch || name === debian || (name === undefined && arch === process.arch),
  ) ?? [name ?? process.arch];
  if (processor === undefined || process.platform !== "linux")
    refuse(`there are no packages for ${process.platform} on ${arch}, only for Linux on amd64 and arm64`);
  const { debian, gnu, qemu } = processor;
  if (arch === process.arch)
    return {
      arch,
      debian,
      isHost: true,
      abi: process.versions.modules,
      major: Number(process.versions.node.split(".")[0]),
      tree: checkout,
      tools: { strip: "strip" },
      node: [process.execPath],
    };
  if (arch !== "arm64")
    refuse(`a package for ${debian} is made on ${debian}: here one for arm64 can be made, with ARCH=arm64`);
  const tree = join(checkout, "build", arch);
  const libraries = join(tree, "libraries");
  return {
    arch,
    debian,
    isHost: false,
    abi: releases.find(({ major }) => major === crossMajor).abi,
    major: crossMajor,
    tree,
    gnu,
    host: processors[process.arch].debian,
    libraries,
    tools: { strip: `${gnu}-strip`, cc: `${gnu}-gcc`, cxx: `${gnu}-g++`, ar: `${gnu}-ar` },
    node: [join(tree, `emulator/usr/bin/qemu-${qemu}`), "-L", libraries, join(tree, "node/bin/node")],
  };
}

export function isInstalled(command) {
  return (process.env.PATH ?? "").split(":").some((folder) => folder !== "" && existsSync(join(folder, command)));
}

export function refuse(message) {
  process.stderr.write(`trawl: ${message}\n`);
  process.exit(1);
}
