import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { deflateSync } from "node:zlib";

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

/** Commits of more files are left to `git fast-import`, which writes a pack. */
const looseFilesMax = 99;

/** A directory of a commit, by names whose characters are bytes. */
interface Tree {
  readonly entries: Map<string, Tree | FileEntry>;
  /** Undefined while it has changes that are not written. */
  oid: string | undefined;
}

interface FileEntry {
  readonly mode: string;
  readonly oid: string;
}

const isTree = (entry: Tree | FileEntry | undefined): entry is Tree => entry !== undefined && "entries" in entry;

/**
 * A small real repository in a temporary directory. A commit of a few files is written here as git writes it, in loose objects,
 * since a process of git takes a hundred times as long. The same calls create the same oids, because commit times come from
 * the fixture's own clock.
 */
export class GitFixture {
  readonly path: string;
  readonly #root: string;
  /** Git's own directory. */
  readonly #folder: string;
  readonly #algorithm: "sha1" | "sha256";
  /** By commit. */
  readonly #trees = new Map<string, Tree>();
  #commitSeconds = 1_700_000_000;

  private constructor(root: string, kind: "bare" | "worktree", algorithm: "sha1" | "sha256") {
    this.#root = root;
    this.path = join(root, "source");
    this.#folder = kind === "bare" ? this.path : join(this.path, ".git");
    this.#algorithm = algorithm;
  }

