import { execFileSync } from "node:child_process";

/** The contents of a commit according to git: regular files with their bytes, and the paths of all entries. */
export interface CommitContent {
  readonly files: ReadonlyMap<string, Buffer>;
  readonly paths: readonly string[];
}

/** The commits that were read last, by repository and oid. */
const known = new Map<string, CommitContent>();
const knownCountMax = 100;

/**
 * Reads a commit with `git ls-tree` and `git cat-file`, without any code of Trawl. Paths are decoded as UTF-8. One that is named
 * by its oid is read once.
 */
export function readCommit(directory: string, commit: string): CommitContent {
  if (!/^[0-9a-f]{40}$/.test(commit)) return readNamed(directory, commit);
  const key = `${directory} ${commit}`;
  const content = known.get(key) ?? readNamed(directory, commit);
  if (known.size >= knownCountMax) known.clear();
  known.set(key, content);
  return content;
}

function readNamed(directory: string, commit: string): CommitContent {
  const rows = git(directory, ["ls-tree", "-r", "-z", commit], "")
    .toString()
    .split("\0")
    .filter((row) => row !== "");
  const entries = rows.map((row) => {
    const [mode = "", , oid = "", path = ""] = /^(\d+) (\w+) (\w+)\t(.*)$/s.exec(row)?.slice(1) ?? [];
    return { isFile: mode.startsWith("100"), oid, path };
  });
  const files = entries.filter((entry) => entry.isFile);
  const contents = readBlobs(
    directory,
    files.map((file) => file.oid),
  );
  return {
    files: new Map(files.map((file, i) => [file.path, contents[i] ?? Buffer.alloc(0)])),
    paths: entries.map((entry) => entry.path),
  };
}

/** `name:path:line` of each line that contains `needle`; content with a NUL counts as binary. Sorted. */
export function linesWith(name: string, content: CommitContent, needle: string): string[] {
  const found: string[] = [];
  for (const [path, bytes] of content.files) {
    if (bytes.includes(0)) continue;
    bytes
      .toString("latin1")
      .split("\n")
      .forEach((line, i) => {
        if (line.includes(Buffer.from(needle).toString("latin1"))) found.push(`${name}:${path}:${i + 1}`);
      });
  }
  return found.sort();
}

/** `name:path` of each path that contains `needle`. Sorted. */
export function pathsWith(name: string, content: CommitContent, needle: string): string[] {
  return content.paths
    .filter((path) => path.includes(needle))
    .map((path) => `${name}:${path}`)
    .sort();
}

/** The contents of these blobs, from one `git cat-file`. */
export function readBlobs(directory: string, oids: readonly string[]): readonly Buffer[] {
  const output = git(directory, ["cat-file", "--batch=%(objectsize)"], oids.map((oid) => `${oid}\n`).join(""));
  const blobs: Buffer[] = [];
  let at = 0;
  for (const _ of oids) {
    const lineEnd = output.indexOf(10, at);
    const byteCount = Number(output.subarray(at, lineEnd).toString());
    blobs.push(output.subarray(lineEnd + 1, lineEnd + 1 + byteCount));
    at = lineEnd + byteCount + 2;
  }
  return blobs;
}

function git(directory: string, args: readonly string[], input: string): Buffer {
  return execFileSync("git", args, {
    cwd: directory,
    input,
    maxBuffer: 1 << 28,
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
