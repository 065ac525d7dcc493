/**
 * Makes what differs in a package for another processor, in a tree of its own (target.mjs): npm packages with their binaries, what is compiled
 * from C++, and Node with the libraries that it loads and an emulator that runs it. The bundle and the web pages are those of the checkout. What is
 * there already is left as it is.
 *
 *   node scripts/cross-build.mjs --arch=arm64 [tools]      with `tools` it only says what the machine lacks
 */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isInstalled, refuse, takeTarget } from "./target.mjs";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const { args, target } = takeTarget(process.argv.slice(2));
const { tree, tools, gnu, debian } = target;

/**
 * Libraries are taken from this release of Debian, and the package then requires them as that has them. So is the emulator: that of Debian 12,
 * qemu 7.2, has a record of each page that is mapped, and refuses to map a store of shards, which takes a TiB of addresses.
 */
const suite = "trixie";
const mirror = process.env.MIRROR ?? "http://deb.debian.org/debian";
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";

/** What Node and the native code load, and a header. */
const libraryPackages = ["libc6", "libgcc-s1", "libstdc++6", "libdeflate0", "libdeflate-dev"];

/** A mirror that does not answer is otherwise asked again for minutes. */
const aptQuick = ["Acquire::Retries=1", "Acquire::http::Timeout=20", "Acquire::https::Timeout=20"];

if (!target.isHost) {
  checkTools();
  if (args[0] !== "tools") build();
}

function checkTools() {
  const suffix = gnu.replaceAll("_", "-");
  if (!isInstalled(tools.cxx)) missing(tools.cxx, `g++-${suffix}`);
  if (!isInstalled(tools.strip)) missing(tools.strip, `binutils-${suffix}`);
  if (!isInstalled("apt-get")) missing("apt-get", "apt");
  if (!existsSync(keyring)) missing(keyring, "debian-archive-keyring");
}

function missing(name, debianPackage) {
  refuse(`${name} is missing, which a package for ${debian} needs: on Debian, run apt-get install ${debianPackage}`);
}

function build() {
  mkdirSync(tree, { recursive: true });
  const native = join(checkout, "src/native");
  once("node", ["scripts/node-packages.json"], fetchNode);
  once("libraries", [], fetchLibraries);
  once("emulator", [], fetchEmulator);
  once("node_modules", ["package-lock.json", "scripts/build-uws.mjs", "scripts/patch-lmdb.sh"], installPackages);
  const isSource = (path) => path !== join(native, "build");
  const sources = readdirSync(native, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !`${entry.parentPath}/`.startsWith(`${native}/build/`))
    .map((entry) => join(entry.parentPath, entry.name).slice(checkout.length));
  once("src/native", sources.sort(), (to) => cpSync(native, to, { recursive: true, filter: isSource }));
  script("compile-native.mjs", `--arch=${target.arch}`, "re2", "lmdb", "msgpackr-extract", "kernel");
  script("check-compiled.mjs", tree);
  rmSync(join(tree, "apt"), { recursive: true, force: true });
}

/** Makes a folder of the tree anew, unless it was made from the same files of the checkout. */
function once(name, inputs, make) {
  const hash = createHash("sha256").update(readFileSync(fileURLToPath(import.meta.url)));
  for (const path of inputs) hash.update(`${path}\n`).update(readFileSync(join(checkout, path)));
  const want = hash.digest("hex");
  const folder = join(tree, name);
  const stamp = join(folder, ".made-from");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === want) return;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  make(folder);
  writeFileSync(stamp, want);
}

function fetchNode(folder) {
  const archive = `${folder}.tgz`;
  run("bash", [join(checkout, "scripts/node-package.sh"), `linux-${target.arch}`, archive]);
  run("tar", ["-xzf", archive, "-C", folder, "--strip-components=1"]);
  run("chmod", ["755", join(folder, "bin/node")]);
  rmSync(archive);
}