  /** Creates a bare repository, or a working tree whose files are never checked out. HEAD refers to `main`. */
  static create(kind: "bare" | "worktree" = "bare", objectFormat: "sha1" | "sha256" = "sha1"): GitFixture {
    const fixture = new GitFixture(mkdtempSync(join(tmpdir(), "trawl-fixture-")), kind, objectFormat);
    for (const folder of ["objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"])
      mkdirSync(join(fixture.#folder, folder), { recursive: true });
    const isSha1 = objectFormat === "sha1";
    const extension = isSha1 ? "" : `[extensions]\n\tobjectformat = ${objectFormat}\n`;
    const core = `\trepositoryformatversion = ${isSha1 ? 0 : 1}\n\tfilemode = true\n\tbare = ${kind === "bare"}\n`;
    writeFileSync(join(fixture.#folder, "config"), `${extension}[core]\n${core}`);
    fixture.setHead("main");
    return fixture;
  }

  /** Adds a commit that changes `files` and keeps all other files; returns its oid. */
  commit(commit: FixtureCommit): string {
    const ref = `refs/heads/${commit.branch}`;
    const seconds = commit.seconds ?? this.#commitSeconds++;
    const author = commit.author ?? `${person} ${seconds} +0000`;
    const people = `author ${author}\ncommitter ${person} ${seconds} +0000\n`;
    const message = Buffer.from(commit.message ?? "a commit\n");
    const entries = entriesOf(commit.files);
    const parent = commit.orphan === true ? undefined : this.#readRef(ref);
    if (entries.length > looseFilesMax) {
      const stream = [Buffer.from(`commit ${ref}\nmark :1\n${people}`), dataBlock(message)];
      if (parent !== undefined) stream.push(Buffer.from(`from ${parent}\n`));
      for (const [path, file] of entries) stream.push(fileCommand(toBytes(path), file));
      stream.push(Buffer.from("\nget-mark :1\ndone\n"));
      return this.#fastImport(Buffer.concat(stream));
    }
    const tree = parent === undefined ? { entries: new Map(), oid: undefined } : this.#readTree(parent);
    const changed = entries.reduce(
      (root, [path, file]) =>
        withEntry(root, Buffer.from(toBytes(path)).toString("latin1").split("/"), this.#writeFile(file)),
      tree,
    );
    const head = `tree ${this.#writeTree(changed)}\n${parent === undefined ? "" : `parent ${parent}\n`}${people}\n`;
    const oid = this.#writeObject("commit", Buffer.concat([Buffer.from(head), message]));
    this.#trees.set(oid, changed);
    this.#writeRef(ref, `${oid}\n`);
    return oid;
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
    this.#writeRef(name, `${oid}\n`);
  }

  deleteBranch(branch: string): void {
    this.git("update-ref", "-d", `refs/heads/${branch}`);
  }

  /** Makes HEAD refer to this branch, which need not exist. */
  setHead(branch: string): void {
    this.#writeRef("HEAD", `ref: refs/heads/${branch}\n`);
  }

  /** Makes HEAD refer to a commit. */
  detachHead(oid: string): void {
    this.#writeRef("HEAD", `${oid}\n`);
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

  /** The commit of a ref; undefined if it does not exist. */
  #readRef(ref: string): string | undefined {
    const loose = join(this.#folder, ref);
    if (existsSync(loose)) return readFileSync(loose, "latin1").trim();
    if (!existsSync(join(this.#folder, "packed-refs"))) return undefined;
    return this.git("for-each-ref", "--format=%(refname) %(objectname)", ref)
      .split("\n")
      .find((line) => line.startsWith(`${ref} `))
      ?.slice(ref.length + 1);
  }

  /** Somebody may be reading the repository. */
  #writeRef(ref: string, text: string): void {
    const file = join(this.#folder, ref);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.lock`, text);
    renameSync(`${file}.lock`, file);
  }

  #readTree(commit: string): Tree {
    const known = this.#trees.get(commit);
    if (known !== undefined) return known;
    let root: Tree = { entries: new Map(), oid: undefined };
    const listed = execGit(this.path, ["ls-tree", "-r", "-z", "--full-tree", commit], null).toString("latin1");
    for (const [, mode, oid, path] of listed.matchAll(/(\d+) \w+ (\w+)\t([^\0]+)\0/g))
      root = withEntry(root, path.split("/"), { mode, oid });
    return root;
  }

  #writeFile(file: FixtureFile): FileEntry | undefined {
    const blob = (mode: string, content: string | Uint8Array): FileEntry => ({
      mode,
      oid: this.#writeObject("blob", toBytes(content)),
    });
    if (typeof file === "string" || file instanceof Uint8Array) return blob("100644", file);
    if ("executable" in file) return blob("100755", file.executable);
    if ("symlink" in file) return blob("120000", file.symlink);
    return "gitlink" in file ? { mode: "160000", oid: file.gitlink } : undefined;
  }

  #writeTree(tree: Tree): string {
    if (tree.oid !== undefined) return tree.oid;
    const rows = [...tree.entries].map(([name, entry]) => ({
      // Git sorts a directory as if its name ended with a slash.
      key: isTree(entry) ? `${name}/` : name,
      head: `${isTree(entry) ? "40000" : entry.mode} ${name}\0`,
      oid: isTree(entry) ? this.#writeTree(entry) : entry.oid,
    }));
    rows.sort((a, b) => (a.key < b.key ? -1 : 1));
    const parts = rows.flatMap(({ head, oid }) => [Buffer.from(head, "latin1"), Buffer.from(oid, "hex")]);
    tree.oid = this.#writeObject("tree", Buffer.concat(parts));
    return tree.oid;
  }

  #writeObject(type: string, content: Uint8Array): string {
    const bytes = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
    const oid = createHash(this.#algorithm).update(bytes).digest("hex");
    const file = join(this.#folder, "objects", oid.slice(0, 2), oid.slice(2));
    if (existsSync(file)) return oid;
    mkdirSync(dirname(file), { recursive: true });
    // Some repositories are damaged by writing to a file: git's are read-only too, which root ignores.
    writeFileSync(file, deflateSync(bytes, { level: 1 }), { mode: 0o444 });
    return oid;
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

/** The tree with this entry at a path instead of what was there; without it, if it is undefined. No empty directory is left. */
function withEntry(tree: Tree, [name, ...rest]: readonly string[], entry: FileEntry | undefined): Tree {
  const entries = new Map(tree.entries);
  const before = entries.get(name);
  let after: Tree | FileEntry | undefined = entry;
  if (rest.length > 0) {
    // A file that is not there needs no deletion.
    if (entry === undefined && !isTree(before)) return tree;
    after = withEntry(isTree(before) ? before : { entries: new Map(), oid: undefined }, rest, entry);
  }
  if (after === undefined || (isTree(after) && after.entries.size === 0)) entries.delete(name);
  else entries.set(name, after);
  return { entries, oid: undefined };
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
