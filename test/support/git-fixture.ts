import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The file that a commit puts at a path. A string or bytes means a regular file. */
export type FixtureFile =
  | string
  | Uint8Array
  | { readonly executable: string | Uint8Array }
  | { readonly symlink: string }
  /** A submodule at this commit of another repository. */
  | { readonly gitlink: string }
  | { readonly deleted: true };

/** Path → file. A list of pairs can have paths as bytes that are not UTF-8. */
export type FixtureFiles =
  | Readonly<Record<string, FixtureFile>>
  | readonly (readonly [path: string | Uint8Array, file: FixtureFile])[];

export interface FixtureCommit {
  /** Branch name without `refs/heads/`; the first commit creates the branch. */
  readonly branch: string;
  readonly files: FixtureFiles;
  readonly message?: string;
  /** `name <address> seconds zone`, as in a raw commit. */
  readonly author?: string;
  /** Starts the branch again from nothing instead of adding to it: the next fetch sees a force-push. */
  readonly orphan?: boolean;
  /** When it is committed, in Unix seconds; otherwise a second after the previous commit that did not say. */
  readonly seconds?: number;
}

const person = "Fixture <fixture@example.org>";

/**
 * A small real repository in a temporary directory. A commit is one `git fast-import` and takes about 10 ms. The same
 * calls create the same oids, because commit times come from the fixture's own clock.
 */
export class GitFixture {
  readonly path: string;
  readonly #root: string;
  readonly #isBare: boolean;
  #commitSeconds = 1_700_000_000;

  private constructor(root: string, path: string, isBare: boolean) {
    this.#root = root;
    this.path = path;
    this.#isBare = isBare;
  }

  /** Creates a bare repository, or a working tree whose files are never checked out. HEAD refers to `main`. */
  static create(kind: "bare" | "worktree" = "bare", objectFormat: "sha1" | "sha256" = "sha1"): GitFixture {
    const root = mkdtempSync(join(tmpdir(), "trawl-fixture-"));
    const path = join(root, "source");
    const flags = kind === "bare" ? ["--bare"] : [];
    execGit(root, ["init", "-q", "-b", "main", `--object-format=${objectFormat}`, ...flags, path], null);
    return new GitFixture(root, path, kind === "bare");
  }

  /** Adds a commit that changes `files` and keeps all other files; returns its oid. */
  commit(commit: FixtureCommit): string {
    const ref = `refs/heads/${commit.branch}`;
    const seconds = commit.seconds ?? this.#commitSeconds++;
    const parts = [`commit ${ref}\nmark :1\n`];
    if (commit.author !== undefined) parts.push(`author ${commit.author}\n`);
    parts.push(`committer ${person} ${seconds} +0000\n`);
    const stream = [Buffer.from(parts.join("")), dataBlock(Buffer.from(commit.message ?? "a commit\n"))];
    if (commit.orphan !== true && this.#hasRef(ref)) stream.push(Buffer.from(`from ${ref}^0\n`));
    for (const [path, file] of entriesOf(commit.files)) stream.push(fileCommand(toBytes(path), file));
    stream.push(Buffer.from("\nget-mark :1\ndone\n"));
    return this.#fastImport(Buffer.concat(stream));
  }

  /** Adds a lightweight tag. */
  tag(name: string, oid: string): void {
    this.updateRef(`refs/tags/${name}`, oid);
  }

  /** Adds an annotated tag; returns the oid of the tag object. */
  annotatedTag(name: string, oid: string): string {
    this.git("-c", "user.name=Fixture", "-c", "user.email=fixture@example.org", "tag", "-a", "-m", "a tag", name, oid);
    return this.git("rev-parse", `refs/tags/${name}`);
  }

  /** Sets any ref, including names that git's porcelain commands reject. */
  updateRef(name: string, oid: string): void {
    this.git("update-ref", name, oid);
  }

  deleteBranch(branch: string): void {
    this.git("update-ref", "-d", `refs/heads/${branch}`);
  }

  /** Makes HEAD refer to this branch, which need not exist. */
  setHead(branch: string): void {
    this.git("symbolic-ref", "HEAD", `refs/heads/${branch}`);
  }

  /** Makes HEAD refer to a commit. */
  detachHead(oid: string): void {
    this.git("update-ref", "--no-deref", "HEAD", oid);
  }

  /** Runs git in the repository; returns its output without the last newline. */
  git(...args: string[]): string {
    return execGit(this.path, args, null).toString("utf8").replace(/\n$/, "");
  }

  /** A path for other files of the same test, deleted together with the repository. */
  sibling(name: string): string {
    return join(this.#root, name);
  }

  remove(): void {
    rmSync(this.#root, { recursive: true, force: true });
  }

  /** Asks git only where refs have been packed: a process for each commit would take as long as the commit. */
  #hasRef(ref: string): boolean {
    const folder = this.#isBare ? this.path : join(this.path, ".git");
    if (existsSync(join(folder, ref))) return true;
    if (!existsSync(join(folder, "packed-refs"))) return false;
    return this.git("for-each-ref", "--format=%(refname)", ref).split("\n").includes(ref);
  }

  #fastImport(stream: Uint8Array): string {
    const output = execGit(this.path, ["fast-import", "--quiet", "--force", "--done"], stream);
    return output.toString("latin1").trim();
  }
}

function execGit(directory: string, args: readonly string[], input: Uint8Array | null): Buffer {
  return execFileSync("git", args, {
    cwd: directory,
    input: input ?? "",
    maxBuffer: 1 << 28,
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      PATH: process.env["PATH"],
      HOME: "/nonexistent",
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_CONFIG_GLOBAL: "/dev/null",
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "safe.directory",
      GIT_CONFIG_VALUE_0: "*",
    },
  });
}

function entriesOf(files: FixtureFiles): readonly (readonly [string | Uint8Array, FixtureFile])[] {
  return Array.isArray(files) ? files : Object.entries(files);
}

function fileCommand(path: Uint8Array, file: FixtureFile): Buffer {
  const name = quotePath(path);
  if (typeof file === "string" || file instanceof Uint8Array) return inlineFile("100644", name, file);
  if ("executable" in file) return inlineFile("100755", name, file.executable);
  if ("symlink" in file) return inlineFile("120000", name, file.symlink);
  if ("gitlink" in file) return Buffer.from(`M 160000 ${file.gitlink} ${name}\n`);
  return Buffer.from(`D ${name}\n`);
}

function inlineFile(mode: string, name: string, content: string | Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`M ${mode} inline ${name}\n`), dataBlock(toBytes(content))]);
}

function dataBlock(content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`data ${content.length}\n`), content, Buffer.from("\n")]);
}

/** A C-quoted path: each unusual byte as three octal digits. */
function quotePath(path: Uint8Array): string {
  const quoted = [...path].map((byte) => {
    const character = String.fromCharCode(byte);
    return /[\w./ -]/.test(character) ? character : `\\${byte.toString(8).padStart(3, "0")}`;
  });
  return `"${quoted.join("")}"`;
}

function toBytes(value: string | Uint8Array): Uint8Array {
  return typeof value === "string" ? Buffer.from(value) : value;
}
