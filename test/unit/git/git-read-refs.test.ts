import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import t, { type Test } from "tap";
import { neverStop } from "../../../src/base/stop-signal.js";
import { readRefs } from "../../../src/git/mirror/read-refs.js";
import { localRefFormat, parseLocalRefs, type RefListing } from "../../../src/git/objects/refs.js";
import { GitFixture } from "../../support/git-fixture.js";

function fixture(t: Test, format: "sha1" | "sha256" = "sha1"): GitFixture {
  const repository = GitFixture.create("bare", format);
  t.teardown(() => repository.remove());
  return repository;
}

/** As git lists them. */
function listed(repository: GitFixture): RefListing {
  const text = repository.git(
    "for-each-ref",
    `--format=${localRefFormat}`,
    "refs/heads",
    "refs/tags",
    "refs/trawl/head",
  );
  return parseLocalRefs(Buffer.from(text), readFileSync(join(repository.path, "HEAD"), "latin1"));
}

function requireSame(t: Test, repository: GitFixture, what: string): void {
  t.same(readRefs(repository.path, neverStop), listed(repository), what);
}

for (const format of ["sha1", "sha256"] as const) {
  t.test(`the same references as git, ${format}`, (t) => {
    const repository = fixture(t, format);
    requireSame(t, repository, "none");
    const first = repository.commit({ branch: "main", files: { a: "1" } });
    const second = repository.commit({ branch: "a/b", files: { a: "2" } });
    for (const name of ["a.b", "a-b", "a/c/d", "größe", "-h"]) repository.updateRef(`refs/heads/${name}`, first);
    repository.tag("light", first);
    repository.annotatedTag("v1", second);
    repository.updateRef("refs/pull/1/head", first);
    repository.updateRef("refs/trawl/head", second);
    requireSame(t, repository, "loose");
    repository.git("pack-refs", "--all");
    requireSame(t, repository, "packed");
    repository.updateRef("refs/heads/a/b", first);
    repository.updateRef("refs/tags/v1", first);
    repository.annotatedTag("v2", second);
    requireSame(t, repository, "packed, and some changed since");
    repository.git("repack", "-adq");
    requireSame(t, repository, "objects in a pack");
    repository.detachHead(first);
    requireSame(t, repository, "a detached HEAD");
    repository.deleteBranch("a/c/d");
    requireSame(t, repository, "a deleted branch, whose folder is left");
    t.end();
  });
}

t.test("what is unusual is left to git", (t) => {
  const repository = fixture(t);
  const commit = repository.commit({ branch: "main", files: { a: "1" } });
  const other = "1".repeat(40);
  const header = "# pack-refs with: peeled fully-peeled sorted \n";
  const cases: readonly (readonly [what: string, name: string, text: string])[] = [
    ["an object that is missing", "refs/heads/x", `${other}\n`],
    ["a symbolic reference", "refs/heads/x", "ref: refs/heads/main\n"],
    ["an empty file", "refs/heads/x", ""],
    ["no line feed", "refs/heads/x", commit],
    ["an oid that is too short", "refs/heads/x", `${commit.slice(1)}\n`],
    ["an oid of another format", "refs/heads/x", `${commit}${commit.slice(16)}\n`],
    ["a lock", "refs/heads/x.lock", `${commit}\n`],
    ["a name that git rejects", "refs/heads/x~1", `${commit}\n`],
    ["packed, with another header", "packed-refs", `# pack-refs with: peeled \n${commit} refs/heads/x\n`],
    ["packed, not sorted", "packed-refs", `${header}${commit} refs/heads/y\n${commit} refs/heads/x\n`],
    ["packed, twice", "packed-refs", `${header}${commit} refs/heads/x\n${commit} refs/heads/x\n`],
    ["packed, cut off", "packed-refs", `${header}${commit} refs/heads/x`],
    ["packed, not an oid", "packed-refs", `${header}${commit.slice(1)} refs/heads/x\n`],
    ["packed, peeled before any", "packed-refs", `${header}^${commit}\n`],
    ["packed, missing", "packed-refs", `${header}${other} refs/heads/x\n`],
    ["packed, an empty line", "packed-refs", `${header}\n`],
  ];
  for (const [what, name, text] of cases) {
    writeFileSync(join(repository.path, name), text, "latin1");
    t.equal(readRefs(repository.path, neverStop), undefined, what);
    rmSync(join(repository.path, name));
  }
  requireSame(t, repository, "as before");
  t.throws(() => readRefs(repository.path, () => true), { code: "cancelled" });
  renameSync(join(repository.path, "refs/tags"), join(repository.path, "tags"));
  writeFileSync(join(repository.path, "refs/tags"), "");
  t.equal(readRefs(repository.path, neverStop), undefined, "a file where a folder is expected");
  t.end();
});
