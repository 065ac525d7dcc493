/** What a package is made of besides the program; `make deb-test` installs a whole one. */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "commander";
import t from "tap";
import { createProgram } from "../../src/cli/main.js";
import { completions } from "../../src/cli/manual/completions.js";
import { createPages } from "../../src/cli/manual/manual-pages.js";
import { optionTable } from "../../src/daemon/config/options.js";

const checkout = fileURLToPath(new URL("../../..", import.meta.url));
interface System {
  readonly platform: string;
  readonly arch: string;
  readonly glibc: string | undefined;
}

interface Platforms {
  nodeProblem(version: string): string | undefined;
  systemProblem(system: System): string | undefined;
  thisSystem(): System;
  madeForProblem(made: string, of: { arch: string; versions: { modules: string; node: string } }): string | undefined;
}

const { madeForProblem, nodeProblem, systemProblem, thisSystem } = (await import(
  join(checkout, "bin/node-version.mjs")
)) as Platforms;
const program = createProgram(() => undefined);
const pages = createPages(program, "1.2.3");

t.test("unsupported releases of Node are rejected with a remedy", async (t) => {
  t.equal(nodeProblem(process.versions.node), undefined);
  for (const version of ["20.19.0", "22.23.3", "24.0.0"]) t.equal(nodeProblem(version), undefined, version);
  for (const version of ["18.20.4", "20.18.3", "19.9.0", "21.7.3", "22.11.0", "25.1.0", "8.0.0"])
    t.match(nodeProblem(version), /^this is Node [\d.]+, but Node 20\.19.*install one/, version);
  t.match(nodeProblem("26.12.1"), /^this is Node 26\.12\.1, for which uWebSockets\.js has no binary, but Node 20/);
  const { engines } = JSON.parse(readFileSync(join(checkout, "package.json"), "utf8")) as { engines: { node: string } };
  t.match(engines.node, /20\.19/, "package.json says the same");
});

t.test("systems without a binary of uWebSockets.js are rejected, and those with one named", async (t) => {
  t.equal(systemProblem(thisSystem()), undefined);
  const debian = { platform: "linux", arch: "x64", glibc: "2.36" };
  for (const one of [debian, { ...debian, arch: "arm64" }, { ...debian, glibc: "2.41" }, { ...debian, glibc: "3.0" }])
    t.equal(systemProblem(one), undefined);
  const remedy =
    ", for which uWebSockets.js has no binary: it has them for Linux on x64 and arm64 with glibc 2.36 or later";
  for (const [other, found] of [
    [{ ...debian, glibc: "2.35" }, "this system has glibc 2.35"],
    [{ ...debian, glibc: "2.4" }, "this system has glibc 2.4"],
    [{ ...debian, glibc: undefined }, "this system has no glibc (Alpine has musl)"],
    [{ ...debian, arch: "riscv64" }, "this is linux on riscv64"],
    [{ ...debian, platform: "darwin", arch: "arm64" }, "this is darwin on arm64"],
  ] as const)
    t.match(systemProblem(other), found + remedy);
});

t.test("what was compiled or packaged for another platform is rejected with a remedy", async (t) => {
  const here = { arch: "x64", versions: { modules: "137", node: "24.1.0" } };
  t.equal(madeForProblem("x64 137\n", here), undefined);
  t.equal(
    madeForProblem("x64 115\n", here),
    "this was compiled for Node 20 on x64, and this is Node 24.1.0 on x64: run `make build` with this Node, or use that one",
  );
  t.equal(
    madeForProblem("arm64 137 package\n", here),
    "this was compiled for Node 24 on arm64, and this is Node 24.1.0 on x64: install a package for this processor",
  );
  t.equal(
    madeForProblem("x64 115 package\n", here),
    "this was compiled for Node 20 on x64, and this is Node 24.1.0 on x64: install that Node, or a package for this one",
  );
});