function fetchLibraries(folder) {
  const packages = join(folder, "packages");
  mkdirSync(packages);
  for (const archive of fetchDebianPackages(debian, libraryPackages)) {
    run("dpkg-deb", ["-x", archive, folder]);
    // With what dpkg-shlibdeps asks for (package.mjs).
    run("dpkg-deb", ["-R", archive, join(packages, basename(archive).split("_")[0])]);
  }
  symlinkSync("usr/lib", join(folder, "lib"));
}

function fetchEmulator(folder) {
  for (const archive of fetchDebianPackages(target.host, ["qemu-user"])) run("dpkg-deb", ["-x", archive, folder]);
}

/** Downloads packages with folders and settings of apt's own, and verifies their signatures; nothing is installed. Returns the files. */
function fetchDebianPackages(architecture, names) {
  process.stdout.write(`Fetching ${names.join(", ")} of ${suite} for ${architecture}\n`);
  const apt = join(tree, "apt");
  rmSync(apt, { recursive: true, force: true });
  for (const name of ["state/lists/partial", "cache/archives/partial"]) mkdirSync(join(apt, name), { recursive: true });
  writeFileSync(join(apt, "sources.list"), `deb [signed-by=${keyring}] ${mirror} ${suite} main\n`);
  const settings = [
    `Dir::State=${join(apt, "state")}`,
    "Dir::State::Status=/dev/null",
    `Dir::Cache=${join(apt, "cache")}`,
    `Dir::Etc::SourceList=${join(apt, "sources.list")}`,
    "Dir::Etc::SourceParts=-",
    `APT::Architecture=${architecture}`,
    `APT::Architectures=${architecture}`,
    "APT::Sandbox::User=",
    "APT::Update::Error-Mode=any",
    ...aptQuick,
  ];
  for (const command of [["update"], ["download", ...names]]) {
    const options = settings.flatMap((setting) => ["-o", setting]);
    const { status, stderr } = spawnSync("apt-get", ["-qq", ...options, ...command], { cwd: apt, encoding: "utf8" });
    if (status === 0) continue;
    const why = /^E: (.*)/m.exec(stderr)?.[1] ?? `exit code ${status}`;
    refuse(
      `apt could not get ${names[0]} from ${mirror} (${why}): see whether it answers, or set another mirror with MIRROR=URL`,
    );
  }
  return readdirSync(apt)
    .filter((name) => name.endsWith(".deb"))
    .map((name) => join(apt, name));
}

function installPackages(folder) {
  process.stdout.write(`Installing npm packages for ${debian}: about half a minute\n`);
  const manifest = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
  const lockfile = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8"));
  // Without those for development, and without nodegit, which is optional.
  for (const one of [manifest, lockfile.packages[""]]) {
    delete one.devDependencies;
    delete one.optionalDependencies;
  }
  writeFileSync(join(tree, "package.json"), JSON.stringify(manifest));
  writeFileSync(join(tree, "package-lock.json"), JSON.stringify(lockfile));
  const options = ["--os=linux", "--libc=glibc", `--cpu=${target.arch}`, "--ignore-scripts", "--no-audit", "--no-fund"];
  const { npm_config_nodedir, ...environment } = process.env;
  const npm = spawnSync("npm", ["ci", ...options, "--loglevel=error"], {
    cwd: tree,
    env: environment,
    stdio: "inherit",
  });
  if (npm.status !== 0) refuse(`npm could not install the packages for ${debian}: see its error above`);
  script("build-uws.mjs", `--arch=${target.arch}`);
  if (!existsSync(folder)) refuse(`npm has not made ${folder}`);
}

function script(name, ...more) {
  const { status } = spawnSync(process.execPath, [join(checkout, "scripts", name), ...more], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

function run(file, more) {
  try {
    execFileSync(file, more, { stdio: ["ignore", "ignore", "inherit"] });
  } catch {
    process.exit(1);
  }
}
