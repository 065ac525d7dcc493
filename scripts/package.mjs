// `make deb`: builds a Debian package and a tarball that contain the compiled program and its run-time dependencies, for the platform that this
// runs on or for another (target.mjs), for which cross-build.mjs has made what differs.
//
//   node scripts/package.mjs [--arch=NAME] OUTPUT [VERSION]
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { releases } from "../bin/node-version.mjs";
import { billOfMaterials } from "./sbom.mjs";
import { takeTarget } from "./target.mjs";
import { paces, writeCode } from "./write-code.mjs";

const checkout = fileURLToPath(new URL("..", import.meta.url));
const manifest = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8"));
const { args, target } = takeTarget(process.argv.slice(2));
const [output = "build", version = manifest.version] = args;
const { tree, major } = target;
const baseName = `trawl-${version}-linux-${target.arch}-node${major}`;
const root = join(resolve(output), "root");
const home = join(root, "usr/lib/trawl");

const run = (file, args, options = {}) => execFileSync(file, args, { encoding: "utf8", ...options });
const files = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

function copy(from, to, filter = () => true) {
  mkdirSync(dirname(to), { recursive: true });
  cpSync(from, to, { recursive: true, dereference: true, filter });
}

function write(path, text, mode = 0o644) {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
  chmodSync(join(root, path), mode);
}

/** The folders of the packages that the compiled code imports, and of their dependencies. */
function runtimePackages() {
  const code = files(join(checkout, "dist/src"))
    .filter((path) => path.endsWith(".js"))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
  const isImported = (name) => code.includes(`"${name}"`) || code.includes(`"${name}/`);
  const found = new Set();
  const visit = (name, from) => {
    for (let folder = from; folder.length >= resolve(tree).length; folder = dirname(folder)) {
      const place = join(folder, "node_modules", name);
      if (!existsSync(join(place, "package.json"))) continue;
      if (found.has(place)) return;
      found.add(place);
      const { dependencies = {}, optionalDependencies = {} } = JSON.parse(
        readFileSync(join(place, "package.json"), "utf8"),
      );
      for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) visit(next, place);
      return;
    }
  };
  const isCompiled = (name) => existsSync(join(tree, "node_modules", name, `build/Release/${name}.node`));
  const named = [
    ...Object.keys(manifest.dependencies),
    ...Object.keys(manifest.optionalDependencies).filter(isCompiled),
  ];
  for (const name of named.filter(isImported)) visit(name, resolve(tree));
  return [...found];
}

/** False for files that are needed only for compiling, for testing or on other systems. */
function isRuntimeFile(path, packageFolder) {
  const inside = relative(packageFolder, path);
  if (inside.startsWith("node_modules")) return false;
  if (
    /(^|\/)(obj|obj\.target|\.deps|\.github|test|tests|__tests__|coverage|bench|benchmarks|examples)(\/|$)/.test(inside)
  )
    return false;
  if (
    existsSync(join(packageFolder, "binding.gyp")) &&
    /^(vendor|deps|dependencies|src|build\/(?!Release)[^/]+)(\/|$)/.test(inside)
  )
    return false;
  if (/\.(map|ts|cts|mts|md|markdown|o|a|cc|c|cpp|h|hpp|gyp|gypi|mk)$/.test(inside) && !inside.endsWith(".d.js"))
    return false;
  if (/^uws_/.test(basename(inside))) return inside.includes(`_linux_${target.arch}_${target.abi}.node`);
  return !/\.musl\.node$/.test(inside);
}

/** The folders of the packages that are bundled into the web pages. */
function webPackages() {
  const code = files(join(checkout, "src/web"))
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => readFileSync(path, "utf8"))
    .join("\n");
  const { packages } = JSON.parse(readFileSync(join(checkout, "package-lock.json"), "utf8"));
  const found = new Set();
  const visit = (name, from) => {
    const inside = `${from}/node_modules/${name}`;
    const place = from !== "" && packages[inside] ? inside : `node_modules/${name}`;
    if (packages[place] === undefined || found.has(place)) return;
    found.add(place);
    for (const next of Object.keys(packages[place].dependencies ?? {})) visit(next, place);
  };
  for (const name of Object.keys(manifest.devDependencies))
    if (code.includes(`from "${name}"`) || code.includes(`from "${name}/`)) visit(name, "");
  return [...found];
}