t.test(
  "what a package for another processor needs is said in one line",
  { skip: process.arch !== "x64" },
  async (t) => {
    const tools = t.testdir({ "aarch64-linux-gnu-g++": "", "aarch64-linux-gnu-strip": "" });
    const check = (arch: string, path: string): { status: number | null; stderr: string } =>
      spawnSync(process.execPath, [join(checkout, "scripts/cross-build.mjs"), `--arch=${arch}`, "tools"], {
        encoding: "utf8",
        env: { PATH: path },
      });
    t.match(check("arm64", "/nonexistent"), {
      status: 1,
      stderr:
        /^trawl: aarch64-linux-gnu-g\+\+ is missing, [^\n]*: on Debian, run apt-get install g\+\+-aarch64-linux-gnu\n$/,
    });
    t.match(check("arm64", tools), { status: 1, stderr: /^trawl: apt-get is missing, [^\n]*\n$/ });
    t.match(check("amd64", "/nonexistent"), { status: 0, stderr: "" });
    t.match(check("riscv64", tools), {
      status: 1,
      stderr: "trawl: there are no packages for linux on riscv64, only for Linux on amd64 and arm64\n",
    });
  },
);

t.test("native packages that were not compiled here are rejected", async (t) => {
  const build = { "re2.node": "binary", ".deps": { Release: { "re2.node.d": "command" } } };
  const folder = t.testdir({
    "package-lock.json": JSON.stringify({
      packages: {
        "": {},
        "node_modules/re2": { hasInstallScript: true },
        "node_modules/nodegit": { hasInstallScript: true },
      },
    }),
    node_modules: { re2: { build: { Release: build } }, other: {} },
  });
  const check = (): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, [join(checkout, "scripts/check-compiled.mjs"), folder], { encoding: "utf8" });
  const release = join(folder, "node_modules/re2/build/Release");
  const setTimes = (binary: number, record: number): void => {
    utimesSync(join(release, "re2.node"), binary, binary);
    utimesSync(join(release, ".deps/Release/re2.node.d"), record, record);
  };
  setTimes(100, 101);
  t.equal(check().status, 0, "compiled, and an optional one is not there");
  setTimes(102, 101);
  t.match(
    check(),
    { status: 1, stderr: /re2\.node was not compiled here: remove .*re2 and run make build/ },
    "replaced",
  );
  writeFileSync(
    join(folder, "package-lock.json"),
    JSON.stringify({ packages: { "node_modules/a/node_modules/other": { hasInstallScript: true } } }),
  );
  t.match(check(), { status: 1, stderr: /other has an install script: see what it does/ });
  const makefile = readFileSync(join(checkout, "Makefile"), "utf8");
  for (const name of ["DEVELOPMENT_SKIP_GETTING_ASSET", "BUILD_ONLY"]) t.match(makefile, `export ${name} := 1`);
});

