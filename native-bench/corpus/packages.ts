import { cpSync, existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commitFolder } from "./repositories.js";
import { run } from "../system/processes.js";
import { TrawlError } from "../../src/base/errors.js";

/** Corpora of released packages, each as one commit: the registries' own clients fetch them. */

const goSource = "/usr/share/go-1.19/src";

/** The Go standard library with its tools and tests, as Debian packages it. */
export async function makeGoLibrary(folder: string): Promise<void> {
  if (!existsSync(goSource))
    throw new TrawlError("not-found", `${goSource} is not there. Install it: apt-get install golang-1.19-src`);
  cpSync(goSource, join(folder, "src"), { recursive: true });
  await commitFolder(folder);
}

/** What `npm pack` fetches for `name@version`. */
export async function makeNpmPackage(folder: string, specifier: string): Promise<void> {
  await withDownloads(async (downloads) => {
    await run("npm", ["pack", "--silent", "--ignore-scripts", "--pack-destination", downloads, specifier], "");
    await run("tar", ["-xzf", findOnly(downloads, specifier), "-C", folder, "--strip-components=1"], "");
  });
  await commitFolder(folder);
}

/** The wheel of `name==version`. */
export async function makePythonPackage(folder: string, specifier: string): Promise<void> {
  await withDownloads(async (downloads) => {
    const options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", downloads];
    await run("pip", ["download", ...options, specifier], "");
    await run("python3", ["-m", "zipfile", "-e", findOnly(downloads, specifier), folder], "");
  });
  await commitFolder(folder);
}

/** What `go mod download` fetches for `path@version`. */
export async function makeGoModule(folder: string, specifier: string): Promise<void> {
  const listed = JSON.parse(await run("go", ["mod", "download", "-json", specifier], "")) as { readonly Dir?: string };
  if (listed.Dir === undefined) throw new TrawlError("not-found", `go mod download has no files of ${specifier}`);
  cpSync(listed.Dir, folder, { recursive: true });
  await run("chmod", ["-R", "u+w", folder], "");
  await commitFolder(folder);
}

async function withDownloads(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "trawl-bench-"));
  try {
    await use(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function findOnly(folder: string, specifier: string): string {
  const [file, ...others] = readdirSync(folder);
  if (file === undefined || others.length > 0)
    throw new TrawlError("not-found", `the registry has not one file for ${specifier}`);
  return join(folder, file);
}