/** Writes what the package holds, into it and beside it. */
function writeBill() {
  const places = [...runtimePackages().map((folder) => relative(tree, folder)), ...webPackages()];
  const binaries = files(home).filter((path) => path.endsWith(".node"));
  const bill = billOfMaterials({ checkout, version, places, home, binaries: binaries.sort() });
  const text = `${JSON.stringify(bill, null, 2)}\n`;
  write("usr/share/doc/trawl/sbom.cdx.json", text);
  const path = join(resolve(output), `${baseName}.cdx.json`);
  writeFileSync(path, text);
  return path;
}

function stageProgram() {
  const bundle = join(checkout, "dist/bundle");
  copy(bundle, join(home, "dist/bundle"), (path) => target.isHost || path !== join(bundle, "code"));
  copy(join(checkout, "dist/web"), join(home, "dist/web"), (path) => !path.endsWith(".built"));
  for (const path of ["bin/trawl", "bin/node-version.mjs", "src/graphql/schema.graphql", "src/model/languages.tsv"])
    copy(join(checkout, path), join(home, path));
  const kernel = "src/native/build/Release/trawl_kernel.node";
  copy(join(tree, kernel), join(home, kernel));
  const { name, type, license, description } = manifest;
  writeFileSync(
    join(home, "package.json"),
    `${JSON.stringify({ name, version, description, license, type, private: true }, null, 2)}\n`,
  );
  for (const folder of runtimePackages())
    copy(folder, join(home, relative(tree, folder)), (path) => isRuntimeFile(path, folder));
  // bin/trawl says for which platform it was made when it is started on another.
  writeFileSync(join(home, "node_modules/.trawl-platform"), `${target.arch} ${target.abi} package\n`);
  for (const path of files(home).filter((path) => path.endsWith(".node"))) {
    run(target.tools.strip, ["--strip-unneeded", path]);
    chmodSync(path, 0o644);
  }
}

/** Writes the compiled code of the bundle with Node for the other processor, unless the last package had the same bundle. */
async function stageCode() {
  const bundle = join(home, "dist/bundle");
  const hash = createHash("sha256");
  for (const path of [...files(bundle).sort(), join(tree, "node/.made-from")]) hash.update(readFileSync(path));
  const madeFrom = hash.digest("hex");
  const kept = join(tree, "code");
  if (!existsSync(join(kept, madeFrom))) {
    process.stdout.write(
      `Starting Trawl with Node for ${target.debian} under emulation, which compiles its code: a few minutes\n`,
    );
    await writeCode(bundle, target.node, paces.emulated);
    rmSync(kept, { recursive: true, force: true });
    copy(join(bundle, "code"), join(kept, madeFrom));
  }
  copy(join(kept, madeFrom), join(bundle, "code"));
}

/** Stages the files outside the program. The units in systemd/ are for a checkout in /opt, so paths are replaced. */
function stageSystem() {
  const unit = readFileSync(join(checkout, "systemd/trawld.service"), "utf8")
    .replaceAll("/opt/trawl/README.md", "/usr/share/doc/trawl/README.md")
    .replaceAll("/opt/trawl/", "/usr/lib/trawl/");
  write(
    "usr/lib/systemd/system/trawld.service",
    unit.replace("Installed in /opt/trawl (see docs/installation.md); its data", "Its data"),
  );
  for (const kind of ["sysusers.d", "tmpfiles.d", "sysctl.d"]) {
    const text = readdirSync(join(checkout, "systemd", kind))
      .map((name) => readFileSync(join(checkout, "systemd", kind, name), "utf8"))
      .join("");
    write(
      `usr/lib/${kind}/trawl.conf`,
      kind === "tmpfiles.d" ? `${text}z /etc/trawl/trawl.jsonc 0640 root trawl -\n` : text,
    );
  }
  write("etc/logrotate.d/trawl", readFileSync(join(checkout, "systemd/logrotate.d/trawl"), "utf8"));
  write(
    "etc/trawl/trawl.jsonc",
    readFileSync(join(checkout, "config/trawl.jsonc"), "utf8").replace(
      "./trawl.schema.json",
      "/usr/share/trawl/trawl.schema.json",
    ),
    0o640,
  );
  write("usr/share/trawl/trawl.schema.json", readFileSync(join(checkout, "config/trawl.schema.json"), "utf8"));
  copy(join(checkout, "config/monitoring"), join(root, "usr/share/trawl/monitoring"));
  write("usr/bin/trawl", readFileSync(join(checkout, "scripts/package/trawl"), "utf8"), 0o755);
  for (const name of ["README.md", "CHANGELOG.md", "docs"])
    copy(join(checkout, name), join(root, "usr/share/doc/trawl", name));
  write(
    "usr/share/doc/trawl/copyright",
    `Trawl is licensed under the Apache License 2.0, see /usr/share/common-licenses/Apache-2.0.\nThe packages in /usr/lib/trawl/node_modules contain their own licences.\n`,
  );
  run("node", [join(checkout, "dist/scripts/write-manual.js"), root, version]);
}