t.test("what the machine lacks for a build is said in one line, before anything is installed", async (t) => {
  const names = ["install.mjs", "debian-packages.sh", "patch-lmdb.sh", "build-uws.mjs"];
  const lockfile = { packages: { "node_modules/re2": { version: "1.0.0" } } };
  const folder = t.testdir({ scripts: {}, bin: {}, "package-lock.json": JSON.stringify(lockfile) });
  for (const name of names) copyFileSync(join(checkout, "scripts", name), join(folder, "scripts", name));
  const program = (name: string, text: string): void =>
    writeFileSync(join(folder, "bin", name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  const install = (): { status: number | null; stderr: string } =>
    spawnSync(process.execPath, [join(folder, "scripts/install.mjs")], {
      encoding: "utf8",
      env: { ...process.env, PATH: `${join(folder, "bin")}:${process.env["PATH"]}` },
    });
  for (const name of ["python3", "make", "g++", "id"]) program(name, "echo 0");
  program("dpkg-query", "echo missing");
  program("apt-get", 'echo "E: no such package" >&2; exit 100');
  t.match(install(), {
    status: 1,
    stderr: /^trawl: apt could not install python3 .*\(E: no such package\).*apt-get install [^\n]*\n$/,
  });
  program("dpkg-query", "printf installed");
  program("g++", '[ "$1" = --version ] || { echo "g++: error: what is c++20" >&2; exit 1; }');
  t.match(install(), {
    status: 1,
    stderr: /^trawl: g\+\+ does not compile C\+\+20 \(what is c\+\+20\): install [^\n]*\n$/,
  });
  program("g++", 'grep -q libdeflate || exit 0; echo "<stdin>:1: fatal error: no libdeflate.h" >&2; exit 1');
  t.match(install(), { status: 1, stderr: /^trawl: the header libdeflate\.h is missing [^\n]*\n$/ });
  program("g++", "exit 0");
  program("npm", '[ "$1" = config ] && { echo http://localhost; exit; }; echo "npm error code ENOTFOUND" >&2; exit 1');
  t.match(install(), {
    status: 1,
    stderr: /^trawl: the npm registry http:\/\/localhost does not answer \(ENOTFOUND\)[^\n]*\n$/,
  });
});

t.test("bin/trawl and make check the release of Node first", async (t) => {
  const folder = t.testdir();
  const old = join(folder, "old.mjs");
  writeFileSync(old, 'Object.defineProperty(process.versions, "node", { value: "18.0.0" });');
  for (const file of ["bin/trawl", "bin/node-version.mjs"]) {
    const args = ["--import", old, join(checkout, file), "repo", "list"];
    const { status, stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
    t.equal(status, 2, file);
    t.match(stderr, /^trawl: this is Node 18\.0\.0/, file);
  }
  t.match(readFileSync(join(checkout, "Makefile"), "utf8"), /^install: node$/m);
});

t.test("bin/trawl starts the bundle, unless something was compiled after it", (t) => {
  const [bin, dist] = [{}, { src: { cli: {} }, bundle: {} }];
  const folder = t.testdir({ bin, dist, "package.json": '{"type": "module"}' });
  for (const file of ["bin/trawl", "bin/node-version.mjs"]) copyFileSync(join(checkout, file), join(folder, file));
  const compiled = "dist/src/cli/main.js";
  const write = (path: string, seconds: number): void => {
    writeFileSync(join(folder, path), `export const run = () => void process.stdout.write(${JSON.stringify(path)});`);
    utimesSync(join(folder, path), seconds, seconds);
  };
  const started = (): string => {
    const { stdout, stderr } = spawnSync(process.execPath, [join(folder, "bin/trawl"), "serve"], { encoding: "utf8" });
    return stdout + stderr;
  };
  t.match(started(), /^trawl: this checkout is not built yet; run `make build` in it\n$/);
  write("dist/bundle/cli.mjs", 1);
  write("dist/bundle/.built", 1);
  t.equal(started(), "dist/bundle/cli.mjs", "a package has nothing else");
  mkdirSync(join(folder, "node_modules"));
  writeFileSync(join(folder, "node_modules/.trawl-platform"), "x64 83 package\n");
  t.match(started(), /^trawl: this was compiled for Node with ABI 83 on x64, and this is Node /);
  writeFileSync(join(folder, "node_modules/.trawl-platform"), `${process.arch} ${process.versions.modules}\n`);
  write(compiled, 2);
  t.equal(started(), compiled, "compiling has not ended, so it is unknown what is newer");
  write("dist/.built", 2);
  t.equal(started(), compiled);
  write("dist/bundle/.built", 3);
  t.equal(started(), "dist/bundle/cli.mjs");
  t.end();
});

function commandsOf(command: Command, words: string): [words: string, command: Command][] {
  return command.commands.length === 0
    ? [[words, command]]
    : command.commands.flatMap((child) => commandsOf(child, `${words} ${child.name()}`));
}

t.test("the manual has each command, flag and option", async (t) => {
  const page = pages.get("trawl.1")?.replaceAll("\\-", "-") ?? "";
  for (const [words, command] of commandsOf(program, "trawl")) {
    t.ok(page.includes(`.SS ${words}`), words);
    for (const { flags } of command.options) t.ok(page.includes(`.B ${flags}\n`), `${words} ${flags}`);
  }
  for (const key of Object.keys(optionTable)) t.ok(pages.get("trawl.jsonc.5")?.includes(`.B ${key}\n`), key);
  t.match(pages.get("trawld.8"), /SIGTERM/);
});

t.test(
  "man finds nothing wrong with the pages",
  { skip: spawnSync("groff", ["--version"]).error === undefined ? false : "groff is not installed" },
  async (t) => {
    for (const [name, text] of pages) {
      const { stderr, status } = spawnSync("groff", ["-man", "-Tutf8", "-ww", "-z"], { input: text, encoding: "utf8" });
      t.same([status, stderr], [0, ""], name);
    }
  },
);

t.test("bash completes commands and flags", async (t) => {
  const file = join(t.testdir(), "completion");
  writeFileSync(file, completions.bash(program));
  const rows: readonly (readonly [words: readonly string[], completed: string])[] = [
    [["trawl", "se"], "search serve"],
    [["trawl", "token", ""], "create list delete"],
    [["trawl", "repo", "add", "--cred"], "--credential"],
    [["trawl", "search", "--js"], "--json"],
    [["trawl", "search", "-t", "re"], "regexp"],
    [["trawl", "search", "--color", ""], "auto always never"],
  ];
  for (const [words, completed] of rows) {
    const script = `source ${file}; COMP_WORDS=(${words.map((word) => `"${word}"`).join(" ")}); COMP_CWORD=${words.length - 1}; _trawl; echo "\${COMPREPLY[*]}"`;
    t.equal(spawnSync("bash", ["-c", script], { encoding: "utf8" }).stdout.trim(), completed, words.join(" "));
  }
});

const isInstalled = (shell: string) => spawnSync(shell, ["--version"]).error === undefined;

t.test("zsh", { skip: isInstalled("zsh") ? false : "zsh is not installed" }, async (t) => {
  const folder = t.testdir();
  writeFileSync(join(folder, "_trawl"), completions.zsh(program));
  const rows: readonly (readonly [typed: string, completed: RegExp])[] = [
    ["trawl sea\t", /trawl search/],
    ["trawl repo rem\t", /trawl repo remove/],
    ["trawl search --js\t", /trawl search --json/],
    ["trawl search --color=alw\t", /--color=always/],
    ["trawl search vis\t", /search visibility:/],
  ];
  for (const [typed, completed] of rows) {
    const { stdout } = spawnSync("zsh", ["-fc", zshTerminal], {
      encoding: "utf8",
      env: { ...process.env, FOLDER: folder, TYPED: typed, TERM: "dumb" },
    });
    t.match(stdout.replaceAll("\b", ""), completed, typed);
  }
});

/** Types into a zsh on a pseudo-terminal, and prints what it shows. */
const zshTerminal = `zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell 'PS1=; fpath=($FOLDER $fpath); autoload -U compinit; compinit -D -u; unsetopt zle_bracketed_paste; bindkey "^I" complete-word; print re''ady'
while zpty -r shell line && [[ $line != *ready* ]]; do :; done
zpty -wn shell "$TYPED"
zpty -wn shell $'\\nexit\\n'
while zpty -r shell line; do print -r -- "$line"; done`;

t.test("fish", { skip: isInstalled("fish") ? false : "fish is not installed" }, async (t) => {
  const file = join(t.testdir(), "trawl.fish");
  writeFileSync(file, completions.fish(program));
  const rows: readonly (readonly [typed: string, completed: RegExp])[] = [
    ["trawl sea", /^search\t/],
    ["trawl repo rem", /^remove\t/],
    ["trawl search --js", /^--json\t/],
    ["trawl search --color al", /^always/],
    ["trawl search cas", /^case:/],
    ["trawl search case:n", /^case:no/],
  ];
  for (const [typed, completed] of rows) {
    const script = `source ${file}; complete -C "${typed}"`;
    const { stdout } = spawnSync("fish", ["-N", "-c", script], { encoding: "utf8" });
    t.match(stdout, completed, typed);
  }
});

t.test("the scripts of the package are valid", async (t) => {
  for (const name of ["preinst", "postinst", "prerm", "postrm", "trawl", "container-entry"])
    t.equal(spawnSync("sh", ["-n", join(checkout, "scripts/package", name)]).status, 0, name);
  for (const name of ["deb-test", "image", "image-test", "arm64-test", "node-package", "release", "package/image-root"])
    t.equal(spawnSync("bash", ["-n", join(checkout, `scripts/${name}.sh`)]).status, 0, name);
});

t.test("a container without a volume is refused in one line", async (t) => {
  const { status, stderr } = spawnSync("sh", [join(checkout, "scripts/package/container-entry"), "serve"], {
    encoding: "utf8",
    env: { TRAWL_DATA: "/not/mounted" },
  });
  t.equal(status, 2);
  t.match(stderr, /^trawl: nothing is mounted at \/not\/mounted,[^\n]* --volume [^\n]*\n$/);
});

t.test("the health check fails where nothing answers", async (t) => {
  const script = join(checkout, "scripts/package/container-health.mjs");
  const { status, stderr } = spawnSync(process.execPath, [script, "http://127.0.0.1:1/healthz"], { encoding: "utf8" });
  t.equal(status, 1);
  t.match(stderr, /^the daemon does not answer: /);
});

interface Locked {
  readonly version: string;
  readonly integrity: string;
  readonly dev?: boolean;
  readonly os?: readonly string[];
  readonly cpu?: readonly string[];
  readonly libc?: readonly string[];
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(checkout, path), "utf8"));
const locked = (readJson("package-lock.json") as { packages: Record<string, Locked> }).packages;

t.test("all versions are that of the changelog", async (t) => {
  const [, version] = /^## (\S+)/m.exec(readFileSync(join(checkout, "CHANGELOG.md"), "utf8")) ?? [];
  for (const path of ["package.json", "package-lock.json", "clients/trawl-client/package.json"])
    t.equal((readJson(path) as { version: string }).version, version, path);
});

t.test("the page of binaries has the hashes of the lockfile", async (t) => {
  const page = readFileSync(join(checkout, "docs/third-party-binaries.md"), "utf8");
  const found = new Map<string, string>();
  for (const [, name = "", version = "", integrity = ""] of page.matchAll(
    /^\| `([^`]+)` \| (\S+) \|[^|]*\| `(sha512-\S+)` \|$/gm,
  ))
    found.set(name, `${version} ${integrity}`);
  const wanted = new Map<string, string>();
  for (const [place, { version, integrity, dev, os = ["linux"], cpu = [], libc }] of Object.entries(locked)) {
    const name = place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);
    const isBinary =
      cpu.some((one) => one === "x64" || one === "arm64") && os.includes("linux") && !libc?.includes("musl");
    if (["re2", "lmdb", "nodegit", "uWebSockets.js", "msgpackr-extract"].includes(name) || (isBinary && dev !== true))
      wanted.set(name, `${version} ${integrity}`);
  }
  t.strictSame(new Map([...found].sort()), new Map([...wanted].sort()));
});

t.test("the bill of materials has the packages and binaries that it is given, and no folder or time", async (t) => {
  const { billOfMaterials } = (await import(join(checkout, "scripts/sbom.mjs"))) as {
    billOfMaterials(of: object): {
      components: { "bom-ref": string; hashes: object[]; properties?: object[] }[];
      dependencies: { ref: string; dependsOn: string[] }[];
      metadata: { component: object; timestamp?: string };
    };
  };
  const home = t.testdir();
  const binary = join(home, "node_modules/lmdb/build/Release/lmdb.node");
  mkdirSync(join(binary, ".."), { recursive: true });
  writeFileSync(binary, "abc");
  const bill = billOfMaterials({
    checkout,
    version: "9.9.9",
    places: ["node_modules/lmdb", "node_modules/preact"],
    home,
    binaries: [binary],
  });
  const lmdb = `lmdb@${locked["node_modules/lmdb"]?.version}`;
  const file = "file:node_modules/lmdb/build/Release/lmdb.node";
  t.strictSame(
    bill.components.map((one) => one["bom-ref"]),
    [lmdb, `preact@${locked["node_modules/preact"]?.version}`, file],
  );
  t.match(bill.components[2], {
    hashes: [{ alg: "SHA-256", content: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" }],
    properties: [{ value: `compiled from the sources in ${lmdb}` }],
  });
  t.match(bill.metadata, { component: { name: "trawl", version: "9.9.9" }, timestamp: undefined });
  t.notOk(JSON.stringify(bill).includes(checkout));
});