/** The Debian packages of the libraries that the addons are linked against. */
function libraryDependencies() {
  const work = join(resolve(output), "shlibs");
  mkdirSync(join(work, "debian"), { recursive: true });
  writeFileSync(join(work, "debian/control"), "Source: trawl\n\nPackage: trawl\nArchitecture: any\n");
  const addons = files(home).filter((path) => path.endsWith(".node"));
  // For another processor they are looked for in unpacked packages, which also say which version has which symbol.
  const unpacked = target.isHost ? "" : join(target.libraries, "packages");
  const places = target.isHost ? [] : readdirSync(unpacked).map((name) => `-S${join(unpacked, name)}`);
  const text = run("dpkg-shlibdeps", ["-O", "--ignore-missing-info", ...places, ...addons.map((path) => `-e${path}`)], {
    cwd: work,
    env: { ...process.env, DEB_HOST_ARCH: target.debian },
    stdio: ["ignore", "pipe", "ignore"],
  });
  rmSync(work, { recursive: true });
  return /shlibs:Depends=(.*)/.exec(text)?.[1] ?? "libc6";
}

function buildDeb() {
  const scripts = join(root, "DEBIAN");
  mkdirSync(scripts, { mode: 0o755 });
  const { minor } = releases.find((release) => release.major === major);
  const installedKiB = Math.ceil(files(root).reduce((sum, path) => sum + statSync(path).size, 0) / 1024);
  writeFileSync(
    join(scripts, "control"),
    `Package: trawl
Version: ${version}
Architecture: ${target.debian}
Maintainer: Trawl <trawl@localhost>
Installed-Size: ${installedKiB}
Depends: nodejs (>= ${major}.${minor}), nodejs (<< ${major + 1}), git, systemd | systemd-standalone-sysusers, ${libraryDependencies()}
Recommends: openssh-client, ca-certificates, logrotate, universal-ctags
Section: devel
Priority: optional
Description: code search over git repositories, complete and streamed
 Mirrors git repositories, indexes them into memory-mapped trigram shards and
 streams every match of a query over HTTP and GraphQL.
`,
  );
  writeFileSync(join(scripts, "conffiles"), "/etc/trawl/trawl.jsonc\n/etc/logrotate.d/trawl\n");
  for (const name of ["preinst", "postinst", "prerm", "postrm"]) {
    writeFileSync(
      join(scripts, name),
      readFileSync(join(checkout, "scripts/package", name), "utf8")
        .replaceAll("@ABI@", target.abi)
        .replaceAll("@MAJOR@", String(major)),
    );
    chmodSync(join(scripts, name), 0o755);
  }
  const path = join(resolve(output), `trawl_${version}_${target.debian}.deb`);
  run("dpkg-deb", ["--root-owner-group", "-Zxz", "--build", root, path]);
  rmSync(scripts, { recursive: true });
  return path;
}

function buildTarball() {
  const path = join(resolve(output), `${baseName}.tar.xz`);
  run("tar", [
    "--create",
    "--xz",
    `--file=${path}`,
    "--owner=0",
    "--group=0",
    `--transform=s,^[.],${baseName},`,
    `--directory=${root}`,
    ".",
  ]);
  return path;
}

rmSync(root, { recursive: true, force: true });
mkdirSync(home, { recursive: true });
stageProgram();
if (!target.isHost) await stageCode();
stageSystem();
for (const path of [writeBill(), buildDeb(), buildTarball()])
  process.stdout.write(`${path} ${(statSync(path).size / 1e6).toFixed(1)} MB\n`);
rmSync(root, { recursive: true });
